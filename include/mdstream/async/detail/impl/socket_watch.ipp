#pragma once

#include <mdstream/async/detail/socket_watch.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE socket_watch::socket_watch(asio::io_context& io, int socket) : descriptor_(io) {
  const int own =
      detail::own_descriptors::add([socket] { return ::fcntl(socket, F_DUPFD_CLOEXEC, 0); });
  if (own < 0) throw std::system_error(errno, std::generic_category(), "cannot watch a socket");
  std::error_code failure;
  if (descriptor_.assign(own, failure); failure) {
    detail::own_descriptors::close(own);
    throw std::system_error(failure, "cannot watch a socket");
  }
}

MDSTREAM_INLINE void socket_watch::release() {
  if (descriptor_.is_open()) detail::own_descriptors::close(descriptor_.release());
}

}  // namespace mdstream::inline v0::detail
