// says: mdstream: policies::codec has to model codec_policy
// says: decompress
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct my_codec {
  static bool serves(std::string_view) { return true; }
  static my_codec open(std::string_view) { return {}; }
  std::string_view extension() const { return ""; }
  std::vector<std::byte> compress(mds::bytes_view) const { return {}; }
#ifdef CORRECTED
  std::error_code decompress(mds::bytes_view, mds::mutable_bytes, mds::diagnostics&) const {
    return {};
  }
#endif
};

struct policies : mds::default_policies {
  using codec = my_codec;
};
}  // namespace

void use(const std::string& where) {
  mds::writer<policies> writer({.out = where, .columns = {{"x", "int"}}});
}
