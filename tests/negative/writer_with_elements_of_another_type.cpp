// says: mdstream: write: this column does not take a value of this type
// says: "tokens"
#include <mdstream/mdstream.hpp>

#include <vector>

namespace {
namespace mds = mdstream;

using policies = mds::policies<
    mds::schema<mds::column<"id", mds::int_>, mds::column<"tokens", mds::ndarray<std::uint16_t>>>>;
}  // namespace

void use(mds::writer<policies>& writer) {
#ifdef CORRECTED
  writer.write(1, std::vector<std::uint16_t>(3));
#else
  writer.write(1, std::vector<int>(3));
#endif
}
