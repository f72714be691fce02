// says: mdstream: policies::schema has to be a schema<column<...>, ...> or dynamic_schema
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct policies : mds::default_policies {
#ifdef CORRECTED
  using schema = mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 8>>>;
#else
  using schema = std::uint16_t;
#endif
};
}  // namespace

void use(const std::string& where) { mds::dataset<policies> dataset({.local = where}); }
