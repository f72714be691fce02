#pragma once

/// From a sample's number in the whole dataset to its shard, in constant time for shards of similar
/// size, with one multiplication for shards of one size.

#include <mdstream/version.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

/// A sample's place: the shard's number over all streams, and the sample's number within it.
struct sample_location {
  std::uint32_t shard = 0;
  std::uint32_t index = 0;

  friend bool operator==(const sample_location&, const sample_location&) = default;
};

/// Built once from the shards' sample counts; lookups are const and thread-safe. About 12 bytes a
/// shard. It is asked for each sample; the order, which looks for a shard once in many samples, has
/// first samples of its own (`shard_table`), without the buckets.
class shard_locator {
 public:
  shard_locator() = default;
  explicit shard_locator(std::span<const std::uint64_t> shard_samples) {
    begin_.reserve(shard_samples.size() + 1);
    std::uint64_t total = 0;
    for (const std::uint64_t samples : shard_samples) begin_.push_back(total += samples);
    inverse_ = inverse_of_even(shard_samples, total);
    index_buckets();
  }

  [[nodiscard]] std::uint64_t samples() const noexcept { return begin_.back(); }
  [[nodiscard]] std::size_t shards() const noexcept { return begin_.size() - 1; }
  [[nodiscard]] std::uint64_t shard_samples(std::uint32_t shard) const noexcept {
    return begin_[shard + 1] - begin_[shard];
  }
  /// `first_sample(shards())` is the number of all.
  [[nodiscard]] std::uint64_t first_sample(std::uint32_t shard) const noexcept {
    return begin_[shard];
  }

  /// Precondition of both: `sample < samples()`.
  [[nodiscard]] sample_location operator()(std::uint64_t sample) const noexcept {
    const std::uint32_t shard = shard_of(sample);
    return {shard, static_cast<std::uint32_t>(sample - begin_[shard])};
  }
  [[nodiscard, gnu::always_inline]] std::uint32_t shard_of(std::uint64_t sample) const noexcept {
    if (inverse_ == 0) [[unlikely]]
      return shard_among_uneven(sample);
    return static_cast<std::uint32_t>((wide{sample} * inverse_) >> 64);
  }

 private:
  __extension__ using wide = unsigned __int128;

  /// 2^64 / d, rounded up, where every shard but the last has d samples, and the last no more; else
  /// 0. The upper half of its product with n is then n / d: it is too much by n * e / (d * 2^64),
  /// where e < d is what was added by rounding, and below 1 / d if n * e is below 2^64.
  [[nodiscard]] static std::uint64_t inverse_of_even(std::span<const std::uint64_t> sizes,
                                                     std::uint64_t total) noexcept {
    if (sizes.empty()) return 0;
    const std::uint64_t size = sizes.front();
    const auto full = sizes.first(sizes.size() - 1);
    if (size < 2 || sizes.back() > size || wide{total} * size >> 64 != 0) return 0;
    if (!std::ranges::all_of(full, [size](std::uint64_t each) { return each == size; })) return 0;
    return static_cast<std::uint64_t>(((wide{1} << 64) + size - 1) / size);
  }

  [[nodiscard]] std::uint32_t shard_among_uneven(std::uint64_t sample) const noexcept {
    const std::uint64_t* const begin = begin_.data();
    std::uint32_t shard = first_shard_[sample >> bucket_bits_];
    shard += begin[shard + 1] <= sample ? 1 : 0;  // no branch: nobody can predict it
    if (begin[shard + 1] <= sample) [[unlikely]]
      shard = search(shard, sample);
    return shard;
  }

  /// The shard of a sample of the same bucket, behind `shard`.
  [[nodiscard, gnu::noinline]] std::uint32_t search(std::uint32_t shard,
                                                    std::uint64_t sample) const noexcept {
    const std::uint32_t last = first_shard_[(sample >> bucket_bits_) + 1];
    const auto end = begin_.begin() + last + 1;
    return static_cast<std::uint32_t>(std::upper_bound(begin_.begin() + shard, end, sample) -
                                      begin_.begin() - 1);
  }

  // first_shard_[b] is the shard of sample b << bucket_bits_; about as many buckets as shards, so
  // that a bucket of an even dataset spans two shards.
  void index_buckets() {
    const std::uint64_t shards = begin_.size() - 1;
    const std::uint64_t total = begin_.back();
    if (total == 0) return;
    bucket_bits_ =
        static_cast<unsigned>(std::bit_width(total / std::max<std::uint64_t>(shards, 1)));
    const std::uint64_t buckets = (total >> bucket_bits_) + 1;
    first_shard_.reserve(buckets + 1);
    std::uint32_t shard = 0;
    for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
      while (begin_[shard + 1] <= bucket << bucket_bits_ && shard + 1 < shards) ++shard;
      first_shard_.push_back(shard);
    }
    first_shard_.push_back(static_cast<std::uint32_t>(shards - 1));
  }

  std::vector<std::uint64_t> begin_{0};
  std::vector<std::uint32_t> first_shard_;
  unsigned bucket_bits_ = 0;
  std::uint64_t inverse_ = 0;
};

}  // namespace mdstream::inline v0::detail
