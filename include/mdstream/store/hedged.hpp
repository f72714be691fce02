#pragma once

/// Asks a second time where an answer takes unusually long.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/hedge.hpp>
#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/stops.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// A store whose slowest sizes and reads are asked for a second time, as `hedge_policy` says; the
/// first answer that is no failure counts, and the other call is stopped. The second read has
/// memory of its own, so reads above `most_bytes` are asked once. Streams, writes, listings and
/// removals pass. The runtime has to outlive the calls.
template <async_store S>
class hedged : public detail::store_adapter<hedged<S>, S> {
 public:
  hedged(runtime& threads, S inner, hedge_policy policy = {},
         std::size_t most_bytes = std::size_t{8} << 20)
      : detail::store_adapter<hedged, S>(std::move(inner)),
        shared_(std::make_shared<shared>(threads, policy)),
        most_bytes_(most_bytes) {}

  /// Second calls so far.
  [[nodiscard]] std::uint64_t seconds() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->seconds;
  }

  /// For `store_adapter`.
  template <class... Result, class Start>
  void run(const detail::store_call& call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    constexpr bool reads = requires { start.with(mutable_bytes()); };
    if constexpr (reads || std::same_as<std::tuple<Result...>, std::tuple<std::uint64_t>> ||
                  (std::same_as<std::tuple<Result...>, std::tuple<object_version>> &&
                   !requires { start.take; })) {
      if (call.bytes <= most_bytes_) {
        return std::make_shared<race<Start, Result...>>(shared_, std::move(stop), where,
                                                        std::move(start), std::move(done))
            ->begin();
      }
    }
    start(std::move(stop), where, std::move(done));
  }

 private:
  struct shared {
    shared(runtime& t, hedge_policy p) : threads(t), timer(p) {}

    [[nodiscard]] std::optional<std::chrono::nanoseconds> patience() {
      const std::lock_guard lock(mutex);
      return timer.patience();
    }
    void ended(std::chrono::nanoseconds took) {
      const std::lock_guard lock(mutex);
      timer.ended(took);
    }
    [[nodiscard]] bool try_second() {
      const std::lock_guard lock(mutex);
      if (!timer.try_second()) return false;
      ++seconds;
      return true;
    }

    runtime& threads;
    std::mutex mutex;
    hedge_timer timer;
    std::uint64_t seconds = 0;
  };

  /// One call, and the second one that it may get.
  template <class Start, class Result>
  struct race : std::enable_shared_from_this<race<Start, Result>> {
    struct runner {
      std::stop_source stop{};
      diagnostics where{};
      std::error_code code{};
      Result result{};
      bool runs = false;

      [[nodiscard]] bool won() const { return !runs && !code; }
    };

    race(std::shared_ptr<shared> s, std::stop_token t, diagnostics& w, Start call,
         store_handler<Result> d)
        : common(std::move(s)),
          where(w),
          start(std::move(call)),
          done(std::move(d)),
          outer(std::move(t), detail::passes_stop{first.stop, second.stop}) {}

    void begin() {
      first.runs = true;
      start(first.stop.get_token(), first.where, handler(first));
      const auto patience = common->patience();
      const std::lock_guard lock(mutex);
      if (!patience || !first.runs) return;
      common->threads.after(*patience, first.stop.get_token(),
                            [self = this->shared_from_this()](std::error_code stopped) {
                              if (!stopped) self->begin_second();
                            });
    }

    void begin_second() {
      {
        const std::lock_guard lock(mutex);
        if (!first.runs || !common->try_second()) return;
        second.code = {};
        second.runs = second_sent = true;
      }
      if constexpr (requires { start.with(mutable_bytes()); }) {
        memory.resize(start.into.size());
        start.with(memory)(second.stop.get_token(), second.where, handler(second));
      } else {
        start(second.stop.get_token(), second.where, handler(second));
      }
    }

    store_handler<Result> handler(runner& who) {
      return [self = this->shared_from_this(), &who](std::error_code code, Result result) {
        self->ended(who, code, std::move(result));
      };
    }

    void ended(runner& who, std::error_code code, Result result) {
      bool over = false;
      {
        const std::lock_guard lock(mutex);
        who.runs = false;
        who.code = code;
        who.result = std::move(result);
        // The caller's memory is the first call's until that has ended, whoever has won.
        over = !told && !first.runs && (first.won() || !second_sent || !second.runs);
        if (over) told = true;
      }
      if (over) return tell();
      if (!code) first.stop.request_stop();
    }

    void tell() {
      second.stop.request_stop();
      const bool by_second = !first.won() && second_sent && second.won();
      runner& winner = by_second ? second : first;
      if constexpr (requires { start.with(mutable_bytes()); }) {
        if (by_second) std::memcpy(start.into.data(), memory.data(), memory.size());
      }
      if (!winner.code) common->ended(std::chrono::steady_clock::now() - began);
      where = std::move(winner.where);
      done(winner.code, std::move(winner.result));
    }

    const std::shared_ptr<shared> common;
    diagnostics& where;
    Start start;
    store_handler<Result> done;
    const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::vector<std::byte> memory{};
    std::mutex mutex;
    runner first{}, second{};
    bool second_sent = false, told = false;
    std::stop_callback<detail::passes_stop> outer;  // after what it stops
  };

  std::shared_ptr<shared> shared_;
  std::size_t most_bytes_;
};

}  // namespace mdstream::inline v0
