#pragma once

// A web server in this process that answers as a script says, down to the byte: what no real server
// does. One thread for each connection; everything ends with the object.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace support {

struct scripted_request {
  std::string method, target, body;
  std::map<std::string, std::string> headers;  // names in lower case

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto at = headers.find(name);
    return at == headers.end() ? "" : at->second;
  }
};

class scripted_server {
 public:
  class connection {
   public:
    connection(int socket, const std::atomic<bool>& ending) : socket_(socket), ending_(&ending) {}

    // False when the client is gone or the server ends.
    bool send(std::string_view bytes) {
      while (!bytes.empty() && !*ending_) {
        const ssize_t put = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (put <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(put));
      }
      return !*ending_;
    }
    // Status line, Content-Length and the body.
    bool answer(const std::string& status, const std::string& body,
                const std::string& headers = "") {
      return send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
                  "\r\n" + headers + "\r\n" + body);
    }
    // False when the client goes away or the server ends before.
    bool wait(std::chrono::milliseconds time) {
      const auto until = std::chrono::steady_clock::now() + time;
      while (!*ending_ && std::chrono::steady_clock::now() < until) {
        pollfd gone{socket_, POLLRDHUP, 0};
        if (::poll(&gone, 1, 5) > 0) return false;
      }
      return !*ending_;
    }
    void close() { open_ = false; }
    // The client sees a reset instead of an end.
    void reset() {
      const linger now{1, 0};
      ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      open_ = false;
    }
    [[nodiscard]] bool open() const { return open_ && !*ending_; }

   private:
    friend class scripted_server;
    int socket_;
    const std::atomic<bool>* ending_;
    bool open_ = true;
  };

  using script = std::function<void(connection&, const scripted_request&)>;

  // Without a port it listens on a free one.
  explicit scripted_server(script answer, const std::string& address = "127.0.0.1",
                           unsigned port = 0)
      : answer_(std::move(answer)), port_(port), listener_(listen_on(address, port_)) {
    acceptor_ = std::thread([this] { accept_all(); });
  }
  scripted_server(const scripted_server&) = delete;
  scripted_server& operator=(const scripted_server&) = delete;
  ~scripted_server() {
    ending_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    for (server_thread& each : threads_) each.runs.join();
    ::close(listener_);
  }

  [[nodiscard]] std::string url(const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(port_);
  }
  [[nodiscard]] unsigned port() const { return port_; }
  [[nodiscard]] std::size_t connections() const { return connections_; }
  // Those that this side has not closed yet.
  [[nodiscard]] std::size_t open_connections() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }
  [[nodiscard]] std::vector<scripted_request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // For servers that get more of them than memory should hold.
  void forget_requests() {
    const std::lock_guard lock(mutex_);
    requests_.clear();
  }

 private:
  struct server_thread {
    std::thread runs{};
    std::atomic<bool> has_ended{false};
  };

  static int listen_on(const std::string& host, unsigned& port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    socklen_t size = sizeof address;
    if (socket < 0 || ::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1 ||
        ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(socket, 128) != 0 ||
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    port = ntohs(address.sin_port);
    return socket;
  }

  void accept_all() {
    while (!ending_) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      const std::lock_guard lock(mutex_);
      if (ending_) {
        ::close(socket);
        return;
      }
      ++connections_;
      open_.push_back(socket);
      join_ended();
      server_thread& one = threads_.emplace_back();
      one.runs = std::thread([this, socket, &one] { serve(socket, one); });
    }
  }

  // Of connections that come and go by the thousand, none leaves a thread behind.
  void join_ended() {
    threads_.remove_if([](server_thread& each) {
      if (!each.has_ended) return false;
      each.runs.join();
      return true;
    });
  }

  void serve(int socket, server_thread& self) {
    connection to(socket, ending_);
    std::string received;
    scripted_request request;
    while (to.open() && read_request(socket, received, request)) {
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      answer_(to, request);
      if (request.header("connection") == "close") to.close();
    }
    const std::lock_guard lock(mutex_);
    open_.erase(std::find(open_.begin(), open_.end(), socket));
    ::close(socket);
    self.has_ended = true;
  }

  static bool receive_more(int socket, std::string& received) {
    char buffer[16384];
    const ssize_t got = ::recv(socket, buffer, sizeof buffer, 0);
    if (got > 0) received.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  static bool read_request(int socket, std::string& received, scripted_request& request) {
    std::size_t end = 0;
    while ((end = received.find("\r\n\r\n")) == std::string::npos) {
      if (!receive_more(socket, received)) return false;
    }
    const std::string head = received.substr(0, end + 2);
    received.erase(0, end + 4);
    request = {};
    const std::size_t first = head.find(' '), second = head.find(' ', first + 1);
    request.method = head.substr(0, first);
    request.target = head.substr(first + 1, second - first - 1);
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
      const std::size_t stop = head.find("\r\n", at), colon = head.find(':', at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      const std::size_t value = std::min(head.find_first_not_of(' ', colon + 1), stop);
      request.headers[name] = head.substr(value, stop - value);
      at = stop + 2;
    }
    const std::string length = request.header("content-length");
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    while (received.size() < size) {
      if (!receive_more(socket, received)) return false;
    }
    request.body = received.substr(0, size);
    received.erase(0, size);
    return true;
  }

  script answer_;
  unsigned port_;
  int listener_;
  std::atomic<bool> ending_{false};
  std::atomic<std::size_t> connections_{0};
  mutable std::mutex mutex_;
  std::vector<int> open_;
  std::vector<scripted_request> requests_;
  std::list<server_thread> threads_;
  std::thread acceptor_;
};

}  // namespace support
