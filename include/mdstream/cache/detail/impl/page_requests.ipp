#pragma once

#include <mdstream/cache/detail/page_requests.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::span<const page_range> page_requests::of(std::span<const bytes_view> samples) {
  pages_.clear();
  for (const bytes_view sample : samples) {
    if (sample.empty()) continue;
    const auto first = reinterpret_cast<std::uintptr_t>(sample.data());
    const std::uintptr_t begin = first / page_ * page_;
    const std::uintptr_t end = (first + sample.size() - 1) / page_ * page_ + page_;
    pages_.push_back({begin, end - begin});
  }
  std::ranges::sort(pages_, {}, &page_range::begin);
  ranges_.clear();
  std::uintptr_t end = 0;  // of what was asked for
  for (const page_range& each : pages_) {
    const std::uintptr_t stop = each.begin + each.bytes;
    for (std::uintptr_t at = std::max(each.begin, end); at < stop; at = end) {
      if (ranges_.empty() || at != end || ranges_.back().bytes == most_) ranges_.push_back({at, 0});
      page_range& last = ranges_.back();
      last.bytes = std::min(last.bytes + (stop - at), most_);
      end = last.begin + last.bytes;
    }
  }
  return ranges_;
}

}  // namespace mdstream::inline v0::detail
