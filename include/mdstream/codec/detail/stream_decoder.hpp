#pragma once

/// Decompression of data of any size in bounded memory, piece by piece.

#include <mdstream/codec/detail/entry_point.hpp>
#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// Decompresses one stream. Not for two threads at once.
class stream_decoder {
 public:
  virtual ~stream_decoder() = default;

  /// Decompresses from the front of `in`, which it shortens by what it has used, into `out`, and
  /// returns how many bytes it made. It stops where `in` is empty or `out` is full. Throws
  /// errc::corrupt for data that cannot be decompressed, std::bad_alloc where memory runs out.
  virtual std::size_t decode(bytes_view& in, mutable_bytes out) = 0;

  /// Whether the data may end after what was decoded so far.
  [[nodiscard]] virtual bool may_end() const = 0;

  /// Has it look for entry points from now on. Before the first byte; for those that can be
  /// entered.
  virtual void note_entries(const entry_spacing&) {}
  /// Entry points that were found since the last call.
  [[nodiscard]] virtual std::vector<entry_point> take_entries() { return {}; }
};

/// The streams that a program can decompress: it depends on what it names.
///
///     const mds::stream_decoders known{mds::gz_stream(), mds::zstd_stream()};
struct stream_decoder_choice {
  std::string_view extension{};  ///< what keys of such objects end with: ".gz"
  std::unique_ptr<stream_decoder> (*open)() = nullptr;
  /// A decoder of what lies from an entry point on; null where the codec notes none. Throws
  /// errc::corrupt for a damaged state.
  std::unique_ptr<stream_decoder> (*enter)(const entry_point&) = nullptr;
};
using stream_decoders = std::vector<stream_decoder_choice>;

/// The decoder of an object by the end of its key; null where the object is not compressed. Throws
/// errc::unsupported for a compression that the library has, but `known` has not.
[[nodiscard]] std::unique_ptr<stream_decoder> open_decoder(const stream_decoders& known,
                                                           std::string_view key);

/// Whether `enter_decoder` can be called for the key: where it is compressed, by a codec of `known`
/// that notes entry points.
[[nodiscard]] bool can_enter(const stream_decoders& known, std::string_view key);

/// The decoder of an object from an entry point on. Throws errc::corrupt for a damaged one.
[[nodiscard]] std::unique_ptr<stream_decoder> enter_decoder(const stream_decoders& known,
                                                            std::string_view key,
                                                            const entry_point& at);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/stream_decoder.ipp>
#endif
