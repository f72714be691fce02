#pragma once

/// Builds the bytes of MDS shards, one after another in the same memory.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

/// Bytes that grow without being set to zero, with room kept before them.
class growing_bytes {
 public:
  /// Forgets the bytes and keeps `headroom` bytes before those to come. Memory is kept.
  void restart(std::size_t headroom) {
    begin_ = end_ = 0;
    reserve(headroom);
    begin_ = end_ = headroom;
  }

  /// Adds `bytes` bytes and returns where they are.
  [[nodiscard]] std::byte* extend(std::size_t bytes) {
    reserve(end_ + bytes);
    end_ += bytes;
    return memory_.get() + (end_ - bytes);
  }

  /// Adds `bytes` bytes before all others and returns where they are.
  [[nodiscard]] std::byte* prepend(std::size_t bytes) {
    if (begin_ < bytes) {
      const std::size_t shift = bytes - begin_;
      reserve(end_ + shift);
      std::memmove(memory_.get() + bytes, memory_.get() + begin_, end_ - begin_);
      begin_ += shift;
      end_ += shift;
    }
    begin_ -= bytes;
    return memory_.get() + begin_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] bytes_view view() const noexcept { return {memory_.get() + begin_, size()}; }

 private:
  struct release {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    const std::size_t wanted = std::max(capacity, capacity_ + capacity_ / 2);
    void* grown = std::realloc(memory_.get(), wanted);
    if (grown == nullptr) throw std::bad_alloc();
    (void)memory_.release();
    memory_.reset(static_cast<std::byte*>(grown));
    capacity_ = wanted;
  }

  std::unique_ptr<std::byte, release> memory_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace detail

/// One MDS shard in the making. Not for two threads at once.
class mds_shard_builder {
 public:
  /// A shard of 4 GiB or more can not be represented.
  static constexpr std::uint64_t max_bytes = std::numeric_limits<std::uint32_t>::max();

  /// `config`: the JSON text that the shard embeds. `size_hint`: about how many bytes a shard will
  /// have, 0 if unknown; it saves moving the samples when the shard is finished.
  explicit mds_shard_builder(std::string config, std::uint64_t size_hint = 0)
      : config_(std::move(config)), size_hint_(size_hint) {}

  [[nodiscard]] std::uint64_t samples() const noexcept { return ends_.size(); }

  /// Bytes of the shard's file if it were finished now. A sample adds its own and 4.
  [[nodiscard]] std::uint64_t file_size() const noexcept {
    return header_size() + (ends_.empty() ? 0 : ends_.back());
  }

  /// Adds a sample of `bytes` bytes and returns where to write them, valid until the next call.
  /// Throws errc::invalid_argument, and adds nothing, if the sample is empty or the shard would
  /// reach 4 GiB.
  [[nodiscard]] std::byte* add(std::uint64_t bytes) {
    if (bytes == 0) throw error(errc::invalid_argument, "a sample without bytes can not be stored");
    if (bytes > max_bytes || file_size() + 4 + bytes > max_bytes)
      throw error(errc::invalid_argument,
                  "a shard of 4 GiB or more can not be stored: set a "
                  "smaller size_limit");
    if (ends_.empty()) body_.restart(expected_header(bytes));
    std::byte* at = body_.extend(static_cast<std::size_t>(bytes));
    ends_.push_back(static_cast<std::uint32_t>(body_.size()));
    return at;
  }

  /// Writes the header and returns the whole file, valid until the next call. `clear` comes next.
  [[nodiscard]] bytes_view finish() {
    if (ends_.empty()) body_.restart(static_cast<std::size_t>(header_size()));
    const std::size_t header = static_cast<std::size_t>(header_size());
    std::byte* at = body_.prepend(header);
    store_to(at, static_cast<std::uint32_t>(ends_.size()));
    store_to(at + 4, static_cast<std::uint32_t>(header));
    at += 8;
    for (const std::uint32_t end : ends_) {
      store_to(at, static_cast<std::uint32_t>(header + end));
      at += 4;
    }
    std::memcpy(at, config_.data(), config_.size());
    return body_.view();
  }

  /// Begins the next shard in the same memory.
  void clear() noexcept {
    last_samples_ = ends_.size();
    ends_.clear();
  }

 private:
  [[nodiscard]] std::uint64_t header_size() const noexcept {
    return 8 + 4 * std::uint64_t{ends_.size()} + config_.size();
  }

  /// The header of a shard whose samples are like the first, or as many as in the shard before.
  [[nodiscard]] std::size_t expected_header(std::uint64_t first_sample) const noexcept {
    std::uint64_t expected = size_hint_ / (first_sample + 4);
    if (last_samples_ != 0) expected = last_samples_;
    expected += expected / 8 + 1;
    return static_cast<std::size_t>(8 + 4 * expected + config_.size());
  }

  std::string config_;
  std::uint64_t size_hint_;
  detail::growing_bytes body_;
  std::vector<std::uint32_t> ends_;  // of each sample, from the first one's beginning
  std::size_t last_samples_ = 0;
};

}  // namespace mdstream::inline v0
