#pragma once

#include <mdstream/codec/snappy.hpp>
#include <mdstream/version.hpp>

#include <snappy-c.h>
#include <limits>

namespace mdstream::inline v0::codec {

MDSTREAM_INLINE bool snappy::serves(std::string_view name) noexcept { return name == "snappy"; }

MDSTREAM_INLINE snappy snappy::open(std::string_view text) {
  const compression_name parsed = parse_compression(text);
  if (!serves(parsed.name)) detail::fail_unknown_codec(text, "snappy");
  if (parsed.level)
    throw error(errc::invalid_argument,
                "compression \"" + std::string(text) + "\": snappy has no levels");
  return {};
}

MDSTREAM_INLINE std::vector<std::byte> snappy::compress(bytes_view raw) const {
  if (raw.size() > std::numeric_limits<std::uint32_t>::max())
    throw error(errc::invalid_argument, "snappy can not compress 4 GiB and more");
  std::size_t size = snappy_max_compressed_length(raw.size());
  std::vector<std::byte> zip(size);
  snappy_compress(chars(raw.data()), raw.size(), reinterpret_cast<char*>(zip.data()), &size);
  zip.resize(size);
  return zip;
}

MDSTREAM_INLINE std::error_code snappy::decompress(bytes_view zip, mutable_bytes raw,
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

MDSTREAM_INLINE const char* snappy::chars(const std::byte* bytes) noexcept {
  return reinterpret_cast<const char*>(bytes);
}

}  // namespace mdstream::inline v0::codec
