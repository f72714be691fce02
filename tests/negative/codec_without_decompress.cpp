// says: mdstream: policies<...>: a codec has to model codec_policy
// says: decompress
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct my_codec {
  static bool serves(std::string_view) { return true; }
  static my_codec open(std::string_view) { return {}; }
  std::string_view extension() const { return "mine"; }
  std::vector<std::byte> compress(mds::bytes_view in) const { return {in.begin(), in.end()}; }
#ifdef CORRECTED
  std::error_code decompress(mds::bytes_view, mds::mutable_bytes, mds::diagnostics&) const {
    return {};
  }
#endif
};

using policies = mds::policies<my_codec>;
}  // namespace

void use(const std::string& where) { mds::dataset<policies> dataset({.local = where}); }
