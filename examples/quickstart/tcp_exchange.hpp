#pragma once

/// Ranks that any launcher started, which hand each other their groups over TCP.

#include "training.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace quickstart {

namespace detail {

/// An open socket, closed with this. What fails throws; so does silence of the other side.
class tcp_line {
 public:
  static constexpr std::chrono::seconds patience{120};

  tcp_line() = default;
  explicit tcp_line(int socket) : socket_(socket) {
    const timeval time{.tv_sec = patience.count(), .tv_usec = 0};
    const int yes = 1;
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  tcp_line(tcp_line&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  tcp_line& operator=(tcp_line&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~tcp_line() {
    if (socket_ >= 0) ::close(socket_);
  }

  [[nodiscard]] int socket() const { return socket_; }

  template <class T>
  void send(std::span<const T> values) {
    for (auto left = std::as_bytes(values); !left.empty();) {
      const auto sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) fail("cannot send to another rank");
      left = left.subspan(static_cast<std::size_t>(sent));
    }
  }

  template <class T>
  void receive(std::span<T> values) {
    for (auto left = std::as_writable_bytes(values); !left.empty();) {
      const auto count = ::recv(socket_, left.data(), left.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) throw std::runtime_error("another rank has ended");
      if (count < 0) fail("cannot hear another rank");
      left = left.subspan(static_cast<std::size_t>(count));
    }
  }

  [[noreturn]] static void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
  }

 private:
  int socket_ = -1;
};

}  // namespace detail

/// Each rank sends its groups to rank 0, which hands on those of all: slower than MPI, but all that
/// it needs is a port on rank 0's machine. A rank that ends makes all others throw.
class tcp_exchange {
 public:
  /// `meeting` is host:port of rank 0. Returns when all ranks are connected.
  tcp_exchange(const std::string& meeting, std::size_t rank, std::size_t ranks)
      : rank_(rank), lines_(ranks) {
    const std::size_t colon = meeting.rfind(':');
    if (colon == std::string::npos)
      throw std::invalid_argument("'" + meeting + "' is not host:port, where the ranks meet");
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(meeting.substr(0, colon).c_str(), meeting.substr(colon + 1).c_str(), &hints,
                    &found) != 0)
      throw std::runtime_error("there is no such place to meet: " + meeting);
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> place(found, &freeaddrinfo);
    if (rank == 0)
      await(*place);
    else
      join(*place);
  }

  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::size_t ranks() const { return lines_.size(); }

  template <class T>
  void share(std::span<T> values) {
    const std::size_t block = values.size() / groups;
    const auto blocks_of = [&](std::size_t rank, bool own, auto&& visit) {
      for (std::size_t group = 0; group < groups; ++group)
        if ((group % ranks() == rank) == own) visit(values.subspan(group * block, block));
    };
    const auto receive_from = [](detail::tcp_line& line) {
      return [&line](std::span<T> part) { line.receive(part); };
    };
    const auto send_to = [](detail::tcp_line& line) {
      return [&line](std::span<T> part) { line.send(std::span<const T>(part)); };
    };
    if (rank_ == 0) {
      for (std::size_t rank = 1; rank < ranks(); ++rank)
        blocks_of(rank, true, receive_from(lines_[rank]));
      for (std::size_t rank = 1; rank < ranks(); ++rank)
        blocks_of(rank, false, send_to(lines_[rank]));
    } else {
      blocks_of(rank_, true, send_to(lines_[0]));
      blocks_of(rank_, false, receive_from(lines_[0]));
    }
  }

  void broadcast(std::string& text) {
    std::uint64_t size = text.size();
    if (rank_ == 0) {
      for (std::size_t rank = 1; rank < ranks(); ++rank) {
        lines_[rank].send(std::span<const std::uint64_t>(&size, 1));
        lines_[rank].send(std::span<const char>(text));
      }
    } else {
      lines_[0].receive(std::span(&size, 1));
      text.resize(size);
      lines_[0].receive(std::span<char>(text));
    }
  }

 private:
  void await(const addrinfo& place) {
    const int yes = 1;
    const detail::tcp_line door(::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    setsockopt(door.socket(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(door.socket(), place.ai_addr, place.ai_addrlen) != 0 ||
        ::listen(door.socket(), static_cast<int>(ranks())) != 0)
      detail::tcp_line::fail("cannot wait for the other ranks");
    for (std::size_t missing = ranks() - 1; missing > 0; --missing) {
      int socket = -1;
      do socket = ::accept4(door.socket(), nullptr, nullptr, SOCK_CLOEXEC);
      while (socket < 0 && errno == EINTR);
      if (socket < 0) detail::tcp_line::fail("not all of the other ranks have come");
      detail::tcp_line line(socket);
      std::uint64_t rank = 0;
      line.receive(std::span(&rank, 1));
      if (rank == 0 || rank >= ranks() || lines_[rank].socket() >= 0)
        throw std::runtime_error("somebody else meets here, as rank " + std::to_string(rank));
      lines_[rank] = std::move(line);
    }
  }

  // Rank 0 may come later.
  void join(const addrinfo& place) {
    const auto end = std::chrono::steady_clock::now() + detail::tcp_line::patience;
    for (;;) {
      detail::tcp_line line(::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(line.socket(), place.ai_addr, place.ai_addrlen) == 0) {
        const std::uint64_t rank = rank_;
        line.send(std::span(&rank, 1));
        lines_[0] = std::move(line);
        return;
      }
      if (std::chrono::steady_clock::now() >= end) detail::tcp_line::fail("rank 0 has not come");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  std::size_t rank_;
  std::vector<detail::tcp_line> lines_;  // to each rank from rank 0, to rank 0 from the others
};

}  // namespace quickstart
