#pragma once

/// Sockets that another library opens and closes, watched on an io thread.

#include <mdstream/async/detail/asio.hpp>

#include <asio/posix/stream_descriptor.hpp>
#include <utility>

namespace mdstream::inline v0::detail {

/// Waits until a socket can be read or written; does neither itself and never closes it. For one
/// thread, that of the io_context. What is watched is a duplicate: the socket's owner may
/// close it at any time, and its number may be another file's by then; the connection ends when
/// both let go. Throws std::system_error where the system has no more descriptors or watches.
class socket_watch {
 public:
  socket_watch(asio::io_context& io, int socket);
  socket_watch(const socket_watch&) = delete;
  socket_watch& operator=(const socket_watch&) = delete;
  ~socket_watch() { release(); }

  /// Ends all waits, with an error, and lets go of the socket.
  void release();

  /// Calls `ready(std::error_code)` once, when the socket can be read (written).
  template <class Ready>
  void wait_readable(Ready ready) {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, std::move(ready));
  }
  template <class Ready>
  void wait_writable(Ready ready) {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_write, std::move(ready));
  }

 private:
  asio::posix::stream_descriptor descriptor_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/socket_watch.ipp>
#endif
