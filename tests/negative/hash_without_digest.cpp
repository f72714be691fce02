// says: mdstream: policies<...>: a hash has to model hash_policy
// says: hex
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct my_hash {
  static bool serves(std::string_view) { return true; }
  static my_hash open(std::string_view) { return {}; }
  void update(mds::bytes_view) {}
#ifdef CORRECTED
  std::string hex() const { return {}; }
#endif
};

using policies = mds::policies<my_hash>;
}  // namespace

void use(const std::string& where) { mds::dataset<policies> dataset({.local = where}); }
