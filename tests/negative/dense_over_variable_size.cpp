// says: mdstream: the collator does not take every column of policies::schema
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct policies : mds::default_policies {
#ifdef CORRECTED
  using schema = mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 8>>>;
#else
  using schema = mds::schema<mds::column<"text", mds::str>>;
#endif
  using collator = mds::collate::dense;
};
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
