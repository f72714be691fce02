#pragma once

/// The extents of an array, outermost first, in a fixed amount of memory so that they can be
/// compared and computed while compiling.

#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>

namespace mdstream::inline v0 {

/// Up to 64 extents in C order (the last varies fastest). Rank 0 is a single value.
class array_shape {
 public:
  static constexpr std::size_t max_rank = 64;

  constexpr array_shape() = default;
  /// Precondition: at most `max_rank` extents.
  constexpr array_shape(std::initializer_list<std::uint64_t> extents) {
    for (const std::uint64_t extent : extents) push_back(extent);
  }

  /// Adds an innermost extent. Throws std::length_error beyond `max_rank`.
  constexpr void push_back(std::uint64_t extent) {
    if (rank_ == max_rank) throw std::length_error("an array has at most 64 dimensions");
    extents_[rank_++] = extent;
  }

  [[nodiscard]] constexpr std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return rank_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return rank_ == 0; }
  [[nodiscard]] constexpr std::uint64_t operator[](std::size_t i) const noexcept {
    return extents_[i];
  }
  [[nodiscard]] constexpr const std::uint64_t* begin() const noexcept { return extents_; }
  [[nodiscard]] constexpr const std::uint64_t* end() const noexcept { return extents_ + rank_; }

  /// The product of the extents, 1 for rank 0; the largest value where it does not fit.
  [[nodiscard]] constexpr std::uint64_t elements() const noexcept {
    std::uint64_t product = 1;
    for (const std::uint64_t extent : *this) {
      if (extent == 0) return 0;
      if (product > std::numeric_limits<std::uint64_t>::max() / extent)
        product = std::numeric_limits<std::uint64_t>::max();
      else
        product *= extent;
    }
    return product;
  }

  friend constexpr bool operator==(const array_shape& a, const array_shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t i = 0; i < a.rank_; ++i)
      if (a.extents_[i] != b.extents_[i]) return false;
    return true;
  }

 private:
  std::uint64_t extents_[max_rank]{};
  std::size_t rank_ = 0;
};

/// "3,4"; empty for rank 0.
[[nodiscard]] inline std::string to_string(const array_shape& extents) {
  std::string out;
  for (const std::uint64_t extent : extents) {
    if (!out.empty()) out += ',';
    out += std::to_string(extent);
  }
  return out;
}

}  // namespace mdstream::inline v0
