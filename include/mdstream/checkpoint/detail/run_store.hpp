#pragma once

/// The stores of a run, which carry out the requests of protocols.

#include <mdstream/async/detail/in_parallel.hpp>
#include <mdstream/checkpoint/detail/protocol.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/opened_store.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
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

/// A run's place and its mirrors, in the order in which they are read.
[[nodiscard]] std::vector<opened_store> places_of(opened_store run,
                                                  const std::vector<opened_store>& mirrors);

/// Ends pauses and calls of others.
class call_stop {
 public:
  void request() { stop_.request_stop(); }
  [[nodiscard]] bool requested() const { return stop_.stop_requested(); }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  /// Throws `errc::canceled` once it is requested.
  void require_none() const;
  void pause(std::chrono::nanoseconds time);

 private:
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
};

/// One of the stores that a run lies in. Blocking calls that wait while it is out of order, as long
/// as a policy says, or until `stop`.
class run_place {
 public:
  run_place(opened_store store, retry_policy policy, shared_retry_budget budget, call_stop& stop,
            runtime* threads);

  void read(const std::string& key, std::uint64_t offset, mutable_bytes into);
  [[nodiscard]] std::optional<std::uint64_t> size(const std::string& key);
  [[nodiscard]] std::optional<std::string> find(const std::string& key);
  void write(const std::string& key, bytes_view bytes);
  void publish(const std::string& key, const std::string& text);
  /// Not repeated: the caller reads what is there.
  bool create(const std::string& key, const std::string& text);
  [[nodiscard]] std::vector<object_info> list(const std::string& prefix);
  void remove(const std::string& key);
  [[nodiscard]] std::string url(std::string_view key) const { return store_.url(key); }

  /// One that has failed gets one attempt for each call, until one succeeds. Returns whether that
  /// is new.
  bool set_failing(bool failing) { return failing_.exchange(failing) != failing; }

 private:
  template <class Call>
  auto again(Call call) -> std::invoke_result_t<Call> {
    for (call_attempts made(failing_ ? retry_policy{.attempts = 1} : policy_, budget_);;) {
      stop_.require_none();
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
      const auto wanted = stop_.requested() ? std::nullopt : made.pause_after(code, where);
      if (!wanted) throw error(code, std::move(where));
      stop_.pause(*wanted);
    }
  }

  opened_store store_;
  retry_policy policy_;
  shared_retry_budget budget_;
  call_stop& stop_;
  std::optional<any_async_store> async_;
  std::atomic<bool> failing_{false};
};

/// The stores of a run, the nearest first: what is written goes to all of them; what any of them
/// has is there. A change that one of them fails to make is told to `warn`, and an error where all
/// do; so it is with what is read. Thread-safe, but never to be called on a thread of the runtime
/// that works for a store.
class run_store {
 public:
  /// With a runtime, objects are created conditionally where the stores can, and writes can be
  /// stopped.
  run_store(std::vector<opened_store> stores, retry_policy policy, warning_function warn = {},
            runtime* threads = nullptr);
  run_store(opened_store store, retry_policy policy, warning_function warn = {},
            runtime* threads = nullptr)
      : run_store(std::vector{std::move(store)}, policy, std::move(warn), threads) {}

  /// Fills `into` with bytes that `right` takes: from each store in turn, then from the first once
  /// more. Returns whether there were such. Throws what the last one failed with, unless that had
  /// other bytes, or too few.
  [[nodiscard]] bool read_right(const std::string& key, std::uint64_t offset, mutable_bytes into,
                                const std::function<bool()>& right);
  /// Fills `into`; throws `errc::corrupt` where the object ends before.
  void read(const std::string& key, std::uint64_t offset, mutable_bytes into);
  /// Nothing where there is no such object.
  [[nodiscard]] std::optional<std::uint64_t> size(const std::string& key);
  /// A whole object; nothing where there is none. Of several stores' one whose seal is right.
  [[nodiscard]] std::optional<std::string> find(const std::string& key);
  /// The object is as durable as the stores make it once another has been published.
  void write(const std::string& key, bytes_view bytes);
  /// With all that was written before.
  void publish(const std::string& key, const std::string& text);
  /// Of all stores, sorted by key. An object that they have with different sizes stands there with
  /// each.
  [[nodiscard]] std::vector<object_info> list(const std::string& prefix);
  [[nodiscard]] std::string url(std::string_view key) const { return places_[0].url(key); }

  /// From here on a listing may do without stores that fail. Before, all have to answer: the newest
  /// checkpoint may lie in any.
  void go_on_without() { all_must_answer_ = false; }

  /// From here on no call begins, pauses end, and so do writes that can.
  void stop() { stop_.request(); }
  [[nodiscard]] bool stopped() const { return stop_.requested(); }
  [[nodiscard]] std::uint64_t repeated() const { return budget_.repeated(); }

  /// Drives a protocol to its end.
  void run(protocol_channel& channel, protocol made);

  [[nodiscard]] protocol_answer perform(const protocol_request& request);

 private:
  static constexpr std::size_t requests_at_once = 16;

  static diagnostics where_of(const std::exception_ptr& failure);

  void carry_out(const protocol_request& request, protocol_answer& out);

  /// Calls `one(place)` for all. What fails is told, and thrown where nothing succeeds.
  template <class Call>
  void for_all(const Call& one);
  /// `one(place)` of the first that gives something; nothing where none of them has it.
  template <class Call>
  auto first_of(const Call& one) -> std::invoke_result_t<const Call&, run_place&>;

  void tell_failure(run_place& place, const error& why);
  void tell_skipped(const run_place& place, const std::string& key, const std::string& why);

  warning_function warn_;
  shared_retry_budget budget_;
  call_stop stop_;
  std::deque<run_place> places_;
  std::atomic<bool> all_must_answer_{true};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/run_store.ipp>
#endif
