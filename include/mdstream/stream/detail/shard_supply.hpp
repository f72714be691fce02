#pragma once

/// What the delivery of batches needs of a cache of shards.

#include <mdstream/cache/detail/slots.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/shard_samples.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <system_error>

namespace mdstream::inline v0::detail {

/// The shards of all streams, numbered one stream after another. One virtual call a shard.
/// Thread-safe. Members are those of `shard_cache`, but for `view`.
class shard_supply {
 public:
  using acquire_handler = unique_function<void(std::error_code, shard_ref)>;
  using prefetch_handler = unique_function<void(std::error_code)>;

  shard_supply() = default;
  shard_supply(const shard_supply&) = delete;
  shard_supply& operator=(const shard_supply&) = delete;
  virtual ~shard_supply() = default;

  [[nodiscard]] virtual std::size_t shards() const = 0;
  [[nodiscard]] virtual bool limited() const = 0;
  [[nodiscard]] virtual std::uint64_t footprint(std::uint32_t shard) const = 0;
  [[nodiscard]] virtual std::size_t fetches_at_once() const = 0;
  [[nodiscard]] virtual bool may_hold(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual std::optional<shard_ref> try_acquire(std::uint32_t shard) = 0;
  virtual void async_acquire(std::uint32_t shard, std::stop_token stop, diagnostics& where,
                             acquire_handler done) = 0;
  virtual void async_prefetch(std::uint32_t shard, std::stop_token stop, diagnostics& where,
                              prefetch_handler done) = 0;
  virtual void unpin(std::uint32_t shard) = 0;
  virtual bool drop(std::uint32_t shard) = 0;

  /// The samples of a mapped shard. Throws `errc::corrupt` where its bytes are no shard.
  [[nodiscard]] virtual shard_samples view(const shard_ref& shard, std::uint32_t number) const = 0;
};

}  // namespace mdstream::inline v0::detail
