#pragma once

/// The threads of a loader: I/O threads, which wait for the network and for timers, and a pool for
/// work that computes or blocks.

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

/// One or more I/O threads, and a pool of workers. Several loaders may share a runtime.
///
/// Each I/O thread has an `io_context` of its own, so its objects need no locks. A second one is
/// faster if the network delivers more than 1 to 2 GB/s, which one core can process.
///
/// Never block on an I/O thread. Never wait on a pool thread for other work of the pool: the pool
/// may have one thread.
///
/// Lifetime: has to outlive everything that uses it. The destructor runs the queued work of the
/// pool and the completion handlers that are due then. It drops timers that have not expired, and
/// requests in progress, with their handlers.
/// Thread safety: any thread may call any member. In a forked child, which has none of the threads,
/// nothing runs, and the destructor waits for nothing.
///
///     mds::runtime threads(0, 2);  // a worker for each core, two I/O threads
class runtime {
 public:
  using executor_type = asio::io_context::executor_type;

  /// The number of I/O threads for large transfers: one core processes 1 to 2 GB/s, and with two
  /// the server or the disk is the limit.
  [[nodiscard]] static unsigned io_threads_for_transfers() noexcept {
    return std::clamp(std::thread::hardware_concurrency(), 1U, 2U);
  }

  /// Starts `threads` workers and the I/O threads; 0: as many workers as there are cores for this
  /// process, by its affinity and its control group.
  /// Throws `errc::unavailable`, which names the limits, if the system cannot start them.
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

  /// Whether the caller is one of these threads, which must not wait for their own work, nor
  /// destroy the runtime.
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
  /// `errc::canceled` when `stop` is requested before, or `errc::out_of_memory`. `done` must not
  /// throw.
  void after(std::chrono::nanoseconds delay, std::stop_token stop,
             detail::unique_function<void(std::error_code)> done);

 private:
  struct pending_wait;

  /// Cancels on the io thread, because a timer is not to be touched from two threads. Keeps no wait
  /// alive: a runtime that ends drops its waits, and each waits for its canceller.
  struct canceller {
    std::weak_ptr<pending_wait> wait;
    executor_type executor;
    void operator()() const;
  };

  /// An `io_context` whose handlers can be dropped before it ends.
  struct context : asio::io_context {
    using asio::execution_context::shutdown;
    using asio::io_context::io_context;
  };

  /// An io thread and what lives on it.
  struct lane {
    context io{1};
    asio::executor_work_guard<executor_type> work = asio::make_work_guard(io);
    std::vector<std::pair<const void*, std::shared_ptr<void>>> services{};
    detail::unique_function<void()> end{};  // after what is queued; needs no memory
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
