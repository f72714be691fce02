#pragma once

#include <mdstream/cache/detail/next_use.hpp>
#include <mdstream/version.hpp>

#include <mutex>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void next_use_rule::set(function rule) {
  const std::unique_lock lock(mutex_);
  rule_ = std::move(rule);
}

MDSTREAM_INLINE bool next_use_rule::is_known() const {
  const std::shared_lock lock(mutex_);
  return rule_ != nullptr;
}

MDSTREAM_INLINE std::optional<std::uint64_t> next_use_rule::ask(std::uint32_t shard,
                                                                std::uint64_t from) const {
  const std::shared_lock lock(mutex_);
  if (!rule_) return std::nullopt;
  return rule_(shard, from);
}

}  // namespace mdstream::inline v0::detail
