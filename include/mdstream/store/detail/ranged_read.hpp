#pragma once

/// Reads one large object in parallel ranges that land in their place, in memory or elsewhere.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace mdstream::inline v0::detail {

/// Where ranges land: memory, or what a function does with bytes and their place. `put` is called
/// from several threads at a time, as they come, and may do what a `byte_taker` may; what it throws
/// fails the range. It may be given the same bytes again where a range is repeated.
struct ranged_target {
  mutable_bytes into{};
  std::function<void(std::uint64_t offset, bytes_view bytes)> put{};  ///< in place of `into`
  std::uint64_t bytes = 0;

  [[nodiscard]] static ranged_target memory(mutable_bytes into) {
    return {.into = into, .bytes = into.size()};
  }
};

struct ranged_read_options {
  std::uint64_t from = 0;  ///< where in the object the bytes begin
  std::size_t range_bytes = std::size_t{8} << 20;
  std::size_t at_once = 8;  ///< ranges under way
  /// For each range. An attempt that brought bytes counts as the first again, and the next one
  /// goes on behind them.
  retry_policy retry{
      .attempts = 4, .pause = std::chrono::milliseconds(200), .jitter = retry_jitter::decorrelated};
  /// For all ranges together, and for what else shares it. To go on behind bytes that came repeats
  /// nothing and costs nothing of it.
  shared_retry_budget budget{};
  /// Called after each range, from any thread, one at a time: number of the range.
  unique_function<void(std::size_t)> on_range{};
  /// Ranges that need not be read; none where it is empty.
  unique_function<bool(std::size_t)> is_there{};
};

/// Reads `into.bytes` of the object that is `held`, from `options.from` on; `into.put` only for
/// stores that stream. The object is held over all ranges, so that what lands is one state of it.
/// One of which all ranges are read is held against the CRC32C of `held`, where it has one: other
/// bytes are `errc::corrupt`. Completes with the first failure after which no range could go on; by
/// then nothing is written any more. The memory and `where` stay until `done`; the runtime outlives
/// it.
void async_read_ranges(runtime& threads, any_async_store store, std::string key,
                       object_version held, ranged_target into, ranged_read_options options,
                       std::stop_token stop, diagnostics& where, store_handler<> done);
void async_read_ranges(runtime& threads, any_async_store store, std::string key,
                       object_version held, mutable_bytes into, ranged_read_options options,
                       std::stop_token stop, diagnostics& where, store_handler<> done);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/ranged_read.ipp>
#endif
