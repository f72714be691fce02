#pragma once

/// The store of a run, which carries out the requests of protocols.

#include <mdstream/async/runtime.hpp>
#include <mdstream/checkpoint/detail/protocol.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/opened_store.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Calls `one(i)` for each i below `count`, on up to `threads` threads, this one among them. Throws
/// the first failure once all have ended; after it none is begun.
void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t)>& one);

/// Blocking calls that wait for a store that is out of order, as long as a policy says, or until
/// `stop`. Thread-safe, but never to be called on a thread of the runtime that works for the store.
class run_store {
 public:
  /// With a runtime, objects are created conditionally where the store can, and writes can be
  /// stopped.
  run_store(opened_store store, retry_policy policy, warning_function warn = {},
            runtime* threads = nullptr);

  /// Fills `into`; throws `errc::corrupt` where the object ends before.
  void read(const std::string& key, std::uint64_t offset, mutable_bytes into);
  /// Nothing where there is no such object.
  [[nodiscard]] std::optional<std::uint64_t> size(const std::string& key);
  /// A whole object; nothing where there is none.
  [[nodiscard]] std::optional<std::string> find(const std::string& key);
  /// The object is as durable as the store makes it once another has been published.
  void write(const std::string& key, bytes_view bytes);
  /// With all that was written before.
  void publish(const std::string& key, const std::string& text);
  [[nodiscard]] std::vector<object_info> list(const std::string& prefix);
  [[nodiscard]] std::string url(std::string_view key) const { return store_.url(key); }

  /// From here on no call begins, pauses end, and so do writes that can.
  void stop() { stop_.request_stop(); }
  [[nodiscard]] bool stopped() const { return stop_.stop_requested(); }
  [[nodiscard]] std::uint64_t repeated() const { return budget_.repeated(); }

  /// Drives a protocol to its end.
  void run(protocol_channel& channel, protocol made);

  [[nodiscard]] protocol_answer perform(const protocol_request& request);

 private:
  static constexpr std::size_t requests_at_once = 16;

  static diagnostics where_of(const std::exception_ptr& failure);

  void carry_out(const protocol_request& request, protocol_answer& out);

  /// Not repeated: who asked reads what is there.
  bool create(const std::string& key, const std::string& text);

  void pause(std::chrono::nanoseconds time);
  void require_not_stopped() const;

  template <class Call>
  auto again(Call call) -> std::invoke_result_t<Call> {
    for (call_attempts made(policy_, budget_);;) {
      require_not_stopped();
      diagnostics where;
      std::error_code code;
      try {
        if constexpr (std::is_void_v<std::invoke_result_t<Call>>) {
          call();
          return made.succeeded();
        } else {
          auto result = call();
          made.succeeded();
          return result;
        }
      } catch (const error& e) {
        code = e.code();
        where = e.where();
      }
      // A write that repeated its own parts in vain is begun anew.
      if (is_transient(code)) where.is_final = false;
      const auto wanted = stopped() ? std::nullopt : made.pause_after(code, where);
      if (!wanted) throw error(code, std::move(where));
      pause(*wanted);
    }
  }

  opened_store store_;
  retry_policy policy_;
  shared_retry_budget budget_;
  std::optional<any_async_store> async_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/run_store.ipp>
#endif
