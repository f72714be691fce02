// says: mdstream: the transform of the policies has to model sample_transform
// says: transform(in, out, random)
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using rows = mds::schema<mds::column<"x", mds::int_>>;
#ifdef CORRECTED
using veto = void;
#else
using veto = bool;
#endif

struct my_filter {
  using output = rows;
  veto operator()(const mds::sample_view<rows>& in, mds::results_writer<output>& out,
                  mds::sample_generator&) const {
    if (in.get<"x">() < 0) return veto();
    out.write(in);
    return veto();
  }
};
using policies = mds::policies<rows, my_filter>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
