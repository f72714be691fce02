#pragma once

/// Snappy, its raw block form (not the framing format). Needs libsnappy: link mdstream::snappy.

#if !__has_include(<snappy-c.h>)
#error \
    "mdstream/codec/snappy.hpp needs <snappy-c.h>: install Snappy's headers and link mdstream::snappy"
#endif

#include <mdstream/codec/codec.hpp>

#include <snappy-c.h>
#include <limits>

namespace mdstream::inline v0 {
namespace codec {

/// Has no levels.
class snappy {
 public:
  [[nodiscard]] static bool serves(std::string_view name) noexcept { return name == "snappy"; }

  [[nodiscard]] static snappy open(std::string_view text) {
    const compression_name parsed = parse_compression(text);
    if (!serves(parsed.name)) detail::fail_unknown_codec(text, "snappy");
    if (parsed.level)
      throw error(errc::invalid_argument,
                  "compression \"" + std::string(text) + "\": snappy has no levels");
    return {};
  }

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "snappy"; }

  /// Throws errc::invalid_argument for 4 GiB and more, which the format can not say.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const {
    if (raw.size() > std::numeric_limits<std::uint32_t>::max())
      throw error(errc::invalid_argument, "snappy can not compress 4 GiB and more");
    std::size_t size = snappy_max_compressed_length(raw.size());
    std::vector<std::byte> zip(size);
    snappy_compress(chars(raw.data()), raw.size(), reinterpret_cast<char*>(zip.data()), &size);
    zip.resize(size);
    return zip;
  }

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const {
    std::size_t size = 0;
    if (snappy_uncompressed_length(chars(zip.data()), zip.size(), &size) != SNAPPY_OK)
      return detail::corrupt_stream(where, "the Snappy data have no length");
    if (size != raw.size())
      return detail::wrong_raw_size(where, "Snappy", std::to_string(size), raw.size());
    std::byte none{};
    auto* out = reinterpret_cast<char*>(raw.empty() ? &none : raw.data());
    if (snappy_uncompress(chars(zip.data()), zip.size(), out, &size) != SNAPPY_OK)
      return detail::corrupt_stream(where, "the Snappy data are damaged or cut short");
    return {};
  }

 private:
  static const char* chars(const std::byte* bytes) noexcept {
    return reinterpret_cast<const char*>(bytes);
  }
};

static_assert(codec_policy<snappy>);

}  // namespace codec
}  // namespace mdstream::inline v0
