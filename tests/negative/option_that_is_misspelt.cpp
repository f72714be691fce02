// says: batchsize
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;
}  // namespace

// With the type before the braces the compiler names the member; without it, it only says that no
// constructor fits.
void use() {
#ifdef CORRECTED
  mds::loader<> loader(mds::loader_options{.remote = "data", .batch_size = 4});
#else
  mds::loader<> loader(mds::loader_options{.remote = "data", .batchsize = 4});
#endif
}
