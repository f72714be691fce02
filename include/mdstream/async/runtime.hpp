#pragma once

/// The threads behind a loader: one, or some, that wait for input and output and timers, and a pool
/// for work that computes or blocks.

#include <mdstream/async/detail/asio.hpp>
#include <mdstream/async/detail/pool.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/core/detail/unique_function.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Io threads, one unless more are asked for, and a pool of workers; several loaders may share one.
/// All members may be called from any thread. Outlives everything that was given a reference to it.
/// Its destructor runs what the pool has queued and the completion handlers that are due then; it
/// drops timers that have not expired and requests under way, with their handlers. A forked child
/// has none of the threads: there nothing runs, and the destructor waits for nothing.
///
/// Each io thread has an `io_context` of its own, so that what lives on it needs no locks. More
/// than one pays where the network is faster than a processor moves its bytes, above 1 to 2 GB/s.
///
/// Never block on an io thread, and never wait on a pool thread for other work of the pool: a
/// pool of one thread is allowed.
class runtime {
 public:
  using executor_type = asio::io_context::executor_type;

  /// Io threads for who moves as many bytes as come: one core fills a file at 1 to 2 GB/s, and with
  /// two of them it is the server or the disk that is waited for.
  [[nodiscard]] static unsigned io_threads_for_transfers() noexcept {
    return std::clamp(std::thread::hardware_concurrency(), 1U, 2U);
  }

  /// `threads` workers beside the io threads; 0 means as many as the machine has cores. Throws
  /// `errc::unavailable`, naming the limits, where the system does not let them start.
  explicit runtime(unsigned threads = 0, unsigned io_threads = 1);
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  /// Where completion handlers without an executor of their own run: the first io thread.
  [[nodiscard]] executor_type get_executor() noexcept { return io().get_executor(); }
  [[nodiscard]] asio::io_context& io(std::size_t number = 0) noexcept {
    return (*lanes_)[number].io;
  }
  [[nodiscard]] std::size_t io_threads() const noexcept { return lanes_->size(); }

  /// Whether the caller is one of these threads: there, nothing may wait for their work, nor
  /// destroy this.
  [[nodiscard]] bool runs_here() const noexcept;

  /// Number of workers in the pool.
  [[nodiscard]] unsigned threads() const noexcept { return pool_->size(); }

  /// Runs `work` on the pool; it must not throw.
  void post(detail::unique_function<void()> work) { pool_->post(std::move(work)); }

  /// The one `Service` of an io thread, made as `Service(io_context&)` by the first call. It lives
  /// as long as the runtime and ends after the threads, before the io_context and what waits in it.
  template <class Service>
  [[nodiscard]] Service& service(std::size_t io_thread = 0) {
    static constexpr char key = 0;  // its address is the type's
    lane& its = (*lanes_)[io_thread];
    const std::lock_guard lock(services_mutex_);
    for (const auto& [type, each] : its.services) {
      if (type == &key) return *static_cast<Service*>(each.get());
    }
    auto made = std::make_shared<Service>(its.io);
    its.services.emplace_back(&key, made);
    return *made;
  }

  /// Calls `done` on the first io thread after `delay`, with no error, or at once with
  /// `errc::canceled` when `stop` is requested before. `done` must not throw.
  void after(std::chrono::nanoseconds delay, std::stop_token stop,
             detail::unique_function<void(std::error_code)> done);

 private:
  struct pending_wait;

  /// Cancels on the io thread, because a timer is not to be touched from two threads.
  struct canceller {
    std::weak_ptr<pending_wait> wait;
    void operator()() const;
  };

  struct pending_wait {
    pending_wait(asio::io_context& io, detail::unique_function<void(std::error_code)> on_done)
        : timer(io), done(std::move(on_done)) {}
    asio::steady_timer timer;
    detail::unique_function<void(std::error_code)> done;
    std::optional<std::stop_callback<canceller>> cancel;
  };

  /// An io thread and what lives on it.
  struct lane {
    asio::io_context io{1};
    asio::executor_work_guard<executor_type> work = asio::make_work_guard(io);
    std::vector<std::pair<const void*, std::shared_ptr<void>>> services{};
    std::thread thread{};
  };

  void end_lanes();

  std::mutex services_mutex_;
  detail::unique_where_made<std::vector<lane>> lanes_;
  detail::unique_where_made<detail::thread_pool> pool_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/runtime.ipp>
#endif
