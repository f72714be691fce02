#pragma once

/// NumPy's `default_rng`, bit for bit: the PCG64 generator of Melissa O'Neill seeded by NumPy's
/// SeedSequence, and the methods that orders of samples are made with. Usable on its own.
///
/// Equal to NumPy 1.17 to 2.x on every platform whose NumPy uses no fused multiply-add.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/exact_double.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mdstream::inline v0::numpy {

__extension__ using uint128 = unsigned __int128;

/// The four words that NumPy's SeedSequence makes of a seed's base-2^32 digits (least significant
/// first; the seed 0 has one digit, 0).
[[nodiscard]] inline std::array<std::uint32_t, 4> seed_pool(std::span<const std::uint32_t> digits) {
  std::uint32_t constant = 0x43b0d7e5;
  const auto hash = [&constant](std::uint32_t v) {
    v ^= constant;
    constant *= 0x931e8875;
    v *= constant;
    return v ^ (v >> 16);
  };
  const auto mix = [](std::uint32_t x, std::uint32_t y) {
    const std::uint32_t r = 0xca01f9dd * x - 0x4973f715 * y;
    return r ^ (r >> 16);
  };
  std::array<std::uint32_t, 4> pool{};
  for (std::size_t i = 0; i < 4; ++i) pool[i] = hash(i < digits.size() ? digits[i] : 0);
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to)
      if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
  for (std::size_t i = 4; i < digits.size(); ++i)
    for (std::uint32_t& word : pool) word = mix(word, hash(digits[i]));
  return pool;
}

/// PCG XSL RR 128/64: the raw generator.
class pcg64 {
 public:
  static constexpr uint128 multiplier =
      (static_cast<uint128>(0x2360ed051fc65da4) << 64) | 0x4385df649fccf645;

  explicit pcg64(std::span<const std::uint32_t> pool) {
    std::uint32_t constant = 0x8b51f9dd;
    std::array<std::uint64_t, 8> w{};
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint32_t v = pool[i % 4] ^ constant;
      constant *= 0x58f38ded;
      v *= constant;
      w[i] = v ^ (v >> 16);
    }
    const auto wide = [&w](std::size_t k) {
      const std::uint64_t high = w[2 * k] | (w[2 * k + 1] << 32);
      const std::uint64_t low = w[2 * k + 2] | (w[2 * k + 3] << 32);
      return (static_cast<uint128>(high) << 64) | low;
    };
    increment_ = (wide(2) << 1) | 1;
    step();
    state_ += wide(0);
    step();
  }
  pcg64(uint128 state, uint128 increment) noexcept : state_(state), increment_(increment) {}

  std::uint64_t operator()() noexcept {
    step();
    return output(state_);
  }

  /// Goes `draws` values ahead in O(log draws); `draws` wraps, so that -n goes back.
  void advance(uint128 draws) noexcept {
    uint128 mul = 1, add = 0, base_mul = multiplier, base_add = increment_;
    for (; draws != 0; draws >>= 1) {
      if (draws & 1) {
        mul *= base_mul;
        add = add * base_mul + base_add;
      }
      base_add *= base_mul + 1;
      base_mul *= base_mul;
    }
    state_ = state_ * mul + add;
  }

  [[nodiscard]] uint128 state() const noexcept { return state_; }
  [[nodiscard]] uint128 increment() const noexcept { return increment_; }

  /// The value that belongs to a state.
  [[nodiscard]] static std::uint64_t output(uint128 state) noexcept {
    const auto folded = static_cast<std::uint64_t>(state >> 64) ^ static_cast<std::uint64_t>(state);
    return std::rotr(folded, static_cast<int>(static_cast<std::uint64_t>(state >> 122)));
  }

 private:
  void step() noexcept { state_ = state_ * multiplier + increment_; }

  uint128 state_ = 0;
  uint128 increment_ = 0;
};

/// Everything that distinguishes a generator from another of the same seed.
struct snapshot {
  uint128 state = 0;
  std::uint32_t half = 0;  ///< the buffered half of a 64-bit value, where there is one
  bool has_half = false;

  friend bool operator==(const snapshot&, const snapshot&) = default;
};

/// `numpy.random.default_rng(seed)`. Not thread-safe; copies go on independently.
class generator {
 public:
  explicit generator(std::uint64_t seed)
      : generator(std::span<const std::uint32_t>(
                      std::array<std::uint32_t, 2>{static_cast<std::uint32_t>(seed),
                                                   static_cast<std::uint32_t>(seed >> 32)})
                      .first(seed >> 32 ? 2 : 1)) {}
  /// A seed of any length, as base-2^32 digits, least significant first, without leading zeros.
  explicit generator(std::span<const std::uint32_t> digits) : bits_(seed_pool(digits)) {}

  [[nodiscard]] snapshot save() const noexcept { return {bits_.state(), half_, has_half_}; }
  /// Goes to where a generator of the same seed was.
  void restore(const snapshot& at) noexcept {
    bits_ = pcg64(at.state, bits_.increment());
    half_ = at.half;
    has_half_ = at.has_half;
  }
  /// Skips 64-bit values; the buffered half stays.
  void advance(uint128 draws) noexcept { bits_.advance(draws); }
  [[nodiscard]] const pcg64& bits() const noexcept { return bits_; }
  /// Goes to where a copy of `bits()` has gone meanwhile; the buffered half stays.
  void continue_from(const pcg64& bits) noexcept { bits_ = bits; }
  [[nodiscard]] bool has_half() const noexcept { return has_half_; }

  std::uint64_t next64() noexcept { return bits_(); }

  /// Half of a 64-bit value: first its low, then its high half, also across other calls.
  std::uint32_t next32() noexcept {
    if (has_half_) {
      has_half_ = false;
      return std::exchange(half_, 0);
    }
    const std::uint64_t whole = bits_();
    half_ = static_cast<std::uint32_t>(whole >> 32);
    has_half_ = true;
    return static_cast<std::uint32_t>(whole);
  }

  /// Uniform on [0, 1).
  double next_double() noexcept {
    return static_cast<double>(bits_() >> 11) * (1.0 / 9007199254740992.0);
  }

  /// Uniform on [0, max] by masked rejection: what `shuffle` and `permutation` draw with.
  std::uint64_t interval(std::uint64_t max) noexcept {
    if (max == 0) return 0;
    const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(max);
    std::uint64_t value = 0;
    if (max <= 0xffffffff) {
      do value = next32() & mask;
      while (value > max);
    } else {
      do value = next64() & mask;
      while (value > max);
    }
    return value;
  }

  /// Uniform on [0, max] by Lemire's multiplication: what `integers` and `choice` draw with.
  std::uint64_t bounded(std::uint64_t max) noexcept {
    if (max == 0) return 0;
    if (max == 0xffffffff) return next32();
    if (max == ~std::uint64_t{0}) return next64();
    return max < 0xffffffff ? bounded32(static_cast<std::uint32_t>(max)) : bounded64(max);
  }

  /// Uniform on [low, high). Throws `errc::invalid_argument` where that is empty.
  std::int64_t integers(std::int64_t low, std::int64_t high) {
    if (low >= high)
      detail::refuse("no integer lies from " + std::to_string(low) + " up to but not including " +
                     std::to_string(high));
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + bounded(range - 1));
  }

  /// Uniform on [low, high): `low + (high - low) * u` with two roundings.
  /// Throws `errc::invalid_argument` where the range is infinite or negative.
  void uniform(double low, double high, std::span<double> out) {
    const double range = high - low;
    if (!detail::is_finite(range) || range < 0)
      detail::refuse("uniform from " + std::to_string(low) + " to " + std::to_string(high));
    for (double& x : out) x = detail::exact_add(low, detail::exact_mul(range, next_double()));
  }

  template <class T>
  void shuffle(std::span<T> items) {
    // Partners are drawn some ahead of the swaps, so that their cache misses overlap.
    constexpr std::size_t ahead = 32;
    std::size_t partners[ahead];
    for (std::size_t i = items.size(); i > 1;) {
      const std::size_t count = std::min(ahead, i - 1);
      for (std::size_t k = 0; k < count; ++k) {
        partners[k] = static_cast<std::size_t>(interval(i - 1 - k));
        __builtin_prefetch(&items[partners[k]], 1);
      }
      using std::swap;
      for (std::size_t k = 0; k < count; ++k) swap(items[--i], items[partners[k]]);
    }
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    shuffle(std::span<T>(items));
  }

  /// 0 … n-1 in random order. O(n) memory.
  template <class T = std::int64_t>
  [[nodiscard]] std::vector<T> permutation(std::uint64_t n) {
    std::vector<T> items(n);
    std::iota(items.begin(), items.end(), T{0});
    shuffle(items);
    return items;
  }

  /// `count` different numbers below `population`. O(count) memory, or O(population) where more
  /// than a fiftieth is taken. Throws `errc::invalid_argument` where count > population.
  [[nodiscard]] std::vector<std::uint64_t> choice(std::uint64_t population, std::uint64_t count) {
    if (count > population)
      detail::refuse("cannot choose " + std::to_string(count) + " of " +
                     std::to_string(population) + " without repeating");
    return population > 10000 && count > population / 50 ? choice_by_shuffle(population, count)
                                                         : choice_by_floyd(population, count);
  }

 private:
  std::uint64_t bounded32(std::uint32_t max) noexcept {
    const std::uint32_t count = max + 1;
    std::uint64_t product = static_cast<std::uint64_t>(next32()) * count;
    if (static_cast<std::uint32_t>(product) < count) {
      const std::uint32_t threshold = (0xffffffffU - max) % count;
      while (static_cast<std::uint32_t>(product) < threshold)
        product = static_cast<std::uint64_t>(next32()) * count;
    }
    return product >> 32;
  }

  std::uint64_t bounded64(std::uint64_t max) noexcept {
    const std::uint64_t count = max + 1;
    uint128 product = static_cast<uint128>(next64()) * count;
    if (static_cast<std::uint64_t>(product) < count) {
      const std::uint64_t threshold = (~std::uint64_t{0} - max) % count;
      while (static_cast<std::uint64_t>(product) < threshold)
        product = static_cast<uint128>(next64()) * count;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Fisher-Yates with the other bounded method, from the end down to `first`.
  void shuffle_down_to(std::vector<std::uint64_t>& items, std::uint64_t first) {
    for (std::size_t i = items.size(); i-- > first;) std::swap(items[i], items[bounded(i)]);
  }

  std::vector<std::uint64_t> choice_by_shuffle(std::uint64_t population, std::uint64_t count) {
    std::vector<std::uint64_t> items(population);
    std::iota(items.begin(), items.end(), std::uint64_t{0});
    shuffle_down_to(items, population == count ? 1 : population - count);
    items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(count));
    return items;
  }

  std::vector<std::uint64_t> choice_by_floyd(std::uint64_t population, std::uint64_t count) {
    std::vector<std::uint64_t> chosen;
    chosen.reserve(count);
    std::unordered_set<std::uint64_t> seen(count);
    for (std::uint64_t j = population - count; j < population; ++j) {
      const std::uint64_t drawn = bounded(j);
      const std::uint64_t value = seen.insert(drawn).second ? drawn : j;
      seen.insert(value);
      chosen.push_back(value);
    }
    shuffle_down_to(chosen, 1);
    return chosen;
  }

  pcg64 bits_;
  std::uint32_t half_ = 0;
  bool has_half_ = false;
};

}  // namespace mdstream::inline v0::numpy
