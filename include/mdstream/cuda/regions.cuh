#pragma once

/// The bytes of any part of a batch, region by region: what one thread of a device makes of it, or
/// one of a processor, which takes more at a time. Every kind of column is here once.

#include <mdstream/cuda/samples.cuh>
#include <mdstream/cuda/sink.cuh>

#include <cstdint>

namespace mdstream::inline v0::kernels {

/// Makes bytes of one region, piece by piece in ascending order. A region is a row of stretches: a
/// part of one value, padding, or numbers that count. What is looked up for a stretch is looked up
/// once for all pieces in it.
template <class Sink>
class region_maker {
  using u64 = std::uint64_t;
  using kind = collate::detail::region_kind;

 public:
  MDSTREAM_HOST_DEVICE region_maker(const collate::detail::staged_plan& plan,
                                    const collate::detail::staged_region& region) noexcept
      : plan_(plan), region_(region), kind_(region.kind), width_(region.element_log2) {}

  /// Pieces of `Sink::bytes`, or less at `end`, from byte `at` of the region on, each `step` bytes
  /// behind the one before, as long as they begin before `end`. `at` is a multiple of 16, `to` the
  /// region's memory.
  MDSTREAM_HOST_DEVICE void make(u64 at, u64 end, u64 step, std::byte* to) noexcept {
    if (!has_stretches()) return make_numbers(at, end, step, to);
    // One turn for each stretch, the same steps in all: threads of a warp stay together that way,
    // and what finds a stretch, which is most of the code, is there once.
    piece open{to, at, at, end};
    MDSTREAM_ROLLED
    while (open.begin < end) {
      if (open.done >= now_.end) find(open.done);
      // A plan that contradicts itself gives zeros, not a kernel that never ends.
      if (open.done >= now_.end) fill_with(0, open.done, end);
      if (open.done != open.begin && put_part(open)) open.move(step);
      if (open.done == open.begin) open.move(make_run(open, step) * step);
      if (open.begin < end && open.done < now_.end && put_part(open)) open.move(step);
    }
  }

 private:
  enum class content : std::uint8_t { copied, filled, counted };

  /// Bytes [begin, end) of the region.
  struct stretch {
    content made_by = content::filled;
    u64 begin = 0, end = 0;
    const std::byte* from = nullptr;  // copied
    u64 number = 0;                   // filled: eight bytes; counted: the first int32
  };

  /// The piece that is being made, byte by byte of the region.
  struct piece {
    std::byte* to;
    u64 begin, done, region_end;
    Sink sink{to + begin};

    [[nodiscard]] MDSTREAM_HOST_DEVICE u64 end() const noexcept {
      return smaller(begin + Sink::bytes, region_end);
    }
    /// Goes on to the piece that begins `bytes` farther.
    MDSTREAM_HOST_DEVICE void move(u64 bytes) noexcept {
      begin += bytes;
      done = begin;
      sink = Sink(to + begin);
    }
  };

  [[nodiscard]] MDSTREAM_HOST_DEVICE static u64 smaller(u64 a, u64 b) noexcept {
    return a < b ? a : b;
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE bool has_stretches() const noexcept {
    return kind_ != kind::sample_offsets && kind_ != kind::lengths && kind_ != kind::cu_seqlens;
  }

  /// Makes the pieces that lie within the stretch from the open one on, which is not begun, where
  /// the sink has a way for many, and returns how many those are.
  [[nodiscard]] MDSTREAM_HOST_DEVICE u64 make_run(const piece& open, u64 step) const noexcept {
    if constexpr (requires { typename Sink::runs; }) {
      const u64 stop = smaller(now_.end, open.region_end);
      if (stop < open.begin + Sink::bytes) return 0;
      const u64 pieces = (stop - open.begin - Sink::bytes) / step + 1;
      const typename Sink::runs run{open.to + open.begin, pieces, step};
      switch (now_.made_by) {
        case content::copied: run.copy(now_.from + (open.begin - now_.begin)); break;
        case content::filled: run.fill(now_.number); break;
        case content::counted: run.count(counted(open.begin)); break;
      }
      return pieces;
    }
    return 0;
  }

  /// Makes what the stretch has of the open piece. True if that ends the piece.
  [[nodiscard]] MDSTREAM_HOST_DEVICE bool put_part(piece& open) const noexcept {
    const u64 end = smaller(now_.end, open.end()), at = open.done - open.begin;
    switch (now_.made_by) {
      case content::copied:
        open.sink.copy(at, now_.from + (open.done - now_.begin), end - open.done);
        break;
      case content::filled: open.sink.fill(at, now_.number, end - open.done); break;
      case content::counted: open.sink.count(at, counted(open.done), end - open.done); break;
    }
    open.done = end;
    if (end != open.end()) return false;
    open.sink.finish(end - open.begin);
    return true;
  }

  /// The number at byte `at` of a counted stretch.
  [[nodiscard]] MDSTREAM_HOST_DEVICE std::uint32_t counted(u64 at) const noexcept {
    return static_cast<std::uint32_t>(now_.number + (at - now_.begin) / sizeof(std::int32_t));
  }

  /// A value's place among the bytes of the region.
  struct place {
    u64 sample = 0;
    u64 begin = 0, end = 0;
    u64 skip = 0;  // bytes of the value that are not there
  };

  /// Finds the stretch that holds `at`.
  MDSTREAM_HOST_DEVICE void find(u64 at) noexcept {
    place found;
    switch (kind_) {
      case kind::samples:
        return choose(at, 0, smaller(plan_.raw_bytes, plan_.offsets[plan_.sample_count]),
                      region_.bytes, plan_.raw, 0);
      case kind::ragged:
        if (!find_ragged(at, found)) return;
        break;
      case kind::packed:
      case kind::position_ids:
      case kind::segment_ids:
        if (!find_in_run(at, found)) return;
        break;
      default: find_row(at, found); break;
    }
    const value_range value = kind_ == kind::ragged ? ragged_value_of(plan_, region_, found.sample,
                                                                      found.end - found.begin)
                                                    : value_of(plan_, region_, found.sample);
    if (kind_ == kind::mask) {
      const u64 kept = smaller(value.bytes >> width_, region_.row_elements);
      const bool is_kept = at - found.begin < kept;
      return fill_with(is_kept ? 0x0101010101010101 : 0, found.begin + (is_kept ? 0 : kept),
                       is_kept ? found.begin + kept : found.end);
    }
    choose(at, found.begin, found.skip < value.bytes ? value.bytes - found.skip : 0, found.end,
           plan_.raw + value.begin + found.skip, kind_ == kind::packed ? 0 : region_.pad_value);
  }

  /// The stretch that holds `at`, of those `there` bytes from byte `begin` of the region on that
  /// lie at `from` and the padding behind them until `end`.
  MDSTREAM_HOST_DEVICE void choose(u64 at, u64 begin, u64 there, u64 end, const std::byte* from,
                                   u64 fill) noexcept {
    there = smaller(there, end - begin);
    if (at - begin < there)
      now_ = {content::copied, begin, begin + there, from, 0};
    else
      fill_with(fill, begin + there, end);
  }
  MDSTREAM_HOST_DEVICE void fill_with(u64 fill, u64 begin, u64 end) noexcept {
    now_ = {content::filled, begin, end, nullptr, fill};
  }

  MDSTREAM_HOST_DEVICE void find_row(u64 at, place& out) const noexcept {
    const auto [sample, skip] = region_.by_row(at);
    const u64 row = kind_ == kind::mask ? region_.row_elements : region_.row_elements << width_;
    out = {sample, at - skip, at - skip + row};
  }

  /// False behind the last sample, where zeros are.
  [[nodiscard]] MDSTREAM_HOST_DEVICE bool find_ragged(u64 at, place& out) noexcept {
    const auto* const offsets =
        reinterpret_cast<const std::int64_t*>(plan_.slab + region_.offsets_at);
    const auto begin_of = [offsets, this](u64 i) { return static_cast<u64>(offsets[i]) << width_; };
    const u64 sample = advance(at, plan_.sample_count + 1, begin_of);
    if (sample >= plan_.sample_count) {
      fill_with(0, at, region_.bytes);
      return false;
    }
    out = {sample, begin_of(sample), begin_of(sample + 1)};
    return true;
  }

  /// False where the run is no part of a value: it is chosen then.
  [[nodiscard]] MDSTREAM_HOST_DEVICE bool find_in_run(u64 at, place& out) noexcept {
    const collate::detail::staged_run* const runs = plan_.runs;
    const unsigned width = kind_ == kind::packed ? width_ : 2;
    const u64 number =
        advance(at, plan_.run_count + 1, [runs, width](u64 i) { return runs[i].at << width; });
    if (number >= plan_.run_count) {
      fill_with(0, at, region_.bytes);
      return false;
    }
    const collate::detail::staged_run& run = runs[number];
    out = {run.sample, run.at << width, runs[number + 1].at << width, run.first << width};
    if (kind_ == kind::position_ids)
      now_ = {content::counted, out.begin, out.end, nullptr, 0};
    else if (kind_ == kind::segment_ids)  // -1 in padding, which has all bits of `padding`
      fill_with((run.sample << 32) | (run.sample & 0xffffffff), out.begin, out.end);
    else if (run.sample >= plan_.sample_count)
      fill_with(region_.pad_value, out.begin, out.end);
    else
      return true;
    return false;
  }

  /// Moves the cursor to the last of `count` ascending numbers `begin_of(i)` that is not above `x`,
  /// which is not below that of the call before. Looks ever farther ahead, then halves what is
  /// left: neighbours are found at once, anything in logarithmic time.
  /// Precondition: begin_of(0) <= x.
  template <class Begin>
  [[nodiscard]] MDSTREAM_HOST_DEVICE u64 advance(u64 x, u64 count, const Begin& begin_of) noexcept {
    u64 low = cursor_, step = is_placed_ ? 1 : count;
    MDSTREAM_ROLLED
    while (count - low > step && begin_of(low + step) <= x) {
      low += step;
      step *= 2;
    }
    u64 high = count - low > step ? low + step : count;
    MDSTREAM_ROLLED
    while (high - low > 1) {
      const u64 middle = low + (high - low) / 2;
      if (begin_of(middle) <= x)
        low = middle;
      else
        high = middle;
    }
    is_placed_ = true;
    return cursor_ = low;
  }

  /// Of the few regions that have a number or two for each sample.
  MDSTREAM_HOST_DEVICE void make_numbers(u64 at, u64 end, u64 step, std::byte* to) const noexcept {
    MDSTREAM_ROLLED
    for (; at < end; at += step) {
      Sink sink(to + at);
      const u64 stop = smaller(at + Sink::bytes, end);
      if (kind_ == kind::cu_seqlens) {
        MDSTREAM_ROLLED
        for (u64 i = at; i < stop; i += sizeof(std::int32_t))
          sink.template number<std::int32_t>(i - at, plan_.runs[i / sizeof(std::int32_t)].at);
      } else {
        MDSTREAM_ROLLED
        for (u64 i = at; i < stop; i += sizeof(std::int64_t))
          sink.template number<std::int64_t>(i - at, number_of(i / sizeof(std::int64_t)));
      }
      sink.finish(stop - at);
    }
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE u64 number_of(u64 sample) const noexcept {
    if (kind_ != kind::lengths) return plan_.offsets[sample];
    return smaller(value_of(plan_, region_, sample).bytes >> width_, region_.row_elements);
  }

  const collate::detail::staged_plan& plan_;
  const collate::detail::staged_region& region_;
  kind kind_;
  unsigned width_;  // of an element, the logarithm of its bytes
  stretch now_{};
  u64 cursor_ = 0;  // sample or run
  bool is_placed_ = false;
};

}  // namespace mdstream::inline v0::kernels
