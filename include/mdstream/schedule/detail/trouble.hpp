#pragma once

/// When to tell of trouble that goes on. Pure: the caller brings the clock.

#include <chrono>
#include <optional>

namespace mdstream::inline v0::detail {

/// Tells of the first failure at once, and of later ones once in `every`. Not thread-safe.
class trouble_log {
 public:
  using time = std::chrono::steady_clock::time_point;

  explicit trouble_log(std::chrono::nanoseconds every = std::chrono::minutes(1)) : every_(every) {}

  /// A request failed at `now`. Whether to tell of it.
  [[nodiscard]] bool failed(time now) noexcept;

 private:
  std::chrono::nanoseconds every_;
  std::optional<time> told_{};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/trouble.ipp>
#endif
