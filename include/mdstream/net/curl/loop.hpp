#pragma once

/// libcurl's multi interface on an io thread: its sockets and its timer are Asio's, its connections
/// are shared by all clients of a runtime.

#include <mdstream/async/detail/socket_watch.hpp>
#include <mdstream/async/detail/timer.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/net/curl/transfer.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net::detail {

/// A service of the runtime. All members but the constructor are for the io thread. `Watch` waits
/// for a socket, as `socket_watch` does.
///
/// libcurl's rules that this keeps: no call of `socket_action` from within its callbacks; a socket
/// is let go of when libcurl says so and closed when libcurl wants it; after every action the
/// sockets that are still wanted are waited for again. libcurl says so at the end of each request,
/// too, of a connection that it keeps for the next: that one's socket, which is opened and closed
/// here, stays with its watch. Others (of a resolver) libcurl closes itself, perhaps before it says
/// so: `Watch` has to bear that.
template <class Watch>
class basic_curl_loop {
 public:
  /// Called when a transfer has left the loop, before its own completion.
  using left_function = mdstream::detail::unique_function<void()>;

  /// What has to be told when the loop ends before it does.
  struct dependant {
    virtual ~dependant() = default;
    virtual void loop_ends() noexcept = 0;
  };

  explicit basic_curl_loop(asio::io_context& io) : io_(io), timer_(io), multi_(make_curl_multi()) {
    set_multi(CURLMOPT_SOCKETFUNCTION, &on_socket);
    set_multi(CURLMOPT_SOCKETDATA, this);
    set_multi(CURLMOPT_TIMERFUNCTION, &on_timer);
    set_multi(CURLMOPT_TIMERDATA, this);
    set_multi(CURLMOPT_MAXCONNECTS, most_idle_connections);
  }
  basic_curl_loop(const basic_curl_loop&) = delete;
  basic_curl_loop& operator=(const basic_curl_loop&) = delete;

  /// After the io thread: transfers under way are dropped, as timers of the runtime are.
  ~basic_curl_loop() {
    for (const std::weak_ptr<dependant>& each : dependants_) {
      if (const auto alive = each.lock()) alive->loop_ends();
    }
    set_multi(CURLMOPT_SOCKETFUNCTION, static_cast<curl_socket_callback>(nullptr));
    set_multi(CURLMOPT_TIMERFUNCTION, static_cast<curl_multi_timer_callback>(nullptr));
    for (auto& [socket, watch] : sockets_) watch->watch.release();
    for (auto& [easy, each] : under_way_) curl_multi_remove_handle(multi_.get(), easy);
  }

  void tell_of_end(const std::shared_ptr<dependant>& who) {
    std::erase_if(dependants_, [](const auto& each) { return each.expired(); });
    dependants_.push_back(who);
  }

  /// Sends the request of `transfer`; its completion runs on this thread, never in this call.
  void start(const std::shared_ptr<http_transfer>& transfer, left_function left) {
    try {
      transfer->prepare(take_handle());
      own_sockets_of(transfer->easy());
      if (!stale_names_.empty() && stale_names_.erase(transfer->server()) != 0) {
        transfer->resolve_anew();
      }
      add(transfer->easy());
    } catch (const std::exception&) {
      return refuse(transfer, std::current_exception(), std::move(left));
    }
    CURL* const easy = transfer->easy();
    entry& added = under_way_.try_emplace(easy, transfer, std::move(left)).first->second;
    added.cancel.emplace(transfer->stop(), canceller{this, transfer});
  }

 private:
  static constexpr long most_idle_connections = 256;
  static constexpr std::size_t most_idle_handles = 64;

  /// Stops may be requested on any thread: they come to the io thread through its queue.
  struct canceller {
    basic_curl_loop* loop;
    std::weak_ptr<http_transfer> transfer;
    void operator()() const {
      asio::post(loop->io_, mdstream::detail::io_task([loop = loop, transfer = transfer] {
                   if (const auto alive = transfer.lock()) loop->cancel(*alive);
                 }));
    }
  };

  struct entry {
    entry(std::shared_ptr<http_transfer> t, left_function l)
        : transfer(std::move(t)), left(std::move(l)) {}
    std::shared_ptr<http_transfer> transfer;
    left_function left;
    std::optional<std::stop_callback<canceller>> cancel;
    bool unwatched = false;  // a socket of it cannot be waited for
  };

  struct socket_state {
    socket_state(asio::io_context& io, curl_socket_t socket) : watch(io, socket) {}
    Watch watch;
    bool wants_read = false, wants_write = false;
    bool waits_read = false, waits_write = false;
  };

  template <class Value>
  void set_multi(CURLMoption option, Value value) {
    curl_multi_setopt(multi_.get(), option, value);
  }

  [[nodiscard]] curl_easy_handle take_handle() {
    if (idle_.empty()) return make_curl_easy();
    curl_easy_handle handle = std::move(idle_.back());
    idle_.pop_back();
    return handle;
  }

  /// For the next request. Only of one that went well: after a name that does not resolve, say,
  /// libcurl 7.88 leaves a handle in a state that no reset gets it out of.
  void keep_handle(curl_easy_handle handle) {
    if (idle_.size() >= most_idle_handles) return;
    curl_easy_reset(handle.get());
    idle_.push_back(std::move(handle));
  }

  void add(CURL* easy) {
    const CURLMcode failure = curl_multi_add_handle(multi_.get(), easy);
    if (failure == CURLM_OK) return;
    throw error(errc::io_error, diagnostics{.what = "libcurl does not take the request",
                                            .cause = curl_multi_strerror(failure)});
  }

  void refuse(const std::shared_ptr<http_transfer>& transfer, const std::exception_ptr& why,
              left_function left) {
    asio::post(io_, mdstream::detail::io_task([transfer, why, left = std::move(left)]() mutable {
                 (void)transfer->take_handle();
                 left();
                 try {
                   std::rethrow_exception(why);
                 } catch (const error& e) {
                   transfer->complete_with(e.code(), e.where());
                 } catch (const std::exception& e) {
                   transfer->complete_with(
                       errc::io_error, {.what = "the request cannot be made", .cause = e.what()});
                 }
               }));
  }

  void own_sockets_of(CURL* easy) {
    set_option(easy, CURLOPT_OPENSOCKETFUNCTION, &on_open);
    set_option(easy, CURLOPT_OPENSOCKETDATA, this);
    set_option(easy, CURLOPT_CLOSESOCKETFUNCTION, &on_close);
    set_option(easy, CURLOPT_CLOSESOCKETDATA, this);
  }

  /// As `http_transfer::peer`.
  [[nodiscard]] static std::string text_of(const sockaddr& address) {
    const bool v6 = address.sa_family == AF_INET6;
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    char text[INET6_ADDRSTRLEN] = "";
    const void* const bytes = v6 ? static_cast<const void*>(&six.sin6_addr) : &four.sin_addr;
    ::inet_ntop(address.sa_family, bytes, text, sizeof text);
    return text + (' ' + std::to_string(ntohs(v6 ? six.sin6_port : four.sin_port)));
  }

  static curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* to) noexcept {
    auto& loop = *static_cast<basic_curl_loop*>(self);
    const int opened = v0::detail::own_descriptors::add(
        [to] { return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol); });
    if (opened < 0) return CURL_SOCKET_BAD;
    try {
      loop.connections_.emplace(opened, text_of(to->addr));
    } catch (const std::exception&) {
      v0::detail::own_descriptors::close(opened);
      return CURL_SOCKET_BAD;
    }
    return opened;
  }

  /// The address of a connection that failed may be gone. Idle connections to it end, so that no
  /// other request waits for an answer there, and the server's name is resolved anew.
  void distrust(const http_transfer& transfer) {
    stale_names_.insert(transfer.server());
    const std::string address = transfer.peer();
    for (const auto& [socket, peer] : connections_) {
      const auto at = peer == address ? sockets_.find(socket) : sockets_.end();
      const bool rests =
          at != sockets_.end() && !at->second->wants_read && !at->second->wants_write;
      if (rests) ::shutdown(socket, SHUT_RDWR);  // libcurl sees it before it takes one
    }
  }

  static int on_close(void* self, curl_socket_t socket) noexcept {
    auto& loop = *static_cast<basic_curl_loop*>(self);
    loop.connections_.erase(socket);
    loop.forget(socket);
    return v0::detail::own_descriptors::close(socket);
  }

  void cancel(http_transfer& transfer) {
    if (transfer.easy() == nullptr) return;
    const auto at = under_way_.find(transfer.easy());
    if (at == under_way_.end()) return;
    leave(at, [](http_transfer& t) { t.complete_canceled(); });
  }

  using under_way_map = std::unordered_map<CURL*, entry>;

  /// Takes a transfer off the loop and lets `tell` complete it.
  template <class Tell>
  void leave(typename under_way_map::iterator at, Tell tell, bool went_well = false) {
    auto node = under_way_.extract(at);
    entry& gone = node.mapped();
    gone.cancel.reset();
    curl_multi_remove_handle(multi_.get(), node.key());
    curl_easy_handle handle = gone.transfer->take_handle();
    if (went_well) keep_handle(std::move(handle));
    gone.left();
    tell(*gone.transfer);
  }

  void act(curl_socket_t socket, int what) {
    int running = 0;
    curl_multi_socket_action(multi_.get(), socket, what, &running);
    finish_ended();
    finish_unwatched();
    wait_again(socket);
  }

  void finish_ended() {
    int more = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &more)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode ended = message->data.result;  // the message goes with the handle
      const auto at = under_way_.find(message->easy_handle);
      if (at == under_way_.end()) continue;
      const CURLcode result = at->second.transfer->end_of(ended);
      if (http_transfer::connection_failed(result)) distrust(*at->second.transfer);
      if (follows(at, result)) continue;
      leave(at, [result](http_transfer& t) { t.complete(result); }, result == CURLE_OK);
    }
  }

  /// No event would ever end these.
  void finish_unwatched() {
    while (std::exchange(some_unwatched_, false)) {
      for (auto at = under_way_.begin(); at != under_way_.end(); ++at) {
        if (!at->second.unwatched) continue;
        leave(at, [](http_transfer& t) {
          t.complete_with(errc::io_error, {.what = "the system does not watch another socket"});
        });
        some_unwatched_ = true;  // a completion may have begun another, look again
        break;
      }
    }
  }

  /// Whether a transfer goes on elsewhere, or has left because it could not.
  [[nodiscard]] bool follows(typename under_way_map::iterator at, CURLcode result) {
    if (!at->second.transfer->follow(result)) return false;
    curl_multi_remove_handle(multi_.get(), at->first);
    try {
      add(at->first);
    } catch (const error& e) {
      leave(at, [&e](http_transfer& t) { t.complete_with(e.code(), e.where()); });
    }
    return true;
  }

  /// A failure stays with the transfer: were it returned, libcurl would end all transfers.
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void*) noexcept {
    auto& loop = *static_cast<basic_curl_loop*>(self);
    if (what == CURL_POLL_REMOVE) {
      loop.connections_.contains(socket) ? loop.rest(socket) : loop.forget(socket);
      return 0;
    }
    try {
      if (const auto at = loop.under_way_.find(easy); at != loop.under_way_.end())
        at->second.transfer->uses(socket);
      loop.watch(socket, (what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0);
    } catch (const std::exception&) {
      loop.forget(socket);
      if (const auto at = loop.under_way_.find(easy); at != loop.under_way_.end()) {
        at->second.unwatched = loop.some_unwatched_ = true;
      }
    }
    return 0;
  }

  /// What still waits finds nothing wanted.
  void rest(curl_socket_t socket) {
    const auto at = sockets_.find(socket);
    if (at != sockets_.end()) at->second->wants_read = at->second->wants_write = false;
  }

  void forget(curl_socket_t socket) {
    const auto at = sockets_.find(socket);
    if (at == sockets_.end()) return;
    if (at->second) {
      at->second->wants_read = at->second->wants_write = false;
      at->second->watch.release();
    }
    sockets_.erase(at);
  }

  void watch(curl_socket_t socket, bool read, bool write) {
    std::shared_ptr<socket_state>& state = sockets_[socket];
    if (!state) state = std::make_shared<socket_state>(io_, socket);
    state->wants_read = read;
    state->wants_write = write;
    wait(socket, state);
  }

  void wait_again(curl_socket_t socket) {
    const auto at = sockets_.find(socket);
    if (at != sockets_.end()) wait(socket, at->second);
  }

  void wait(curl_socket_t socket, const std::shared_ptr<socket_state>& state) {
    if (state->wants_read && !state->waits_read) {
      state->waits_read = true;
      state->watch.wait_readable([this, socket, state](std::error_code failure) {
        state->waits_read = false;
        if (!failure && state->wants_read) act(socket, CURL_CSELECT_IN);
      });
    }
    if (state->wants_write && !state->waits_write) {
      state->waits_write = true;
      state->watch.wait_writable([this, socket, state](std::error_code failure) {
        state->waits_write = false;
        if (!failure && state->wants_write) act(socket, CURL_CSELECT_OUT);
      });
    }
  }

  using time_point = mdstream::detail::io_timer::time_point;
  static constexpr time_point never = time_point::max();

  static int on_timer(CURLM*, long milliseconds, void* self) noexcept {
    auto& loop = *static_cast<basic_curl_loop*>(self);
    if (milliseconds < 0) {
      loop.due_ = never;
      return 0;
    }
    loop.due_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    milliseconds == 0 ? loop.look_soon() : loop.look_when_due();
    return 0;
  }

  /// As each request begins.
  void look_soon() {
    if (std::exchange(looks_soon_, true)) return;
    asio::post(io_, mdstream::detail::io_task([this] {
                 looks_soon_ = false;
                 look();
               }));
  }

  /// A timer that is set stays so when libcurl wants a later one, as it does for each request:
  /// expiring early once a second costs less than being set anew each time.
  void look_when_due() {
    if (due_ >= set_to_) return;
    set_to_ = due_;
    timer_.expires_at(due_);
    timer_.async_wait([this, at = due_](std::error_code failure) {
      // One that had expired when it was replaced comes without a failure.
      if (failure || at != set_to_) return;
      set_to_ = never;
      look();
    });
  }

  void look() {
    if (due_ > std::chrono::steady_clock::now()) return look_when_due();
    due_ = never;
    act(CURL_SOCKET_TIMEOUT, 0);
  }

  asio::io_context& io_;
  mdstream::detail::io_timer timer_;
  time_point due_ = never;     // when libcurl wants to be called
  time_point set_to_ = never;  // when the timer expires
  bool looks_soon_ = false;
  std::unordered_map<curl_socket_t, std::shared_ptr<socket_state>> sockets_;
  std::unordered_map<curl_socket_t, std::string> connections_;  // open ones, and where they lead
  std::unordered_set<std::string> stale_names_;                 // as `http_transfer::server`
  std::vector<curl_easy_handle> idle_;
  under_way_map under_way_;
  bool some_unwatched_ = false;
  std::vector<std::weak_ptr<dependant>> dependants_;
  curl_multi_handle multi_;
};

using curl_loop = basic_curl_loop<mdstream::detail::socket_watch>;

}  // namespace mdstream::inline v0::net::detail
