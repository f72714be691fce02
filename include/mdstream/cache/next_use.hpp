#pragma once

/// When shards are needed again, as whoever reads them in an order says.

#include <mdstream/version.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

namespace mdstream::inline v0 {

/// A rule that may be replaced while others ask it. Thread-safe; the rule has to be, too.
class next_use_rule {
 public:
  /// The place of the first use of `shard` at or after `from`, as `shard_cache::set_next_use_from`
  /// has it.
  using function = std::function<std::uint64_t(std::uint32_t shard, std::uint64_t from)>;

  /// When this returns, the rule before is no longer called. Empty: nobody knows an order.
  void set(function rule) {
    const std::unique_lock lock(mutex_);
    rule_ = std::move(rule);
  }

  [[nodiscard]] bool is_known() const {
    const std::shared_lock lock(mutex_);
    return rule_ != nullptr;
  }

  [[nodiscard]] std::optional<std::uint64_t> ask(std::uint32_t shard, std::uint64_t from) const {
    const std::shared_lock lock(mutex_);
    if (!rule_) return std::nullopt;
    return rule_(shard, from);
  }

 private:
  mutable std::shared_mutex mutex_;
  function rule_;
};

}  // namespace mdstream::inline v0
