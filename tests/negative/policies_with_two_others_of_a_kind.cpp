// says: mdstream: policies<...>: two policies of one kind
// says: shuffle::py1e
// says: shuffle::py1s
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;
using plain = mds::policies<mds::collate::dense>;

#ifdef CORRECTED
using policies = plain::with<mds::shuffle::py1e>;
#else
using policies = plain::with<mds::shuffle::py1e, mds::shuffle::py1s>;
#endif
}  // namespace

void use(const std::string& where) { mds::dataset<policies> dataset({.local = where}); }
