#pragma once

#include <mdstream/store/detail/streamed_read.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// One such read, which keeps itself alive until it has called `done`.
class streamed_read : public std::enable_shared_from_this<streamed_read> {
 public:
  streamed_read(runtime& threads, any_async_store store, std::string key, std::uint64_t most,
                byte_taker take, retry_policy retry, shared_retry_budget budget,
                std::stop_token stop, diagnostics& where, store_handler<object_version> done,
                std::optional<object_version> held)
      : threads_(threads),
        store_(std::move(store)),
        key_(std::move(key)),
        most_(most),
        take_(std::move(take)),
        made_(retry, std::move(budget)),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)),
        held_(std::move(held)) {}

  void attempt() {
    where_ = {};
    gave_ = false;
    store_.async_stream(
        key_, held_, got_, most_ - got_,
        [self = shared_from_this()](const object_version& found, bytes_view bytes) {
          self->take(found, bytes);
        },
        stop_, where_,
        [self = shared_from_this()](std::error_code code, object_version found) {
          self->ended(code, std::move(found));
        });
  }

 private:
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
    if (stop_.stop_requested()) code = errc::canceled;  // whatever failed meanwhile
    // Bytes that were given cannot be taken back.
    const bool is_final = refused_ || (gave_ && code == errc::corrupt);
    if (!is_final) {
      if (const auto pause = made_.pause_after(code, where_)) {
        return threads_.after(*pause, stop_, [self = shared_from_this()](std::error_code) {
          self->attempt();  // a stop that came meanwhile ends it at once
        });
      }
    }
    done_(code, held_ ? *held_ : object_version{});
  }

  runtime& threads_;
  const any_async_store store_;
  const std::string key_;
  const std::uint64_t most_;
  const byte_taker take_;
  call_attempts made_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<object_version> done_;

  std::optional<object_version> held_;
  std::uint64_t got_ = 0;
  bool gave_ = false;  // bytes, in this attempt
  bool refused_ = false;
};

MDSTREAM_INLINE void async_stream_resumed(runtime& threads, any_async_store store, std::string key,
                                          std::uint64_t most, byte_taker take, retry_policy retry,
                                          shared_retry_budget budget, std::stop_token stop,
                                          diagnostics& where, store_handler<object_version> done,
                                          std::optional<object_version> held) {
  std::make_shared<streamed_read>(threads, std::move(store), std::move(key), most, std::move(take),
                                  retry, std::move(budget), std::move(stop), where, std::move(done),
                                  std::move(held))
      ->attempt();
}

MDSTREAM_INLINE void async_read_whole(runtime& threads, any_async_store store, std::string key,
                                      std::uint64_t most, ranged_target into,
                                      std::optional<object_version> held, retry_policy retry,
                                      shared_retry_budget budget, std::stop_token stop,
                                      diagnostics& where, store_handler<std::uint64_t> done) {
  if (!store.streams()) {
    if (!held) {
      return retrying(threads, std::move(store), retry, std::move(budget))
          .async_read(std::move(key), 0, into.into, std::move(stop), where, std::move(done));
    }
    return async_read_ranges(
        threads, std::move(store), std::move(key), *std::move(held), std::move(into),
        {.retry = retry, .budget = std::move(budget)}, std::move(stop), where,
        [most, done = std::move(done)](std::error_code code) mutable { done(code, most); });
  }
  if (!into.put) {
    into.put = [to = into.into](std::uint64_t at, bytes_view bytes) {
      std::ranges::copy(bytes, to.begin() + static_cast<std::ptrdiff_t>(at));
    };
  }
  const auto came = std::make_shared<std::uint64_t>(0);
  async_stream_resumed(
      threads, std::move(store), std::move(key), most,
      [came, into = std::move(into)](const object_version&, bytes_view bytes) {
        const std::uint64_t room = into.bytes - std::min(*came, into.bytes);
        into.put(*came, bytes.first(
                            static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()))));
        *came += bytes.size();
      },
      retry, std::move(budget), std::move(stop), where,
      [came, done = std::move(done)](std::error_code code, const object_version&) mutable {
        done(code, *came);
      },
      std::move(held));
}

}  // namespace mdstream::inline v0::detail
