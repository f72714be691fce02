#pragma once

/// MDS shards as views over mapped bytes, and their builder.
///
/// A shard is: u32 n; n + 1 u32 offsets from the start of the file, so that sample i is
/// [offsets[i], offsets[i + 1]); the configuration as JSON text, which readers ignore because the
/// index is authoritative; the samples. All integers are little-endian.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace mdstream::inline v0 {

/// A whole raw MDS shard. Owns nothing: valid as long as the bytes are. Safe from any thread.
class mds_shard_view {
 public:
  mds_shard_view() = default;

  /// `shard`: the bytes of the file; `samples`: how many the index says it has; `sample_size`: the
  /// bytes of every sample where all columns are of fixed size, else 0. O(1): offsets are checked
  /// as they are used, and not needed at all where samples have one size. Throws errc::corrupt,
  /// naming the byte, if the shard is shorter than its header, or holds another number of samples
  /// or samples of another size.
  mds_shard_view(bytes_view shard, std::uint64_t samples, std::uint64_t sample_size = 0)
      : shard_(shard), samples_(samples), sample_size_(sample_size), step_(sample_size) {
    if (shard.size() < 4 || (shard.size() - 4) / 4 < samples_ + 1) fail_header();
    if (load<std::uint32_t>(shard.data()) != samples_) fail_samples();
    if (sample_size_ == 0) return;
    first_ = load<std::uint32_t>(shard.data() + 4);
    std::uint64_t expected = 0;
    if (first_ < 8 + 4 * samples_ || first_ > shard.size() ||
        __builtin_mul_overflow(samples_, sample_size_, &expected) ||
        expected != shard.size() - first_)
      fail_sizes();
  }

  /// Samples of `sample_size` bytes without a header, which begin every `step` bytes from the first
  /// byte on and may overlap. Throws errc::corrupt if `bytes` do not end with the last of them.
  [[nodiscard]] static mds_shard_view in_place(bytes_view bytes, std::uint64_t samples,
                                               std::uint64_t sample_size, std::uint64_t step) {
    mds_shard_view out;
    out.shard_ = bytes;
    out.samples_ = samples;
    out.sample_size_ = sample_size;
    out.step_ = step;
    std::uint64_t last = 0;
    if (samples == 0 || sample_size > bytes.size() ||
        __builtin_mul_overflow(samples - 1, step, &last) || last != bytes.size() - sample_size)
      out.fail_sizes();
    return out;
  }

  /// Checks at once all offsets that `operator[]` does not look at: those of a shard whose samples
  /// have one size. Throws errc::corrupt naming sample and byte. O(size()).
  void check_offsets() const {
    if (first_ == 0) return;
    std::uint64_t differ = 0;
    for (std::uint64_t i = 0; i <= samples_; ++i) differ |= offset(i) ^ (first_ + i * sample_size_);
    if (differ == 0) return;
    std::uint64_t bad = 1;
    while (bad < samples_ && offset(bad) == first_ + bad * sample_size_) ++bad;
    fail_offsets(bad - 1, static_cast<std::uint32_t>(offset(bad - 1)),
                 static_cast<std::uint32_t>(offset(bad)));
  }

  /// The number of samples.
  [[nodiscard]] std::uint64_t size() const noexcept { return samples_; }
  [[nodiscard]] bool empty() const noexcept { return samples_ == 0; }

  /// The bytes of sample `i`.
  /// Throws errc::out_of_range beyond the end, errc::corrupt if its offsets run backwards, are
  /// equal, or leave the shard; both name sample and byte.
  [[nodiscard]] bytes_view operator[](std::uint64_t i) const {
    if (i >= samples_) fail_index(i);
    if (sample_size_ != 0)
      return {shard_.data() + first_ + i * step_, static_cast<std::size_t>(sample_size_)};
    const std::byte* at = shard_.data() + 4 + 4 * static_cast<std::size_t>(i);
    const std::uint32_t begin = load<std::uint32_t>(at);
    const std::uint32_t end = load<std::uint32_t>(at + 4);
    if (begin >= end || end > shard_.size() || begin < 8 + 4 * samples_)
      fail_offsets(i, begin, end);
    return {shard_.data() + begin, end - begin};
  }

  /// The file offset of the first sample. Precondition: samples have one size.
  [[nodiscard]] std::uint64_t first_sample() const noexcept { return first_; }

  /// The file offset of sample `i`. Precondition: i < size(), and the shard has a header.
  [[nodiscard]] std::uint64_t offset(std::uint64_t i) const noexcept {
    return load<std::uint32_t>(shard_.data() + 4 + 4 * static_cast<std::size_t>(i));
  }

  /// Hints that the sample is read soon: brings its offsets into the processor's cache, or the
  /// beginning of the sample itself where no offsets are needed. Precondition: i < size().
  void prefetch(std::uint64_t i) const noexcept {
    if (sample_size_ == 0) {
      __builtin_prefetch(shard_.data() + 4 + 4 * static_cast<std::size_t>(i));
    } else {
      prefetch_lines({shard_.data() + first_ + i * step_, static_cast<std::size_t>(sample_size_)});
    }
  }

  [[nodiscard]] bytes_view bytes() const noexcept { return shard_; }

 private:
  [[noreturn]] void fail_header() const {
    throw error(errc::corrupt,
                diagnostics{.what = "the shard has " + std::to_string(shard_.size()) +
                                    " bytes, too few for the offsets of " +
                                    std::to_string(samples_) + " samples",
                            .byte = shard_.size()});
  }

  [[noreturn]] void fail_samples() const {
    throw error(errc::corrupt,
                diagnostics{.what = "the shard says that it has " +
                                    std::to_string(load<std::uint32_t>(shard_.data())) +
                                    " samples, the index says " + std::to_string(samples_),
                            .byte = 0});
  }

  [[noreturn]] void fail_sizes() const {
    throw error(errc::corrupt, diagnostics{.what = "the shard's " + std::to_string(samples_) +
                                                   " samples, of " + std::to_string(sample_size_) +
                                                   " bytes each, do not fill it from byte " +
                                                   std::to_string(first_) + " to its end at " +
                                                   std::to_string(shard_.size()),
                                           .byte = 4});
  }

  [[noreturn]] void fail_index(std::uint64_t i) const {
    throw error(errc::out_of_range,
                diagnostics{.what = "the shard has only " + std::to_string(samples_) + " samples",
                            .sample = i});
  }

  [[noreturn]] void fail_offsets(std::uint64_t i, std::uint32_t begin, std::uint32_t end) const {
    const bool backwards = begin >= end;
    throw error(
        errc::corrupt,
        diagnostics{
            .what = "offsets " + std::to_string(begin) + " to " + std::to_string(end) +
                    (backwards ? " hold no sample: they do not run forwards"
                     : end > shard_.size()
                         ? " reach beyond the shard's " + std::to_string(shard_.size()) + " bytes"
                     : begin < 8 + 4 * samples_ ? " lie in the shard's header"
                                                : " are not those of a sample of " +
                                                      std::to_string(sample_size_) + " bytes"),
            .sample = i,
            .byte = 4 + 4 * i});
  }

  bytes_view shard_;
  std::uint64_t samples_ = 0;
  std::uint64_t sample_size_ = 0;
  // Where samples have one size: bytes from one to the next, and the offset of the first. Else, and
  // where there is no header, that is 0.
  std::uint64_t step_ = 0;
  std::uint64_t first_ = 0;
};

}  // namespace mdstream::inline v0
