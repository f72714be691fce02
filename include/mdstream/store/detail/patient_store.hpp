#pragma once

/// A store whose calls wait until a store that is out of order works again.

#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/opened_store.hpp>
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
  patient_store(opened_store store, retry_policy policy, shared_retry_budget budget = {});

  [[nodiscard]] std::uint64_t size(std::string_view key) const;
  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const;
  void write(std::string_view key, bytes_view bytes) const;
  void publish(std::string_view key, bytes_view bytes) const;
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const;
  void remove(std::string_view key) const;
  [[nodiscard]] std::string url(std::string_view key) const { return shared_->store.url(key); }

  /// From here on nothing is repeated; calls that wait to do so give up at once.
  void stop() const;

 private:
  struct shared {
    shared(opened_store s, retry_policy p, shared_retry_budget b)
        : store(std::move(s)), policy(p), budget(std::move(b)) {}

    /// False where it was stopped before.
    [[nodiscard]] bool wait(std::chrono::nanoseconds pause);

    const opened_store store;
    const retry_policy policy;
    const shared_retry_budget budget;
    std::mutex mutex{};
    std::condition_variable changed{};
    bool stopped = false;
  };

  template <class Call>
  auto again(Call call) const -> std::invoke_result_t<Call, const opened_store&> {
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

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/patient_store.ipp>
#endif
