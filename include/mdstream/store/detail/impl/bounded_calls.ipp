#pragma once

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/bounded_calls.hpp>
#include <mdstream/store/detail/stops.hpp>
#include <mdstream/version.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::shared_ptr<call_gate> make_gate(const runtime& threads,
                                                     const any_async_store& store) {
  const std::size_t most = store.abilities().occupies_threads ? threads.threads() : most_calls;
  return std::make_shared<call_gate>(adaptive_limits{.most = most}, line_limit(most));
}

/// One call that passes the gate, and what watches over it.
class bounded_call : public std::enable_shared_from_this<bounded_call> {
 public:
  bounded_call(runtime& threads, std::shared_ptr<call_gate> gate, std::chrono::nanoseconds silence,
               std::stop_token outer, diagnostics& where)
      : threads_(threads),
        gate_(std::move(gate)),
        most_silence_(silence),
        outer_(std::move(outer)),
        where_(where) {}

  void begin(const any_async_store& store, store_call call, call_gate::ticket let_in,
             answer_handler done) {
    ticket_ = let_in;
    const bool reads = call.reads_into_memory();
    store.async_call(std::move(call), watched(), where_,
                     [self = shared_from_this(), reads, done = std::move(done)](
                         std::error_code code, store_answer answer) mutable {
                       if (reads) self->came(answer.bytes);
                       code = self->ended(code);
                       done(code, std::move(answer));
                       self->gate_->end(self->ticket_, code);
                     });
  }

  [[nodiscard]] byte_taker watched(byte_taker take) {
    return [self = shared_from_this(), take = std::move(take)](const object_version& found,
                                                               bytes_view bytes) {
      take(found, bytes);
      self->came(bytes.size());
    };
  }

 private:
  /// What stops the call.
  [[nodiscard]] std::stop_token watched() {
    if (most_silence_.count() == 0) return outer_;
    passes_.emplace(outer_, passes_stop{attempt_});
    watch(0);
    return attempt_.get_token();
  }

  void came(std::uint64_t count) {
    bytes_.fetch_add(count, std::memory_order_relaxed);
    gate_->came(count);
  }

  /// Looks once in a while whether something came since.
  void watch(std::uint64_t seen) {
    threads_.after(most_silence_, over_.get_token(),
                   [self = shared_from_this(), seen](std::error_code canceled) {
                     if (canceled) return;
                     const std::uint64_t now = self->bytes_.load(std::memory_order_relaxed);
                     if (now != seen) return self->watch(now);
                     self->silent_ = true;
                     self->attempt_.request_stop();
                   });
  }

  [[nodiscard]] std::error_code ended(std::error_code code) {
    passes_.reset();
    over_.request_stop();
    if (code != errc::canceled || !silent_ || outer_.stop_requested()) return code;
    const double seconds = std::chrono::duration<double>(most_silence_).count();
    where_ = {.what = "the store sent nothing for " + std::to_string(seconds) + " s",
              .url = std::move(where_.url)};
    return errc::unavailable;
  }

  runtime& threads_;
  const std::shared_ptr<call_gate> gate_;
  const std::chrono::nanoseconds most_silence_;
  const std::stop_token outer_;
  diagnostics& where_;
  call_gate::ticket ticket_{};
  std::stop_source attempt_{}, over_{};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> silent_{false};
  std::optional<std::stop_callback<passes_stop>> passes_{};
};

class watched_calls final : public store_adapter {
 public:
  watched_calls(runtime& threads, any_async_store inner, std::shared_ptr<call_gate> gate,
                std::chrono::nanoseconds most_silence, std::shared_ptr<const call_place> place)
      : store_adapter(std::move(inner)),
        threads_(threads),
        gate_(std::move(gate)),
        place_(std::move(place)),
        most_silence_(abilities().occupies_threads ? std::chrono::nanoseconds(0) : most_silence) {}

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    auto one = std::make_shared<bounded_call>(threads_, gate_, most_silence_, stop, where);
    if (call.take) call.take = one->watched(std::move(call.take));
    gate_->begin(
        std::move(stop),
        [one = std::move(one), inner = inner(), call = std::move(call), &where,
         done = std::move(done)](std::optional<call_gate::ticket> ticket) mutable {
          if (ticket) return one->begin(inner, std::move(call), *ticket, std::move(done));
          where = {.what = "the call was cancelled while it waited for others"};
          done(errc::canceled, {});
        },
        place_);
  }

 private:
  runtime& threads_;
  const std::shared_ptr<call_gate> gate_;
  const std::shared_ptr<const call_place> place_;
  const std::chrono::nanoseconds most_silence_;
};

MDSTREAM_INLINE bounded_calls::bounded_calls(runtime& threads, any_async_store inner,
                                             std::shared_ptr<call_gate> gate,
                                             std::chrono::nanoseconds most_silence,
                                             std::shared_ptr<const call_place> place)
    : any_async_store(std::make_shared<const watched_calls>(
          threads, std::move(inner), std::move(gate), most_silence, std::move(place))) {}

}  // namespace mdstream::inline v0::detail
