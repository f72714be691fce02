#pragma once

/// Reads one canonical node of an epoch shuffled by py1e from any place on, a window at a time.

#include <mdstream/core/detail/pages.hpp>
#include <mdstream/order/detail/exact_double.hpp>
#include <mdstream/order/detail/fast_draws.hpp>
#include <mdstream/order/detail/shuffle/bucket_pool.hpp>
#include <mdstream/order/detail/shuffle/py1e_plan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace mdstream::inline v0::shuffle::detail {

/// A sample and where it goes. Positions are not negative, so their bits order as they do.
struct py1e_element {
  std::uint64_t position;
  std::int64_t id;
};

/// Scratch memory that the cursors of one reader share. About 100 KB and 16 bytes for each sample
/// of the largest span.
struct py1e_workspace {
  static constexpr int width_bits = 14;
  static constexpr std::uint64_t width = std::uint64_t{1} << width_bits;

  mdstream::detail::large_vector<std::uint32_t> order{}, scratch{};
  mdstream::detail::large_vector<std::int64_t> ids{}, part{};
  mdstream::detail::large_vector<py1e_element> sorted{};
  std::array<std::uint32_t, width> counts{};

  /// Leaves the ids 0 … size - 1 of a span, as its generator shuffles them, in `ids`.
  void shuffle_span(const py1e_plan& plan, const py1e_plan::entry& at, std::uint64_t size) {
    order.resize(size);
    scratch.resize(size);
    ids.resize(size);
    mdstream::detail::shuffled_indices(py1e_plan::shuffle_state(at), plan.increment(), order,
                                       scratch);
    if (at.part == span::whole) {
      for (std::size_t k = 0; k < size; ++k)
        ids[k] = static_cast<std::int64_t>(at.first + order[k]);
      return;
    }
    part.resize(size);
    plan.units().fill(at.part, at.first, part);
    for (std::size_t k = 0; k < size; ++k) ids[k] = part[order[k]];
  }

  /// Counting sort of a bucket by whole position, then insertion. Writes the ids.
  void sort(const mdstream::detail::bucket_pool<py1e_element>& from, std::uint64_t bucket,
            mdstream::detail::large_vector<std::int64_t>& out) {
    const auto slot = [](const py1e_element& e) {
      return static_cast<std::size_t>(
                 static_cast<std::int64_t>(std::bit_cast<double>(e.position))) &
             (width - 1);
    };
    counts.fill(0);
    std::uint32_t total = 0;
    from.for_each_run(bucket, [&](const py1e_element* e, const py1e_element* end) {
      for (; e != end; ++e) ++counts[slot(*e)];
    });
    for (std::uint32_t& c : counts) total += std::exchange(c, total);
    sorted.resize(total);
    from.for_each_run(bucket, [&](const py1e_element* e, const py1e_element* end) {
      for (; e != end; ++e) sorted[counts[slot(*e)]++] = *e;
    });
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i - 1].position > sorted[i].position) insert(i);
    out.resize(total);
    for (std::size_t i = 0; i < sorted.size(); ++i) out[i] = sorted[i].id;
  }

 private:
  void insert(std::size_t i) {
    const py1e_element moving = sorted[i];
    for (; i > 0 && sorted[i - 1].position > moving.position; --i) sorted[i] = sorted[i - 1];
    sorted[i] = moving;
  }
};

/// py1e draws a position near its own place for every sample and sorts by it. A position is never
/// farther away than 0.625 block sizes, so the sorted sequence can be made piece by piece:
/// positions are collected in buckets of equal width, and a bucket is sorted as soon as no later
/// span can reach it. Where a bucket begins in the sorted sequence follows from the spans around it
/// alone.
///
/// Memory: about 0.625 block sizes of 16 bytes, and the largest span. A jump costs a window.
class py1e_cursor {
 public:
  py1e_cursor(std::shared_ptr<const py1e_plan> plan, std::size_t node)
      : plan_(std::move(plan)),
        spans_(plan_->spans(node)),
        begin_(spans_.front().place),
        size_(spans_.back().place - begin_),
        reach_(plan_->largest_block() / 2 + 1),
        buckets_(open_buckets()) {}

  /// Ids at places first … of the node. Forward is cheap.
  void read(std::uint64_t first, std::span<std::int64_t> out, py1e_workspace& work) {
    while (!out.empty()) {
      go_to(first, work);
      const auto at = static_cast<std::size_t>(first - ready_begin_);
      const std::size_t n = std::min(out.size(), ready_.size() - at);
      std::copy_n(ready_.begin() + static_cast<std::ptrdiff_t>(at), n, out.begin());
      out = out.subspan(n);
      first += n;
    }
  }

 private:
  static constexpr int width_bits = py1e_workspace::width_bits;
  static constexpr std::uint64_t width = py1e_workspace::width;

  [[nodiscard]] std::size_t count() const noexcept { return spans_.size() - 1; }
  [[nodiscard]] std::uint64_t offset(std::size_t i) const { return spans_[i].place - begin_; }
  [[nodiscard]] std::uint64_t size_of(std::size_t i) const {
    return spans_[i + 1].place - spans_[i].place;
  }
  [[nodiscard]] std::size_t open_buckets() const {
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < count(); ++i) largest = std::max(largest, size_of(i));
    return std::bit_ceil((std::min(2 * reach_, size_) + largest) / width + 3);
  }

  void go_to(std::uint64_t place, py1e_workspace& work) {
    const bool far = place > ready_begin_ + ready_.size() + 2 * reach_;
    if (!open_ || place < ready_begin_ || far) seek(place, work);
    while (place >= ready_begin_ + ready_.size()) next_bucket(work);
  }

  /// Goes to the bucket with which a place may begin, or to one before it.
  void seek(std::uint64_t place, py1e_workspace& work) {
    open_ = true;
    // Bucket borders lie some hundred places off what they would be without moves.
    std::uint64_t target = (place - std::min(place, width / 2)) >> width_bits;
    for (;; --target) {
      start_at(target, work);
      if (ready_begin_ <= place) return;
    }
  }

  /// Empties the window and goes to the first span that may reach a bucket, or a later one.
  void start_at(std::uint64_t target, py1e_workspace& work) {
    buckets_.clear();
    ready_.clear();
    next_bucket_ = target;
    const std::uint64_t border = target << width_bits;
    const auto reaches = [&](const py1e_plan::entry& next) {
      return next.place - begin_ + reach_ >= border;
    };
    const auto first = std::find_if(spans_.begin() + 1, spans_.end(), reaches);
    next_span_ = static_cast<std::size_t>(first - spans_.begin()) - 1;
    ready_begin_ = std::min(offset(next_span_), size_);
    while (next_span_ < count() && offset(next_span_) < border + reach_) add_span(work);
  }

  /// Sorts the next bucket into `ready_`.
  void next_bucket(py1e_workspace& work) {
    const std::uint64_t end = (next_bucket_ + 1) << width_bits;
    while (next_span_ < count() && offset(next_span_) < end + reach_) add_span(work);
    ready_begin_ += ready_.size();
    work.sort(buckets_, next_bucket_, ready_);
    buckets_.clear(next_bucket_++);
  }

  /// Draws the ids and positions of a span and drops them into their buckets. Positions below the
  /// next bucket were read before: they only move its beginning.
  void add_span(py1e_workspace& work) {
    const std::size_t i = next_span_++;
    const std::uint64_t size = size_of(i);
    if (size == 0) return;
    const py1e_plan::entry& at = spans_[i];
    work.shuffle_span(*plan_, at, size);
    const auto block = static_cast<double>(py1e_plan::block_of(at));
    const double cutoff = std::max((block - static_cast<double>(size)) / 2, 0.0);
    const std::uint64_t off = offset(i);
    const double low = std::max(-cutoff, -static_cast<double>(off));
    const double range = std::min(cutoff, static_cast<double>(size_ - off - size)) - low;
    numpy::pcg64 bits = plan_->position_generator(at);
    // Signed, because that is one instruction where the way from or to unsigned is a branch.
    auto own = static_cast<std::int64_t>(off);
    for (const std::int64_t id : work.ids) {
      const double u =
          static_cast<double>(static_cast<std::int64_t>(bits() >> 11)) * (1.0 / 9007199254740992.0);
      const double shift = mdstream::detail::exact_add(low, mdstream::detail::exact_mul(range, u));
      const double position = mdstream::detail::exact_add(static_cast<double>(own++), shift);
      const auto b = static_cast<std::uint64_t>(static_cast<std::int64_t>(position)) >> width_bits;
      if (b >= next_bucket_)
        buckets_.push(b, {std::bit_cast<std::uint64_t>(position), id});
      else
        ++ready_begin_;
    }
  }

  std::shared_ptr<const py1e_plan> plan_;
  std::span<const py1e_plan::entry> spans_;
  std::uint64_t begin_;
  std::uint64_t size_;
  std::uint64_t reach_;  ///< farther than any position lies from its sample's own place

  mdstream::detail::bucket_pool<py1e_element> buckets_;
  bool open_ = false;
  std::size_t next_span_ = 0;
  std::uint64_t next_bucket_ = 0;
  std::uint64_t ready_begin_ = 0;
  mdstream::detail::large_vector<std::int64_t> ready_{};
};

}  // namespace mdstream::inline v0::shuffle::detail
