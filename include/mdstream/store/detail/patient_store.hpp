#pragma once

/// A store whose calls wait until a store that is out of order works again.

#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/shared_retry_budget.hpp>
#include <mdstream/store/store.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Each call of a store, blocking and repeated as a policy says. All of them leave the same behind
/// when they are repeated: a write puts whole objects. So a write that repeated its own parts in
/// vain is begun anew as well. Copies share all. Thread-safe, but never to be called on a thread of
/// the runtime that works for the store.
class patient_store {
 public:
  patient_store(any_store<> store, retry_policy policy, shared_retry_budget budget = {})
      : shared_(std::make_shared<shared>(std::move(store), policy, std::move(budget))) {}

  [[nodiscard]] std::uint64_t size(std::string_view key) const {
    return again([&](const any_store<>& store) { return store.size(key); });
  }
  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const {
    return again([&](const any_store<>& store) { return store.read(key, offset, into); });
  }
  void write(std::string_view key, bytes_view bytes) const {
    again([&](const any_store<>& store) { store.write(key, bytes); });
  }
  void publish(std::string_view key, bytes_view bytes) const {
    again([&](const any_store<>& store) { store.publish(key, bytes); });
  }
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const {
    return again([&](const any_store<>& store) { return store.list(prefix); });
  }
  void remove(std::string_view key) const {
    again([&](const any_store<>& store) { store.remove(key); });
  }
  [[nodiscard]] std::string url(std::string_view key) const { return shared_->store.url(key); }

  /// From here on nothing is repeated; who waits to do so gives up at once.
  void stop() const {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopped = true;
    shared_->changed.notify_all();
  }

 private:
  struct shared {
    shared(any_store<> s, retry_policy p, shared_retry_budget b)
        : store(std::move(s)), policy(p), budget(std::move(b)) {}

    /// False where it was stopped before.
    [[nodiscard]] bool wait(std::chrono::nanoseconds pause) {
      std::unique_lock lock(mutex);
      return !changed.wait_for(lock, pause, [this] { return stopped; });
    }

    const any_store<> store;
    const retry_policy policy;
    const shared_retry_budget budget;
    std::mutex mutex{};
    std::condition_variable changed{};
    bool stopped = false;
  };

  template <class Call>
  auto again(Call call) const -> std::invoke_result_t<Call, const any_store<>&> {
    for (call_attempts made(shared_->policy, shared_->budget);;) {
      try {
        if constexpr (std::is_void_v<decltype(call(shared_->store))>) {
          call(shared_->store);
          return made.succeeded();
        } else {
          auto result = call(shared_->store);
          made.succeeded();
          return result;
        }
      } catch (const error& e) {
        diagnostics where = e.where();
        if (is_transient(e.code())) where.is_final = false;
        const auto pause = made.pause_after(e.code(), where);
        if (!pause || !shared_->wait(*pause)) throw error(e.code(), std::move(where));
      }
    }
  }

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0::detail
