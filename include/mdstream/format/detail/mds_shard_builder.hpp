#pragma once

/// Builds the bytes of MDS shards, one after another in the same memory.

#include <mdstream/core/bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Bytes that grow without being set to zero, with room kept before them.
class growing_bytes {
 public:
  /// Forgets the bytes and keeps `headroom` bytes before those to come, about `expected`. Memory is
  /// kept.
  void restart(std::size_t headroom, std::size_t expected = 0);

  /// Adds `bytes` bytes and returns where they are.
  [[nodiscard]] std::byte* extend(std::size_t bytes);

  /// Adds `bytes` bytes before all others and returns where they are.
  [[nodiscard]] std::byte* prepend(std::size_t bytes);

  /// Forgets the first `bytes` bytes. What is left moves.
  void drop(std::size_t bytes) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] bytes_view view() const noexcept { return {memory_.get() + begin_, size()}; }

 private:
  struct release {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  void reserve(std::size_t capacity);

  std::unique_ptr<std::byte, release> memory_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// Takes bytes of a shard's file, which begin at `offset`.
using shard_taker = std::function<void(std::uint64_t offset, bytes_view bytes)>;

/// One MDS shard in the making. Not for two threads at once.
class mds_shard_builder {
 public:
  /// A shard of 4 GiB or more cannot be represented.
  static constexpr std::uint64_t max_bytes = std::numeric_limits<std::uint32_t>::max();

  /// `config`: the JSON text that the shard embeds. `size_hint` and `samples_hint`: about how many
  /// bytes and samples a shard will have, 0 if unknown; they save moving the samples as the shard
  /// grows, and when it is finished.
  explicit mds_shard_builder(std::string config, std::uint64_t size_hint = 0,
                             std::uint64_t samples_hint = 0)
      : config_(std::move(config)),
        size_hint_(size_hint),
        samples_hint_(std::min(samples_hint, most_hint)) {}

  /// Gives the shard to `take` while it is made, instead of keeping it: the samples in their order,
  /// and at the end the header, which begins at 0. `samples` is the exact number. Before the first
  /// sample; `finish` returns the header then, and the builder is not used again.
  void stream_to(std::uint64_t samples, shard_taker take);

  /// Gives away what was made, if it is much by now. All samples have to be written. Throws what
  /// `take` throws.
  void give_pieces();

  [[nodiscard]] std::uint64_t samples() const noexcept { return ends_.size(); }

  /// Bytes of the shard's file if it were finished now. A sample adds its own and 4.
  [[nodiscard]] std::uint64_t file_size() const noexcept {
    return header_size() + (ends_.empty() ? 0 : ends_.back());
  }

  /// Adds a sample of `bytes` bytes and returns where to write them, valid until the next call.
  /// Throws errc::invalid_argument, and adds nothing, if the sample is empty or the shard would
  /// reach 4 GiB.
  [[nodiscard]] std::byte* add(std::uint64_t bytes);

  /// Writes the header and returns the whole file, valid until the next call. `clear` comes next.
  [[nodiscard]] bytes_view finish();

  /// Begins the next shard in the same memory.
  void clear() noexcept;

 private:
  [[nodiscard]] std::uint64_t header_size() const noexcept { return header_size(ends_.size()); }
  [[nodiscard]] std::uint64_t header_size(std::uint64_t samples) const noexcept {
    return 8 + 4 * samples + config_.size();
  }

  /// Gives away the first `bytes` bytes of what is kept.
  void give(std::size_t bytes);

  /// The header of a shard whose samples are like the first, or as many as in the shard before.
  [[nodiscard]] std::size_t expected_header(std::uint64_t first_sample) const noexcept;

  /// Hints may come from outside, so that no more memory is taken for them.
  static constexpr std::uint64_t most_hint = std::uint64_t{64} << 20;

  std::string config_;
  std::uint64_t size_hint_, samples_hint_;
  detail::growing_bytes body_;
  std::vector<std::uint32_t> ends_;  // of each sample, from the first one's beginning
  shard_taker take_;                 // null: the shard is kept
  std::uint64_t given_to_ = 0;       // where in the file what is kept begins
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/mds_shard_builder.ipp>
#endif
