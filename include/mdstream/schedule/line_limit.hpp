#pragma once

/// How many requests bring all that a line carries. Pure: the caller brings the clock.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0 {

/// Finds the fewest requests under way that bring as many bytes a second as more would: many where
/// each has to wait for a distant store, few on a slow line, where those that are needed first
/// would have to share it with all others. Measures for a while, doubles the limit as long as that
/// brings a fifth more, then halves it as long as that costs less than a tenth; looks again after a
/// pause, which grows as long as it finds nothing new. Only what was measured while requests waited
/// for the limit counts. Not thread-safe.
class line_limit {
 public:
  using time = std::chrono::nanoseconds;  ///< since any fixed moment

  explicit line_limit(std::size_t most = 64, std::size_t first = 16, std::size_t least = 2)
      : most_(std::max<std::size_t>(most, 1)),
        least_(std::min(std::max<std::size_t>(least, 1), most_)),
        limit_(std::clamp(first, least_, most_)),
        base_limit_(limit_) {}

  [[nodiscard]] std::size_t most() const noexcept { return limit_; }

  /// `bytes` came until `now`, since the last call; `bound`: requests wait for the limit.
  void came(std::uint64_t bytes, time now, bool bound) noexcept {
    if (!begun_ || !bound) return begin(now);
    bytes_ += bytes;
    const time passed = now - window_;
    if (passed < settling) {
      bytes_ = 0;  // connections that were just made are not at their rate
    } else if (passed >= settling + measuring) {
      const double seconds = std::chrono::duration<double>(passed - settling).count();
      measured(static_cast<double>(bytes_) / seconds);
      begin(now);
    }
  }

 private:
  enum class step : unsigned char { rests, grows, shrinks };

  static constexpr time settling = std::chrono::seconds(1);
  static constexpr time measuring = std::chrono::milliseconds(500);
  static constexpr unsigned shortest_rest = 8, longest_rest = 256;  // windows

  void begin(time now) noexcept {
    begun_ = true;
    window_ = now;
    bytes_ = 0;
  }

  void measured(double rate) noexcept {
    switch (step_) {
      case step::rests:
        if (rate > 2 * rate_ || rate < rate_ / 2) rest_ = 0, next_rest_ = shortest_rest;
        rate_ = rate;
        if (rest_ > 0)
          --rest_;
        else if (limit_ < most_)
          attempt(step::grows);
        else
          attempt(step::shrinks);
        break;
      case step::grows:
        if (rate < 1.2 * rate_) {
          limit_ = base_limit_;
          attempt(step::shrinks);
        } else if (keep(rate), limit_ < most_) {
          attempt(step::grows);
        } else {
          rest();
        }
        break;
      case step::shrinks:
        if (rate < 0.9 * rate_) {
          limit_ = base_limit_;
          rest();
        } else if (keep(rate), limit_ > least_) {
          attempt(step::shrinks);
        } else {
          rest();
        }
        break;
    }
  }

  /// The limit that is tried is better.
  void keep(double rate) noexcept {
    rate_ = std::max(rate, step_ == step::shrinks ? rate_ : 0.0);
    base_limit_ = limit_;
    next_rest_ = shortest_rest;
  }

  void attempt(step what) noexcept {
    base_limit_ = limit_;
    limit_ = what == step::grows ? std::min(2 * limit_, most_) : std::max(limit_ / 2, least_);
    if (limit_ == base_limit_) return rest();
    step_ = what;
  }

  void rest() noexcept {
    step_ = step::rests;
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, longest_rest);
  }

  std::size_t most_, least_;
  std::size_t limit_, base_limit_;  // as it is, and before what is tried
  step step_ = step::rests;
  double rate_ = 0;  // at `base_limit_`
  unsigned rest_ = 0, next_rest_ = shortest_rest;
  bool begun_ = false;
  time window_{0};
  std::uint64_t bytes_ = 0;
};

}  // namespace mdstream::inline v0
