#pragma once

/// How many requests bring all that a line carries. Pure: the caller brings the clock.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::detail {

/// Finds the fewest requests under way that bring as many bytes a second as more would: many where
/// each has to wait for a distant store, few on a slow line, where those that are needed first
/// would have to share it with all others. Measures for a while, doubles the limit as long as that
/// brings a fifth more, then halves it as long as that costs less than a tenth; looks again after a
/// pause, which grows as long as it finds nothing new. Only what was measured while requests waited
/// for the limit counts. Not thread-safe.
class line_limit {
 public:
  using time = std::chrono::nanoseconds;  ///< since any fixed moment

  explicit line_limit(std::size_t most = 64, std::size_t first = 16, std::size_t least = 2);

  [[nodiscard]] std::size_t most() const noexcept { return limit_; }

  /// `bytes` came until `now`, since the last call; `bound`: requests wait for the limit.
  void came(std::uint64_t bytes, time now, bool bound) noexcept;

 private:
  enum class step : unsigned char { rests, grows, shrinks };

  static constexpr time settling = std::chrono::seconds(1);
  static constexpr time measuring = std::chrono::milliseconds(500);
  static constexpr unsigned shortest_rest = 8, longest_rest = 256;  // windows

  void begin(time now) noexcept;

  void measured(double rate) noexcept;

  /// The limit that is tried is better.
  void keep(double rate) noexcept;

  void attempt(step what) noexcept;

  void rest() noexcept;

  std::size_t most_, least_;
  std::size_t limit_, base_limit_;  // as it is, and before what is tried
  step step_ = step::rests;
  double rate_ = 0;  // at `base_limit_`
  unsigned rest_ = 0, next_rest_ = shortest_rest;
  bool begun_ = false;
  time window_{0};
  std::uint64_t bytes_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/line_limit.ipp>
#endif
