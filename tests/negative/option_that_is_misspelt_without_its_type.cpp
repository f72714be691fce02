// says: no matching
// says: initializer list
// g++ says: no matching function
// g++ says: brace-enclosed initializer list
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;
}  // namespace

// What docs/troubleshooting.md quotes.
void use() {
#ifdef CORRECTED
  mds::loader<> loader({.remote = "data", .batch_size = 4});
#else
  mds::loader<> loader({.remote = "data", .batchsize = 4});
#endif
}
