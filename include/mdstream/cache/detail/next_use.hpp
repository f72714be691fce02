#pragma once

/// When shards are needed again, as the readers say that read them in an order.

#include <cstdint>
#include <functional>
#include <optional>
#include <shared_mutex>

namespace mdstream::inline v0::detail {

/// A rule that may be replaced while others ask it. Thread-safe; the rule has to be, too.
class next_use_rule {
 public:
  /// The place of the first use of `shard` at or after `from`, as `shard_cache::set_next_use`
  /// has it.
  using function = std::function<std::uint64_t(std::uint32_t shard, std::uint64_t from)>;

  /// When this returns, the rule before is no longer called. Empty: nobody knows an order.
  void set(function rule);

  [[nodiscard]] bool is_known() const;

  [[nodiscard]] std::optional<std::uint64_t> ask(std::uint32_t shard, std::uint64_t from) const;

 private:
  mutable std::shared_mutex mutex_;
  function rule_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/next_use.ipp>
#endif
