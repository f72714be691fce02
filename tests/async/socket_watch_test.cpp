#include <mdstream/async/detail/socket_watch.hpp>
#include <mdstream/core/error.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <system_error>

#include "support/catch.hpp"

namespace socket_watch_test {

namespace mds = mdstream;

/// Two sockets that are connected.
struct pair {
  pair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0); }
  ~pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2]{};
};

TEST_CASE("a watched socket tells once that it can be read or written, and is not read",
          "[async]") {
  asio::io_context io;
  const pair sockets;
  mds::detail::socket_watch watch(io, sockets.ends[0]);
  int readable = 0, writable = 0;
  watch.wait_readable([&](std::error_code failure) { readable += failure ? 100 : 1; });
  watch.wait_writable([&](std::error_code failure) { writable += failure ? 100 : 1; });
  io.poll();
  CHECK(readable == 0);
  CHECK(writable == 1);
  REQUIRE(::send(sockets.ends[1], "x", 1, 0) == 1);
  io.restart();
  io.run();
  CHECK(readable == 1);
  char got = 0;
  CHECK(::recv(sockets.ends[0], &got, 1, MSG_DONTWAIT) == 1);
  CHECK(got == 'x');
}

TEST_CASE("a socket that is let go of stays open, and its waits end", "[async]") {
  asio::io_context io;
  const pair sockets;
  std::error_code ended;
  {
    mds::detail::socket_watch watch(io, sockets.ends[0]);
    watch.wait_readable([&](std::error_code failure) { ended = failure; });
    watch.release();
    watch.release();
  }
  io.run();
  CHECK(ended == asio::error::operation_aborted);
  CHECK(::send(sockets.ends[0], "x", 1, MSG_NOSIGNAL) == 1);
}

TEST_CASE("a socket may be closed, and its number be another's, before it is let go of",
          "[async]") {
  asio::io_context io;
  pair sockets;
  mds::detail::socket_watch watch(io, sockets.ends[0]);
  int readable = 0;
  watch.wait_readable([&](std::error_code failure) { readable += failure ? 100 : 1; });
  const pair other;
  REQUIRE(::dup3(other.ends[0], sockets.ends[0], O_CLOEXEC) == sockets.ends[0]);
  REQUIRE(::send(other.ends[1], "x", 1, 0) == 1);
  io.poll();
  CHECK(readable == 0);
  watch.release();
  io.restart();
  io.run();
  CHECK(readable == 100);
  char got = 0;
  CHECK(::recv(sockets.ends[0], &got, 1, MSG_DONTWAIT) == 1);
}

}  // namespace socket_watch_test
