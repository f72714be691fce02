// says: mdstream: policies<...>: this type is no policy
// says: output
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using rows = mds::schema<mds::column<"x", mds::int_>>;

struct my_transform {
#ifdef CORRECTED
  using output = rows;
#endif
  template <class In, class Out>
  void operator()(const In& in, Out& out, mds::sample_generator&) const {
    out.write(in.template get<"x">());
  }
};

using policies = mds::policies<rows, my_transform>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
