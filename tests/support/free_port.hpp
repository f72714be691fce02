#pragma once

// Ports of 127.0.0.1 for servers that other programs start.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <stdexcept>

namespace support {

inline sockaddr_in loopback(unsigned port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Outside the range from which the kernel gives ports to who asks for any: another program may get
/// one of those until the server listens.
inline unsigned free_port() {
  std::random_device random;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const unsigned port = 10'000 + random() % 22'000;
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const bool bound =
        ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    if (bound) return port;
  }
  throw std::runtime_error("no free port");
}

}  // namespace support
