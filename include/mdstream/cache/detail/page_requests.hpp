#pragma once

/// Which pages of mapped files samples need. Pure.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

/// Whole pages one behind the other.
struct page_range {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;

  friend bool operator==(const page_range&, const page_range&) = default;
};

/// Turns the samples of a batch into requests for their pages. Keeps its memory from batch to
/// batch. Not thread-safe.
class page_requests {
 public:
  /// `page`: bytes of a page; `most`: bytes of a range, a multiple of that.
  page_requests(std::size_t page, std::size_t most) noexcept : page_(page), most_(most) {}

  /// The pages that hold these bytes, ascending and each once, neighbours in one range as far as
  /// that may be long. Until the next call. O(samples log samples).
  [[nodiscard]] std::span<const page_range> of(std::span<const bytes_view> samples);

 private:
  std::size_t page_, most_;
  std::vector<page_range> pages_;  // of each sample
  std::vector<page_range> ranges_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/page_requests.ipp>
#endif
