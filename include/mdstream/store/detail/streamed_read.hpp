#pragma once

/// Reads an object in its order, as its bytes come, and goes on where a connection broke off.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// One such read. What comes after a break is of the version that came before it. Made by `start`,
/// it keeps itself alive until it has called `done`.
template <streaming_store S>
class streamed_read : public std::enable_shared_from_this<streamed_read<S>> {
  struct access {};

 public:
  streamed_read(access, runtime& threads, S store, std::string key, std::uint64_t most,
                byte_taker take, retry_policy retry, shared_retry_budget budget,
                std::stop_token stop, diagnostics& where, store_handler<object_version> done)
      : threads_(threads),
        store_(std::move(store)),
        key_(std::move(key)),
        most_(most),
        take_(std::move(take)),
        made_(retry, std::move(budget)),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {}

  /// Gives `take` the object's bytes from its first on, `most` at most, and completes with the
  /// object that they are of. An attempt that brought bytes counts as the first again, and is final
  /// where they are corrupt; so is what `take` throws. Others take from the budget. `take` is
  /// called from one thread at a time; it and `where` stay until `done`, and the runtime outlives
  /// that.
  static void start(runtime& threads, S store, std::string key, std::uint64_t most, byte_taker take,
                    retry_policy retry, shared_retry_budget budget, std::stop_token stop,
                    diagnostics& where, store_handler<object_version> done) {
    std::make_shared<streamed_read>(access{}, threads, std::move(store), std::move(key), most,
                                    std::move(take), retry, std::move(budget), std::move(stop),
                                    where, std::move(done))
        ->attempt();
  }

 private:
  void attempt() {
    where_ = {};
    gave_ = false;
    store_.async_stream(
        key_, held_, got_, most_ - got_,
        [self = this->shared_from_this()](const object_version& found, bytes_view bytes) {
          self->take(found, bytes);
        },
        stop_, where_,
        [self = this->shared_from_this()](std::error_code code, object_version found) {
          self->ended(code, std::move(found));
        });
  }

  void take(const object_version& found, bytes_view bytes) {
    if (!held_) held_ = found;
    made_.led_on();
    gave_ = true;
    refused_ = true;
    take_(found, bytes);
    refused_ = false;
    got_ += bytes.size();
  }

  void ended(std::error_code code, object_version found) {
    if (!code) {
      made_.succeeded();
      return done_({}, held_ ? *held_ : std::move(found));
    }
    // Bytes that were given cannot be taken back.
    const bool is_final = refused_ || (gave_ && code == errc::corrupt);
    if (!is_final && !stop_.stop_requested()) {
      if (const auto pause = made_.pause_after(code, where_)) {
        return threads_.after(*pause, stop_, [self = this->shared_from_this()](std::error_code) {
          self->attempt();  // a stop that came meanwhile ends it at once
        });
      }
    }
    done_(code, held_ ? *held_ : object_version{});
  }

  runtime& threads_;
  const S store_;
  const std::string key_;
  const std::uint64_t most_;
  const byte_taker take_;
  call_attempts made_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<object_version> done_;

  std::optional<object_version> held_{};
  std::uint64_t got_ = 0;
  bool gave_ = false;  // bytes, in this attempt
  bool refused_ = false;
};

/// `streamed_read::start` for a store of any type.
template <streaming_store S>
void async_stream_resumed(runtime& threads, S store, std::string key, std::uint64_t most,
                          byte_taker take, retry_policy retry, shared_retry_budget budget,
                          std::stop_token stop, diagnostics& where,
                          store_handler<object_version> done) {
  streamed_read<S>::start(threads, std::move(store), std::move(key), most, std::move(take), retry,
                          std::move(budget), std::move(stop), where, std::move(done));
}

}  // namespace mdstream::inline v0::detail
