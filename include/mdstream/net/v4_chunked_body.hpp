#pragma once

/// A body whose chunks are signed as they are sent (aws-chunked). Needs OpenSSL's libcrypto: link
/// mdstream::openssl.

#include <mdstream/net/signature_v4.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace mdstream::inline v0::net {

/// Gives the framed body piece by piece. The bytes are read where they are, and have to stay.
class v4_chunked_body {
 public:
  static constexpr std::size_t chunk_bytes = 64 * 1024;

  /// `body_read` is told of each chunk that was signed and sent; empty: nobody is.
  v4_chunked_body(v4_chunk_signer signer, bytes_view body,
                  std::function<void(bytes_view)> body_read = {});
  v4_chunked_body(const v4_chunked_body&) = delete;  // it looks into its own text
  v4_chunked_body& operator=(const v4_chunked_body&) = delete;

  /// Bytes of the framed form of a body.
  [[nodiscard]] static std::uint64_t framed_size(std::uint64_t body) {
    return v4_chunk_signer::framed_size(body, chunk_bytes);
  }

  /// Fills `into` from the front with what comes next; returns how many bytes, 0 at the end.
  [[nodiscard]] std::size_t pull(mutable_bytes into);

 private:
  void next_frame();

  /// After a chunk's bytes: its line end and the next chunk's head. False after the last.
  [[nodiscard]] bool end_frame();

  v4_chunk_signer signer_;
  const std::function<void(bytes_view)> body_read_;
  bytes_view whole_{};  // the chunk that is sent
  bytes_view rest_;     // what is in no chunk yet
  bytes_view chunk_{};  // of the chunk that is sent, what is left
  std::string text_{};  // around chunks
  bytes_view frame_{};  // of it, what is left
  bool last_ = false, ended_ = false;
};

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/v4_chunked_body.ipp>
#endif
