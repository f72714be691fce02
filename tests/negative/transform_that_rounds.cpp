// says: mdstream: write: this column would round a value of this type
// says: "weight"
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using weights = mds::schema<mds::column<"weight", float>, mds::column<"id", mds::int_>>;
}  // namespace

void use(mds::sample_writer<weights>& out, double weight) {
#ifdef CORRECTED
  out.write(static_cast<float>(weight), 1);
#else
  out.write(weight, 1);
#endif
}
