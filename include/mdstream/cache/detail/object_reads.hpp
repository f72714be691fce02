#pragma once

/// Reads ranges of several objects side by side, each of one version.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/shard_maker.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/store/detail/bounded_calls.hpp>
#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/detail/stops.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::detail {

/// How the requests of object reads are made.
struct object_read_rules {
  std::size_t range_bytes = ranged_read_options{}.range_bytes;
  retry_policy requests{};
  shared_retry_budget budget{};
};

/// Made by `start`, it keeps itself alive until it has called `done` with the bytes of each range,
/// or with the first failure, in which case no other read goes on. `where` stays until then. An
/// object that became another is `errc::corrupt`, naming it and both versions.
class object_reads : public std::enable_shared_from_this<object_reads> {
  struct access {};

 public:
  using handler = unique_function<void(std::error_code, std::vector<part_of_pages>)>;

  /// `making` asked for the ranges, and tells what a change is; it stays until `done`.
  static void start(runtime& threads, bounded_calls calls, const shard_making& making,
                    std::vector<object_range> ranges, object_read_rules how,
                    const std::stop_token& stop, diagnostics& where, handler done);

  object_reads(access, runtime& threads, bounded_calls calls, const shard_making& making,
               std::vector<object_range> ranges, object_read_rules how, const std::stop_token& stop,
               diagnostics& where, handler done);

 private:
  static constexpr std::size_t most_at_once = 16;
  /// Smaller ranges share pages: new ones for each cost more than what they are read from.
  static constexpr std::uint64_t own_pages_from = std::uint64_t{1} << 20;

  void begin();
  void share_pages();
  /// The next range, or the end of one of those that go side by side.
  void go_on();
  void read(std::size_t number);
  /// Tells whether the object became another.
  void ask(std::size_t number);
  void fail(std::error_code code, const diagnostics& why);
  void end_one();

  runtime& threads_;
  const bounded_calls calls_;
  const shard_making& making_;
  const std::vector<object_range> ranges_;
  const object_read_rules how_;
  diagnostics& where_;
  handler done_;
  std::vector<part_of_pages> bytes_;
  std::deque<diagnostics> each_where_;
  std::mutex mutex_;
  std::size_t next_ = 0, going_ = 0;
  std::error_code failure_;
  std::stop_source stop_;
  std::stop_callback<passes_stop> outer_;  // after what it stops
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/object_reads.ipp>
#endif
