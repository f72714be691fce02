#pragma once

/// The plain bytes of an object, decompressed where it is compressed, from front to back.

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/source/detail/block_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <vector>

namespace mdstream::inline v0::detail {

/// Bytes before those that were asked for last are forgotten, so that memory is bounded by what is
/// asked for at a time; those of a compressed object cannot be asked for again. Not for two threads
/// at once.
class plain_bytes {
 public:
  static constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

  struct piece {
    bytes_view bytes{};
    bool last = false;  ///< the object ends with them
  };

  /// `decoder`: of a compressed object, else null. `ahead_until`: see `block_reader`.
  plain_bytes(any_async_store store, raw::detail::listed_object object,
              std::unique_ptr<stream_decoder> decoder, std::uint64_t ahead_until = no_end,
              std::stop_token stop = {});

  /// The bytes [offset, offset + count), fewer where the object ends. Valid until the next call.
  /// Throws errc::invalid_argument for bytes that are forgotten, and errc::corrupt, naming object
  /// and compressed byte, for an object that cannot be decompressed.
  [[nodiscard]] piece at(std::uint64_t offset, std::uint64_t count);

  /// Keeps what lies from here on until the next call, whatever is asked for.
  void keep_from(std::uint64_t offset) noexcept { keep_ = offset; }

  /// Has entry points looked for, before the first byte is asked for.
  void note_entries(const entry_spacing& spacing) { decoder_->note_entries(spacing); }
  /// Those that were found since the last call.
  [[nodiscard]] std::vector<entry_point> take_entries() { return decoder_->take_entries(); }

  /// How many bytes of the object as it is stored were read.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return reader_.bytes_read(); }
  [[nodiscard]] bool is_compressed() const noexcept { return decoder_ != nullptr; }

 private:
  [[nodiscard]] bytes_view held() const noexcept { return bytes_view(buffer_).subspan(front_); }
  [[nodiscard]] std::uint64_t end() const noexcept { return begin_ + buffer_.size() - front_; }

  void go_back(std::uint64_t offset);

  void forget_until(std::uint64_t offset);

  void forget(std::uint64_t count);

  void append(std::uint64_t wanted);

  void decode();

  /// Names the object and the byte.
  [[noreturn]] void fail(std::error_code code, diagnostics where) const;

  block_reader reader_;
  const std::unique_ptr<stream_decoder> decoder_;
  std::vector<std::byte> buffer_;
  std::size_t front_ = 0;    // of the buffer's bytes, how many are forgotten
  std::uint64_t begin_ = 0;  // where in the plain bytes the others begin
  std::uint64_t keep_ = no_end;
  bool ended_ = false;  // the object has no bytes behind those in the buffer
  bytes_view packed_{};
  std::uint64_t packed_read_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/plain_bytes.ipp>
#endif
