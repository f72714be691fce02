#pragma once

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/shard_table.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE shard_table::shard_table(std::span<const stream_shards> streams) {
  for (const stream_shards& s : streams) numbers_.add_stream(s.samples.size());
  begin_.reserve(std::size_t{numbers_.shards()} + 1);
  begin_.push_back(0);
  for (const stream_shards& s : streams)
    for (const std::uint64_t samples : s.samples)
      begin_.push_back(checked_add(begin_.back(), samples, "number of samples"));
  group_sums_ = sum_groups(0, shards());
  has_empty_shard_ = find_empty_shard(0, shards());
}

MDSTREAM_INLINE std::vector<std::uint64_t> shard_table::sizes(std::size_t stream) const {
  const auto [first, end] = numbers_.of_stream(stream);
  std::vector<std::uint64_t> out;
  out.reserve(end - first);
  for (std::size_t k = first; k < end; ++k) out.push_back(size(k));
  return out;
}

MDSTREAM_INLINE std::vector<std::uint64_t> shard_table::sum_groups(std::size_t first,
                                                                   std::size_t last) const {
  return sum_of_groups(last - first, [&](std::size_t unit) { return size(first + unit); });
}

MDSTREAM_INLINE bool shard_table::find_empty_shard(std::size_t first, std::size_t last) const {
  const auto begin = begin_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin_.begin() + static_cast<std::ptrdiff_t>(last) + 1;
  return std::adjacent_find(begin, end) != end;
}

}  // namespace mdstream::inline v0::detail
