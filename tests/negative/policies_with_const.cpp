// says: mdstream: policies<...>: a policy is named without const
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

#ifdef CORRECTED
using policies = mds::policies<mds::collate::dense>;
#else
using policies = mds::policies<const mds::collate::dense>;
#endif
}  // namespace

void use(const std::string& where) { mds::dataset<policies> dataset({.local = where}); }
