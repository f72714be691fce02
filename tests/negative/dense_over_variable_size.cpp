// says: mdstream: the collator does not take every column of the schema
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

#ifdef CORRECTED
using schema = mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 8>>>;
#else
using schema = mds::schema<mds::column<"text", mds::str>>;
#endif
using policies = mds::policies<schema, mds::collate::dense>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
