#pragma once

/// A store's calls in the order of need, as many at a time as the store bears, each given up when
/// it brings nothing for too long.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/detail/adaptive_limit.hpp>
#include <mdstream/schedule/detail/line_limit.hpp>
#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/call_gate.hpp>
#include <mdstream/store/detail/stops.hpp>
#include <mdstream/store/opened_store.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// As many calls as bring all that the line carries, and no more than the store bears.
class store_limit {
 public:
  using ticket = adaptive_limit::ticket;

  explicit store_limit(std::size_t most) : bears_({.most = most}), carries_(most) {}
  [[nodiscard]] std::size_t most() const noexcept {
    return std::min(bears_.most(), carries_.most());
  }
  [[nodiscard]] ticket started() const noexcept { return bears_.started(); }
  void ended(ticket begun, const std::error_code& failure) noexcept {
    bears_.ended(begun, failure);
  }
  void came(std::uint64_t bytes, std::chrono::nanoseconds now, bool bound) noexcept;

 private:
  adaptive_limit bears_;
  line_limit carries_;
};

using store_gate = call_gate<store_limit>;

/// Calls of a store that are under way at most.
inline constexpr std::size_t most_calls = 64;

/// A gate for all calls of a store. One whose calls each occupy a thread of the pool gets no more
/// than there are threads: the others would wait there, where nobody can tell them from calls that
/// hang.
[[nodiscard]] std::shared_ptr<store_gate> make_gate(const runtime& threads,
                                                    const any_async_store& store);

/// A store whose calls pass a gate, with a place in it. A call that the gate let in and that has
/// brought no byte for `most_silence` is stopped and fails with `errc::unavailable`: bytes that
/// came before stay right, and another call can go on behind them. Time that a call waits for the
/// gate does not count. Calls that occupy a thread cannot be stopped and are not timed; a read of
/// an asynchronous store that does not stream brings its bytes at its end. The runtime has to
/// outlive the calls.
class bounded_calls : public store_adapter<bounded_calls, any_async_store> {
 public:
  bounded_calls(runtime& threads, any_async_store inner, std::shared_ptr<store_gate> gate,
                std::chrono::nanoseconds most_silence, std::shared_ptr<const call_place> place);

  /// For `store_adapter`.
  template <class... Result, class Start>
  void run(store_call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    auto one = std::make_shared<one_call>(*threads_, gate_, most_silence_, stop, where);
    gate_->begin(
        std::move(stop),
        [one, start = std::move(start),
         done = std::move(done)](std::optional<store_gate::ticket> ticket) mutable {
          if (!ticket) {
            one->where = {.what = "the call was cancelled while it waited for others"};
            return done(errc::canceled, Result()...);
          }
          constexpr bool reads = requires { start.into; };
          if constexpr (requires { start.take; }) {
            start.take = [one, take = std::move(start.take)](const object_version& found,
                                                             bytes_view bytes) {
              take(found, bytes);
              one->came(bytes.size());
            };
          }
          start(one->begin(*ticket), one->where,
                store_handler<Result...>(
                    [one, done = std::move(done)](std::error_code code, Result... values) mutable {
                      if constexpr (reads) one->came((std::uint64_t{0} + ... + values));
                      code = one->ended(code);
                      done(code, std::move(values)...);
                      one->leave(code);
                    }));
        },
        place_);
  }

 private:
  struct one_call : std::enable_shared_from_this<one_call> {
    one_call(runtime& t, std::shared_ptr<store_gate> g, std::chrono::nanoseconds silence,
             std::stop_token token, diagnostics& w);

    /// What stops the call.
    [[nodiscard]] std::stop_token begin(store_gate::ticket let_in);

    void came(std::uint64_t count);

    /// Looks once in a while whether something came since.
    void watch(std::uint64_t seen);

    [[nodiscard]] std::error_code ended(std::error_code code);

    void leave(const std::error_code& code) { gate->end(ticket, code); }

    runtime& threads;
    const std::shared_ptr<store_gate> gate;
    const std::chrono::nanoseconds most_silence;
    const std::stop_token outer;
    diagnostics& where;
    store_gate::ticket ticket{};
    std::stop_source attempt{}, over{};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<bool> silent{false};
    std::optional<std::stop_callback<passes_stop>> passes{};
  };

  runtime* threads_;
  std::shared_ptr<store_gate> gate_;
  std::shared_ptr<const call_place> place_;
  std::chrono::nanoseconds most_silence_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/bounded_calls.ipp>
#endif
