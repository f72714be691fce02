#pragma once

#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/raw/format.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE cut_sink::cut_sink(const options& about, std::uint64_t from, std::uint64_t to)
    : shard_bytes_(std::max<std::uint64_t>(1, about.shard_bytes.value)),
      max_row_bytes_(about.max_row_bytes.value),
      from_(from),
      to_(to) {}

MDSTREAM_INLINE bool cut_sink::sample(std::uint64_t begin, std::uint64_t end) {
  if (begin >= limit_ && !next_cut(begin)) return false;
  if (end - begin > max_row_bytes_) fail_large(begin, end);
  add_samples(begin, 1);
  end_ = end;
  return true;
}

MDSTREAM_INLINE bool cut_sink::group(std::uint64_t begin, std::uint64_t bytes,
                                     std::uint64_t count) {
  if (begin >= limit_ && !next_cut(begin)) return false;
  add_samples(begin, count);
  end_ += bytes;
  return true;
}

MDSTREAM_INLINE bool cut_sink::run(std::uint64_t begin, std::uint64_t step, std::uint64_t size,
                                   std::uint64_t count) {
  while (count > 0) {
    if (!sample(begin, begin + size)) return false;
    const std::uint64_t more =
        std::min(count - 1, limit_ > begin + 1 ? (limit_ - 1 - begin) / step : 0);
    add_samples(begin, more);
    end_ += more * step;
    begin += (more + 1) * step;
    count -= more + 1;
  }
  return true;
}

MDSTREAM_INLINE void cut_sink::add_to_checksums(const window& seen) {
  store_end();
  if (without_sums_) return;
  const std::uint64_t seen_end = seen.offset + seen.bytes.size();
  for (; summing_ < cuts_.size(); ++summing_) {
    cut& each = cuts_[summing_];
    const std::uint64_t end = each.offset + each.bytes;
    if (!std::exchange(sum_began_, true)) {
      sums_ = sum_at_ <= each.offset;  // else it overlaps the one before
      if (sums_) sum_at_ = each.offset;
    }
    if (sums_ && end > sum_at_ && sum_at_ + rest_bytes_ == seen.offset) {
      sum_ = mdstream::detail::crc32c_joined(sum_, rest_sum_, rest_bytes_);
      sum_at_ = seen.offset;
    }
    if (sums_ && sum_at_ >= seen.offset && sum_at_ < seen_end) {
      const auto sum_up_to = [&](std::uint64_t from, std::uint64_t to, std::uint32_t before) {
        return mdstream::detail::crc32c(
            seen.bytes.subspan(static_cast<std::size_t>(from - seen.offset),
                               static_cast<std::size_t>(to - from)),
            before);
      };
      const std::uint64_t until = std::min(end, seen_end);
      sum_ = sum_up_to(sum_at_, until, sum_);
      sum_at_ = until;
      if (is_open(summing_)) {
        rest_bytes_ = seen_end - until;  // part of the cut, if another sample follows
        rest_sum_ = sum_up_to(until, seen_end, 0);
      }
    } else if (sums_ && sum_at_ + rest_bytes_ == seen.offset) {
      rest_sum_ = mdstream::detail::crc32c(seen.bytes, rest_sum_);
      rest_bytes_ += seen.bytes.size();
    }
    if (is_open(summing_)) return;
    close_sum(each);
  }
}

MDSTREAM_INLINE std::vector<cut> cut_sink::finish() {
  store_end();
  open_ = false;
  for (; summing_ < cuts_.size(); ++summing_) close_sum(cuts_[summing_]);
  return std::move(cuts_);
}

MDSTREAM_INLINE void cut_sink::store_end() {
  if (!open_) return;
  cuts_.back().samples = samples_;
  cuts_.back().bytes = end_ - cuts_.back().offset;
}

MDSTREAM_INLINE void cut_sink::add_samples(std::uint64_t begin, std::uint64_t count) {
  if (count > most_samples - samples_)
    throw error(errc::unsupported, diagnostics{.what = "a shard can not have more than " +
                                                       std::to_string(most_samples) +
                                                       " samples: set a smaller shard_bytes",
                                               .byte = begin});
  samples_ += count;
}

MDSTREAM_INLINE bool cut_sink::next_cut(std::uint64_t begin) {
  if (begin >= to_) full_ = true;
  if (full_) return false;
  store_end();
  open_ = true;
  cuts_.push_back({.offset = begin});
  samples_ = 0;
  end_ = begin;
  const std::uint64_t number = begin / shard_bytes_;
  limit_ = number >= no_end / shard_bytes_ ? no_end : (number + 1) * shard_bytes_;
  limit_ = std::min(limit_, to_);
  return true;
}

MDSTREAM_INLINE void cut_sink::close_sum(cut& each) {
  if (sum_began_ && sums_ && sum_at_ == each.offset + each.bytes) each.crc32c = sum_;
  sum_ = rest_sum_ = 0;
  rest_bytes_ = 0;
  sum_began_ = false;
}

MDSTREAM_INLINE void cut_sink::fail_large(std::uint64_t begin, std::uint64_t end) const {
  throw error(errc::unsupported, diagnostics{.what = "a row of " + std::to_string(end - begin) +
                                                     " bytes is larger than max_row_bytes, " +
                                                     std::to_string(max_row_bytes_),
                                             .byte = begin});
}

MDSTREAM_INLINE std::uint64_t cut_source::at(bytes_view rest) const noexcept {
  return first().offset + static_cast<std::uint64_t>(rest.data() - bytes().data());
}

MDSTREAM_INLINE source_format source_format::with_columns(std::vector<column> columns) const {
  source_format out = *this;
  out.options_.columns = std::move(columns);
  return out;
}

}  // namespace mdstream::inline v0::raw
