#pragma once

/// What is done about shards that cannot be read. Pure.

#include <mdstream/core/error.hpp>

#include <cstdint>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Keeps what went wrong with a batch's shards, and which were fetched once more. Not thread-safe.
class recovery {
 public:
  /// `substitute`: other shards may be read in place of those that cannot be.
  explicit recovery(bool substitute) noexcept : substitute_(substitute) {}

  /// A shard could not be had, or its bytes are no shard (`is_content`). The last failure counts.
  void failed(std::uint32_t shard, bool is_content, std::exception_ptr why) noexcept;

  [[nodiscard]] bool has_failure() const noexcept { return static_cast<bool>(why_); }
  [[nodiscard]] std::uint32_t shard() const noexcept { return shard_; }
  [[nodiscard]] bool is_content() const noexcept { return is_content_; }
  [[nodiscard]] std::error_code code() const { return code_of(why_); }
  /// The failure, which is forgotten.
  [[nodiscard]] std::exception_ptr take() noexcept { return std::exchange(why_, nullptr); }

  /// Whether a shard with bad bytes is worth another fetch: one.
  [[nodiscard]] bool may_fetch_again(std::uint32_t shard) const noexcept;
  void fetched_again(std::uint32_t shard) { fetched_again_.push_back(shard); }

  /// Whether another shard may be read in place of one that failed for this reason.
  [[nodiscard]] bool may_substitute(std::error_code why) const noexcept;

 private:
  bool substitute_;
  std::uint32_t shard_ = 0;
  bool is_content_ = false;
  std::exception_ptr why_;
  std::vector<std::uint32_t> fetched_again_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/recovery.ipp>
#endif
