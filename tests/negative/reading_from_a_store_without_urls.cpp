// says: mdstream: the store of the policies has to model openable_store
// says: serves
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct my_store {
#ifdef CORRECTED
  static bool serves(std::string_view) { return true; }
#endif
  static my_store open(std::string_view) { return {}; }
  std::uint64_t size(std::string_view) const { return 0; }
  std::size_t read(std::string_view, std::uint64_t, mds::mutable_bytes) const { return 0; }
  void write(std::string_view, mds::bytes_view) const {}
  std::vector<mds::object_info> list(std::string_view) const { return {}; }
  void remove(std::string_view) const {}
  std::string url(std::string_view) const { return {}; }
};
using policies = mds::policies<my_store>;
}  // namespace

void use(const std::string& where) { mds::dataset<policies> dataset({.local = where}); }
