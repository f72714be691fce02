// says: mdstream:
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"id", mds::int_>, mds::column<"text", mds::str>>>;
}  // namespace

void use(mds::writer<policies>& writer) {
#ifdef CORRECTED
  writer.write(std::int64_t{1}, std::string_view("one"));
#else
  writer.write(std::int64_t{1});
#endif
}
