// says: mdstream: the transform of the policies has to model sample_transform
// says: transform(in, out, random)
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using rows = mds::schema<mds::column<"x", mds::int_>>;
#ifdef CORRECTED
using pieces = rows;
#else
using pieces = mds::schema<mds::column<"y", mds::int_>>;
#endif

struct my_transform {
  using output = rows;
  void operator()(const mds::sample_view<rows>&, mds::results_writer<pieces>& out,
                  mds::sample_generator&) const {
    out.write(1);
    out.write(2);
  }
};
using policies = mds::policies<rows, my_transform>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
