#pragma once

// Lengths that servers state and no body has, and servers that state them.

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/scripted_server.hpp"

namespace support {

/// Lines of an answer's head. What is sent behind it are nine bytes.
inline constexpr std::array<std::string_view, 13> wrong_lengths{
    "Content-Length: 1099511627776\r\n",
    "Content-Length: 4611686018427387904\r\n",
    "Content-Length: 9223372036854775807\r\n",
    "Content-Length: 9223372036854775808\r\n",
    "Content-Length: 18446744073709551615\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Content-Length: 99999999999999999999999999999999999999\r\n",
    "Content-Length: -1\r\n",
    "Content-Length: -9223372036854775808\r\n",
    "Content-Length: +-9\r\n",
    "Content-Length: nine\r\n",
    "Content-Length: 9\r\nContent-Length: 7\r\n",
    "Content-Length: 7\r\nContent-Length: 9\r\n",
};

/// Answers with such a head, and ends the connection.
inline void state_length(scripted_server::connection& to, const scripted_request& asked,
                         std::string_view length, const std::string& status = "200 OK") {
  to.send("HTTP/1.1 " + status + "\r\n" + std::string(length) + "\r\n" +
          (asked.method == "HEAD" ? "" : "[nothing]"));
  to.close();
}

/// The most memory that this process has had, in bytes.
inline std::uint64_t most_memory() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<std::uint64_t>(use.ru_maxrss) << 10;
}

/// What no answer of nine bytes may take.
inline constexpr std::uint64_t much_memory = std::uint64_t{256} << 20;

}  // namespace support
