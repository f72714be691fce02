#pragma once

/// Snappy, its raw block form (not the framing format). Needs libsnappy: link mdstream::snappy.

#if !__has_include(<snappy-c.h>)
#error \
    "mdstream/codec/snappy.hpp needs <snappy-c.h>: install Snappy's headers and link mdstream::snappy"
#endif

#include <mdstream/codec/codec.hpp>

namespace mdstream::inline v0 {
namespace codec {

/// Compresses by Snappy, which has no levels.
///
///     using policies = mds::policies<mds::any_codec<mds::codec::none, mds::codec::snappy>>;
class snappy {
 public:
  [[nodiscard]] static bool serves(std::string_view name) noexcept;

  [[nodiscard]] static snappy open(std::string_view text);

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "snappy"; }

  /// Throws errc::invalid_argument for 4 GiB and more, which the format cannot say.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const;

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const;

 private:
  static const char* chars(const std::byte* bytes) noexcept;
};

static_assert(codec_policy<snappy>);

}  // namespace codec
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/snappy.ipp>
#endif
