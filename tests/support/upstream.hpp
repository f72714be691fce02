#pragma once

// A server that requests are passed on to, signatures included, each over a connection of its own.

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "support/scripted_server.hpp"

namespace support {

class upstream {
 public:
  // `server` is http://host:port.
  explicit upstream(const std::string& server)
      : host_(server.substr(7, server.rfind(':') - 7)),
        port_(server.substr(server.rfind(':') + 1)) {}

  // The server's whole answer, which ends its connection, but not the client's.
  [[nodiscard]] std::string ask(const scripted_request& request) const {
    std::string head = request.method + ' ' + request.target + " HTTP/1.1\r\nConnection: close\r\n";
    for (const auto& [name, value] : request.headers) {
      if (name != "connection" && name != "expect") head += name + ": " + value + "\r\n";
    }
    const int socket = connect_to_server();
    std::string answer;
    if (send_all(socket, head + "\r\n") && send_all(socket, request.body)) {
      char buffer[16384];
      for (ssize_t got = 0; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;) {
        answer.append(buffer, static_cast<std::size_t>(got));
      }
    }
    ::close(socket);
    if (answer.empty()) return "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
    const std::size_t at = answer.find("\r\nConnection: close\r\n");
    return at < answer.find("\r\n\r\n") ? answer.erase(at, 19) : answer;
  }

 private:
  [[nodiscard]] int connect_to_server() const {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (::getaddrinfo(host_.c_str(), port_.c_str(), &hints, &found) != 0) {
      throw std::runtime_error("the server has no address");
    }
    const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)::connect(socket, found->ai_addr, found->ai_addrlen);  // if not, `send` fails
    ::freeaddrinfo(found);
    return socket;
  }

  static bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }

  const std::string host_, port_;
};

}  // namespace support
