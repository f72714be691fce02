// says: mdstream: policies are a list, mds::policies<...>
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

#ifdef CORRECTED
using policies = mds::policies<mds::shuffle::py1e>;
#else
struct policies : mds::policies<> {
  using shufler = mds::shuffle::py1e;  // nobody would notice
};
#endif
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
