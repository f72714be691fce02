#pragma once

/// The bytes of any part of a batch, region by region: what one thread of a device makes of it, or
/// one of a processor, which takes more at a time. Every kind of column is here once.

#include <mdstream/cuda/samples.cuh>
#include <mdstream/cuda/sink.cuh>

#include <cstdint>

namespace mdstream::inline v0::kernels {

/// Makes the bytes [from, to) of a region. `from` is a multiple of 16.
template <class Sink>
class region_maker {
 public:
  MDSTREAM_HOST_DEVICE region_maker(const collate::staged_plan& plan,
                                    const collate::staged_region& region, std::uint64_t from,
                                    std::uint64_t to, Sink& sink) noexcept
      : plan_(plan), region_(region), from_(from), to_(to), sink_(sink) {}

  MDSTREAM_HOST_DEVICE void make() noexcept {
    using collate::region_kind;
    switch (region_.kind) {
      case region_kind::dense:
      case region_kind::padded: return make_rows();
      case region_kind::ragged: return make_ragged();
      case region_kind::packed: return make_packed();
      case region_kind::samples: return make_samples();
      case region_kind::mask: return make_mask();
      case region_kind::sample_offsets:
      case region_kind::lengths: return make_sample_numbers();
      case region_kind::cu_seqlens: return make_run_starts();
      case region_kind::positions:
      case region_kind::documents: return make_run_numbers();
    }
  }

 private:
  using u64 = std::uint64_t;

  [[nodiscard]] MDSTREAM_HOST_DEVICE static u64 smaller(u64 a, u64 b) noexcept {
    return a < b ? a : b;
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE u64 element_bytes() const noexcept {
    return plan_.sources[region_.source].element_bytes;
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE u64 kept_elements(u64 sample) const noexcept {
    return smaller(value_of(plan_, region_.source, sample).bytes / element_bytes(),
                   region_.row_elements);
  }

  /// `count` bytes: those of a value from `skip` on, then filling.
  MDSTREAM_HOST_DEVICE void put(const value_range& value, u64 skip, u64 count, u64 fill) noexcept {
    const u64 there = skip < value.bytes ? smaller(value.bytes - skip, count) : 0;
    if (there != 0) sink_.copy(from_ - begin_, plan_.raw + value.begin + skip, there);
    if (there != count) sink_.fill(from_ - begin_ + there, fill, count - there);
    from_ += count;
  }

  /// The last of `count` ascending numbers `at(i)` that is not above `x`. Precondition: at(0) <= x.
  template <class At>
  [[nodiscard]] MDSTREAM_HOST_DEVICE static u64 last_up_to(u64 x, u64 count,
                                                           const At& at) noexcept {
    u64 low = 0, high = count;
    while (high - low > 1) {
      const u64 middle = low + (high - low) / 2;
      if (at(middle) <= x)
        low = middle;
      else
        high = middle;
    }
    return low;
  }

  MDSTREAM_HOST_DEVICE void make_rows() noexcept {
    const u64 row = region_.row_elements * element_bytes();
    u64 sample = from_ / row;
    for (u64 skip = from_ % row; from_ < to_; skip = 0, ++sample) {
      value_range value = value_of(plan_, region_.source, sample);
      value.bytes = smaller(value.bytes, row);
      put(value, skip, smaller(row - skip, to_ - from_), region_.fill);
    }
  }

  MDSTREAM_HOST_DEVICE void make_ragged() noexcept {
    const auto* const offsets =
        reinterpret_cast<const std::int64_t*>(plan_.slab + region_.offsets_at);
    const u64 width = element_bytes();
    const auto at = [offsets, width](u64 i) { return static_cast<u64>(offsets[i]) * width; };
    for (u64 sample = last_up_to(from_, plan_.sample_count + 1, at);
         from_ < to_ && sample < plan_.sample_count; ++sample) {
      const u64 end = smaller(at(sample + 1), to_);
      if (end > from_)
        put(value_of(plan_, region_.source, sample), from_ - at(sample), end - from_, 0);
    }
    if (from_ < to_) put({}, 0, to_ - from_, 0);
  }

  MDSTREAM_HOST_DEVICE void make_packed() noexcept {
    const u64 width = element_bytes();
    const collate::staged_run* const runs = plan_.runs;
    for (u64 run = find_run(from_ / width); from_ < to_ && run < plan_.run_count; ++run) {
      const u64 end = smaller(runs[run + 1].at * width, to_);
      if (runs[run].sample >= plan_.sample_count)
        put({}, 0, end - from_, region_.fill);
      else
        put(value_of(plan_, region_.source, runs[run].sample),
            (runs[run].first - runs[run].at) * width + from_, end - from_, 0);
    }
  }

  MDSTREAM_HOST_DEVICE void make_samples() noexcept {
    const u64* const offsets = plan_.offsets;
    const u64 there = smaller(to_, smaller(plan_.raw_bytes, offsets[plan_.sample_count]));
    put({0, there}, from_, to_ - from_, 0);
  }

  MDSTREAM_HOST_DEVICE void make_mask() noexcept {
    const u64 row = region_.row_elements;
    u64 sample = from_ / row;
    for (u64 skip = from_ % row; from_ < to_; skip = 0, ++sample) {
      const u64 kept = kept_elements(sample), end = smaller(row, skip + to_ - from_);
      const u64 ones = skip < kept ? smaller(kept, end) - skip : 0;
      if (ones != 0) sink_.fill(from_ - begin_, 0x0101010101010101, ones);
      if (skip + ones != end) sink_.fill(from_ - begin_ + ones, 0, end - skip - ones);
      from_ += end - skip;
    }
  }

  MDSTREAM_HOST_DEVICE void make_sample_numbers() noexcept {
    const bool lengths = region_.kind == collate::region_kind::lengths;
    for (; from_ < to_; from_ += sizeof(std::int64_t)) {
      const u64 sample = from_ / sizeof(std::int64_t);
      sink_.template number<std::int64_t>(from_ - begin_,
                                          lengths ? kept_elements(sample) : plan_.offsets[sample]);
    }
  }

  [[nodiscard]] MDSTREAM_HOST_DEVICE u64 find_run(u64 element) const noexcept {
    const collate::staged_run* const runs = plan_.runs;
    return last_up_to(element, plan_.run_count + 1, [runs](u64 i) { return runs[i].at; });
  }

  MDSTREAM_HOST_DEVICE void make_run_starts() noexcept {
    for (; from_ < to_; from_ += sizeof(std::int32_t))
      sink_.template number<std::int32_t>(from_ - begin_,
                                          plan_.runs[from_ / sizeof(std::int32_t)].at);
  }

  MDSTREAM_HOST_DEVICE void make_run_numbers() noexcept {
    const bool positions = region_.kind == collate::region_kind::positions;
    u64 run = find_run(from_ / sizeof(std::int32_t));
    for (; from_ < to_; from_ += sizeof(std::int32_t)) {
      const u64 element = from_ / sizeof(std::int32_t);
      while (run + 1 < plan_.run_count && plan_.runs[run + 1].at <= element) ++run;
      // The number of filling is -1, which has all bits of `filling`.
      sink_.template number<std::int32_t>(
          from_ - begin_, positions ? element - plan_.runs[run].at : plan_.runs[run].sample);
    }
  }

  const collate::staged_plan& plan_;
  const collate::staged_region& region_;
  u64 from_;
  u64 to_;
  Sink& sink_;
  u64 begin_ = from_;
};

}  // namespace mdstream::inline v0::kernels
