#pragma once

/// bzip2. Needs libbz2: link mdstream::bz2.

#if !__has_include(<bzlib.h>)
#error "mdstream/codec/bz2.hpp needs <bzlib.h>: install libbz2's headers and link mdstream::bz2"
#endif

#include <mdstream/codec/codec.hpp>

#include <bzlib.h>

namespace mdstream::inline v0 {
namespace codec {

/// Compresses by bzip2, levels 1 to 9, normally 9. Reads any number of streams one after another.
///
///     using policies = mds::policies<mds::any_codec<mds::codec::none, mds::codec::bz2>>;
class bz2 {
 public:
  explicit bz2(int level = 9);

  [[nodiscard]] static bool serves(std::string_view name) noexcept;

  [[nodiscard]] static bz2 open(std::string_view text);

  [[nodiscard]] static constexpr std::string_view extension() noexcept { return "bz2"; }
  [[nodiscard]] int level() const noexcept;

  /// Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const;

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const;

 private:
  struct cleanup {
    bz_stream& stream;
    int (*end)(bz_stream*);
    ~cleanup();
  };

  // libbz2 counts in 32 bits: buffers are given to it in pieces.
  static unsigned piece(std::size_t size) noexcept;

  /// Gives libbz2 the next piece of input; true if it is the last.
  static bool give(bz_stream& stream, bytes_view in) noexcept;
  static void take(bz_stream& stream, mutable_bytes out) noexcept;
  static void advance(const bz_stream& stream, bytes_view& in, mutable_bytes& out) noexcept;

  int level_;
};

static_assert(codec_policy<bz2>);

}  // namespace codec
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/bz2.ipp>
#endif
