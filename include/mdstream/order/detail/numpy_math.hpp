#pragma once

/// The two array functions of NumPy whose exact behaviour shows in the order of samples: the sum of
/// doubles, and argsort, whose treatment of equal keys is that of NumPy's scalar introsort.

#include <mdstream/order/detail/exact_double.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The parts of NumPy's scalar argsort, over one array of keys and one of indices into it.
class scalar_argsort {
 public:
  explicit scalar_argsort(std::span<const double> keys, std::span<std::uint64_t> order)
      : v_(keys), t_(order) {}

  void sort() {
    if (t_.size() < 2) return;
    std::vector<range> pending;
    range at{0, t_.size() - 1, 2 * (static_cast<int>(std::bit_width(t_.size())) - 1)};
    for (;;) {
      if (at.depth < 0) {
        heap_sort(at.left, at.right - at.left + 1);
      } else {
        while (at.right > at.left && at.right - at.left > 15) pending.push_back(partition(at));
        insertion_sort(at);
      }
      if (pending.empty()) return;
      at = pending.back();
      pending.pop_back();
    }
  }

 private:
  struct range {
    std::size_t left, right;
    int depth;
  };

  [[nodiscard]] bool before(std::uint64_t a, std::uint64_t b) const { return v_[a] < v_[b]; }

  /// Splits `at` around the median of three, shrinks `at` to the smaller side, returns the larger.
  range partition(range& at) {
    const std::size_t left = at.left, right = at.right, mid = left + ((right - left) >> 1);
    if (before(t_[mid], t_[left])) std::swap(t_[mid], t_[left]);
    if (before(t_[right], t_[mid])) std::swap(t_[right], t_[mid]);
    if (before(t_[mid], t_[left])) std::swap(t_[mid], t_[left]);
    const std::uint64_t pivot = t_[mid];
    std::size_t i = left, j = right - 1;
    std::swap(t_[mid], t_[j]);
    for (;;) {
      do ++i;
      while (before(t_[i], pivot));
      do --j;
      while (before(pivot, t_[j]));
      if (i >= j) break;
      std::swap(t_[i], t_[j]);
    }
    std::swap(t_[i], t_[right - 1]);
    --at.depth;
    if (i - left < right - i) {
      at.right = i - 1;
      return {i + 1, right, at.depth};
    }
    at.left = i + 1;
    return {left, i - 1, at.depth};
  }

  void insertion_sort(const range& at) {
    for (std::size_t i = at.left + 1; i <= at.right; ++i) {
      const std::uint64_t moving = t_[i];
      std::size_t k = i;
      for (; k > at.left && before(moving, t_[k - 1]); --k) t_[k] = t_[k - 1];
      t_[k] = moving;
    }
  }

  void heap_sort(std::size_t base, std::size_t count) {
    const auto a = [&](std::size_t k) -> std::uint64_t& { return t_[base + k - 1]; };
    const auto sink = [&](std::uint64_t item, std::size_t i, std::size_t last) {
      for (std::size_t j = 2 * i; j <= last; j += j) {
        if (j < last && before(a(j), a(j + 1))) ++j;
        if (!before(item, a(j))) break;
        a(i) = a(j);
        i = j;
      }
      a(i) = item;
    };
    for (std::size_t l = count >> 1; l > 0; --l) sink(a(l), l, count);
    for (std::size_t last = count; last > 1;) {
      const std::uint64_t item = a(last);
      a(last) = a(1);
      sink(item, 1, --last);
    }
  }

  std::span<const double> v_;
  std::span<std::uint64_t> t_;
};

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::numpy {

/// `array.sum()` of float64: pairwise, eight accumulators in blocks of up to 128.
[[nodiscard]] inline double sum(std::span<const double> a) noexcept {
  using detail::exact_add;
  const std::size_t n = a.size();
  if (n < 8) {
    double total = 0.0;
    for (const double x : a) total = detail::exact_add(total, x);
    return total;
  }
  if (n > 128) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return detail::exact_add(sum(a.first(half)), sum(a.subspan(half)));
  }
  double r[8];
  for (std::size_t j = 0; j < 8; ++j) r[j] = a[j];
  const std::size_t whole = n - n % 8;
  for (std::size_t i = 8; i < whole; i += 8)
    for (std::size_t j = 0; j < 8; ++j) r[j] = detail::exact_add(r[j], a[i + j]);
  double total = detail::exact_add(
      detail::exact_add(detail::exact_add(r[0], r[1]), detail::exact_add(r[2], r[3])),
      detail::exact_add(detail::exact_add(r[4], r[5]), detail::exact_add(r[6], r[7])));
  for (std::size_t i = whole; i < n; ++i) total = detail::exact_add(total, a[i]);
  return total;
}

/// `numpy.argsort(keys)` of float64 without NaN. Up to 16 equal keys stay in order; beyond, their
/// order is that of NumPy's scalar code. O(n log n).
[[nodiscard]] inline std::vector<std::uint64_t> argsort(std::span<const double> keys) {
  std::vector<std::uint64_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  detail::scalar_argsort(keys, order).sort();
  return order;
}

}  // namespace mdstream::inline v0::numpy
