#pragma once

#include <mdstream/order/detail/keyed_permutation.hpp>
#include <mdstream/order/detail/shuffle/bijection_plan.hpp>
#include <mdstream/order/shuffle/bijection.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace mdstream::inline v0::shuffle::detail {

/// Samples of one unit that follow one another in the epoch before samples move.
struct bijection_stretch {
  std::uint64_t end = 0;  ///< the place behind the last one, in the node
  std::uint64_t size = 0;
  std::uint64_t offset = 0;    ///< of the first one within its unit
  std::int64_t first_id = -1;  ///< -1 for a part of a shard, whose ids do not follow one another
  std::uint32_t unit = 0;
  bool is_long = false;
};

/// The stretches of one piece in the epoch's order. O(units of the piece).
MDSTREAM_INLINE std::vector<bijection_stretch> stretches_of(const bijection_plan& plan,
                                                            const detail::bijection_piece& from) {
  const mdstream::detail::keyed_permutation run = plan.run_order(from.group);
  const std::size_t slots = from.last_slot - from.first_slot + 1;
  const mdstream::detail::keyed_permutation epoch(slots, from.key);
  std::vector<bijection_stretch> out;
  out.reserve(slots);
  std::uint64_t place = from.place;
  for (std::size_t e = 0; e < slots; ++e) {
    const std::size_t slot = from.first_slot + static_cast<std::size_t>(epoch(e));
    const std::size_t unit = plan.unit_at(from.group, run, slot);
    const std::uint64_t all = plan.size_of(unit);
    const std::uint64_t begin = slot == from.first_slot ? from.skip : 0;
    const std::uint64_t end = slot == from.last_slot ? std::min(from.last_end, all) : all;
    if (begin == end) continue;
    const std::int64_t first = plan.units().whole_shard(unit);
    out.push_back({.end = place += end - begin,
                   .size = end - begin,
                   .offset = begin,
                   .first_id = first < 0 ? -1 : first + static_cast<std::int64_t>(begin),
                   .unit = static_cast<std::uint32_t>(unit),
                   .is_long = plan.is_long(end - begin)});
  }
  return out;
}

/// Ids of the places around one block of a node, before samples move. Keeps the pieces that it
/// needs.
class bijection_window {
 public:
  /// Makes the places begin … end - 1 of a node known.
  void cover(const detail::bijection_plan& plan, std::size_t n, std::uint64_t begin,
             std::uint64_t end) {
    begin_ = begin;
    stretches_.clear();
    parts_.clear();
    const auto& pieces = plan.nodes()[n].pieces;
    const auto after = std::upper_bound(
        pieces.begin(), pieces.end(), begin,
        [](std::uint64_t x, const detail::bijection_piece& p) { return x < p.place; });
    std::vector<opened> kept;
    for (auto p = static_cast<std::size_t>(after - pieces.begin()) - 1;
         p < pieces.size() && pieces[p].place < end; ++p) {
      const auto known = std::find_if(pieces_.begin(), pieces_.end(),
                                      [p](const opened& o) { return o.number == p; });
      kept.push_back(known != pieces_.end() ? std::move(*known)
                                            : opened{p, stretches_of(plan, pieces[p])});
      add_stretches(kept.back().stretches, begin, end);
    }
    pieces_ = std::move(kept);
    index_places(end);
  }

  /// The ids at places that are counted from `cover`'s begin. Shape of `out`: as `places`.
  template <class Integer>
  void ids(const detail::bijection_plan& plan, std::span<const Integer> places, std::int64_t* out) {
    // Of its own, so that what is written through `out` cannot change them.
    const std::uint32_t* const cells = first_in_cell_.data();
    const std::uint64_t* const ends = ends_.data();
    const std::uint64_t* const shifts = shifts_.data();
    const int bits = cell_bits_;
    const std::uint64_t begin = begin_;
    for (const Integer offset : places) {
      const std::uint64_t place = begin + offset;
      std::size_t i = cells[offset >> bits];
      // A cell is shorter than most stretches: no branch for one step.
      i += ends[i] <= place ? 1 : 0;
      while (ends[i] <= place) ++i;
      // Ids of a whole shard run along with its places.
      *out++ = shifts[i] == no_shift ? special_id(plan, i, place)
                                     : static_cast<std::int64_t>(place + shifts[i]);
    }
  }

 private:
  /// Of stretches whose ids do not run along: more than any difference of an id and a place.
  static constexpr std::uint64_t no_shift = std::uint64_t{1} << 63;

  struct opened {
    std::size_t number;
    std::vector<bijection_stretch> stretches;
  };

  void add_stretches(const std::vector<bijection_stretch>& from, std::uint64_t begin,
                     std::uint64_t end) {
    auto s =
        std::upper_bound(from.begin(), from.end(), begin,
                         [](std::uint64_t x, const bijection_stretch& one) { return x < one.end; });
    for (; s != from.end() && s->end - s->size < end; ++s) stretches_.push_back(*s);
  }

  void index_places(std::uint64_t end) {
    const std::size_t n = stretches_.size();
    ends_.resize(n);
    shifts_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const bijection_stretch& s = stretches_[i];
      ends_[i] = s.end;
      const bool runs_along = s.first_id >= 0 && !s.is_long;
      shifts_[i] =
          runs_along ? static_cast<std::uint64_t>(s.first_id) - (s.end - s.size) : no_shift;
    }
    const std::uint64_t average = (end - begin_) / n;
    cell_bits_ = std::max(static_cast<int>(std::bit_width(average)) - 2, 0);
    first_in_cell_.resize(((end - begin_) >> cell_bits_) + 1);
    std::uint32_t i = 0;
    for (std::size_t cell = 0; cell < first_in_cell_.size(); ++cell) {
      while (i + 1 < n && ends_[i] <= begin_ + (cell << cell_bits_)) ++i;
      first_in_cell_[cell] = i;
    }
  }

  std::int64_t special_id(const detail::bijection_plan& plan, std::size_t i, std::uint64_t place) {
    const bijection_stretch& s = stretches_[i];
    std::uint64_t offset = place - (s.end - s.size);
    if (s.is_long) offset = plan.inside(s.unit, s.size)(offset);
    if (s.first_id >= 0) return s.first_id + static_cast<std::int64_t>(offset);
    if (parts_.empty()) parts_.resize(stretches_.size());
    if (parts_[i].empty()) {
      parts_[i].resize(s.size);
      plan.units().fill(s.unit, s.offset, parts_[i]);
    }
    return parts_[i][offset];
  }

  std::uint64_t begin_ = 0;
  std::vector<opened> pieces_{};
  std::vector<bijection_stretch> stretches_{};
  std::vector<std::uint64_t> ends_{}, shifts_{};
  int cell_bits_ = 0;
  std::vector<std::uint32_t> first_in_cell_{};
  std::vector<std::vector<std::int64_t>> parts_{};
};

/// An epoch shuffled by bijection: a model of `id_sequence`. Copies share the plan.
class bijection_sequence {
 public:
  explicit bijection_sequence(std::shared_ptr<const detail::bijection_plan> plan)
      : plan_(std::move(plan)), open_(plan_->nodes().size()) {}
  bijection_sequence(const bijection_sequence& other) : bijection_sequence(other.plan_) {}
  bijection_sequence(bijection_sequence&&) noexcept = default;
  bijection_sequence& operator=(bijection_sequence other) noexcept {
    std::swap(plan_, other.plan_);
    std::swap(open_, other.open_);
    return *this;
  }
  ~bijection_sequence() = default;

  [[nodiscard]] std::uint64_t size() const noexcept { return plan_->units().size(); }

  void read(std::uint64_t first, std::span<std::int64_t> out) {
    const auto nodes = plan_->nodes();
    auto after = std::upper_bound(
        nodes.begin(), nodes.end(), first,
        [](std::uint64_t place, const detail::bijection_plan::node& n) { return place < n.begin; });
    for (auto n = static_cast<std::size_t>(after - nodes.begin()) - 1; !out.empty(); ++n) {
      const auto count = std::min<std::uint64_t>(out.size(), plan_->end(n) - first);
      read_node(n, first - nodes[n].begin, out.first(count));
      out = out.subspan(count);
      first += count;
    }
  }

 private:
  /// What is kept of a node: the block that was read last, and the two that it mixes.
  struct reader {
    explicit reader(const mdstream::detail::windowed_permutation& m) : moves(m) {}
    mdstream::detail::windowed_permutation moves;
    mdstream::detail::windowed_permutation::block second{}, early{}, late{};
    bijection_window window{};
  };

  void read_node(std::size_t n, std::uint64_t place, std::span<std::int64_t> out) {
    if (!open_[n]) open_[n] = std::make_unique<reader>(plan_->moves(n));
    reader& r = *open_[n];
    while (!out.empty()) {
      if (place < r.second.begin || place >= r.second.end) go_to_block(n, r, place);
      const auto count = std::min<std::uint64_t>(out.size(), r.second.end - place);
      read_block(r, place - r.second.begin, out.first(count));
      out = out.subspan(count);
      place += count;
    }
  }

  void go_to_block(std::size_t n, reader& r, std::uint64_t place) const {
    r.second = r.moves.second_block(place);
    r.early = r.moves.first_block(r.second.begin);
    r.late = r.moves.first_block(r.second.end - 1);
    r.window.cover(*plan_, n, r.early.begin, r.late.end);
  }

  /// Places of a block in 32 bits wherever they fit: a processor multiplies several of those at a
  /// time.
  void read_block(reader& r, std::uint64_t offset, std::span<std::int64_t> out) const {
    if (r.late.end - r.early.begin <= std::numeric_limits<std::uint32_t>::max())
      read_block_as<std::uint32_t>(r, offset, out);
    else
      read_block_as<std::uint64_t>(r, offset, out);
  }

  template <class Integer>
  void read_block_as(reader& r, std::uint64_t offset, std::span<std::int64_t> out) const {
    std::array<Integer, 512> buffer;
    while (!out.empty()) {
      const auto places = std::span(buffer).first(std::min(out.size(), buffer.size()));
      std::iota(places.begin(), places.end(), static_cast<Integer>(offset));
      r.second.order.permute(places);
      move_within_first_pass(r, places);
      r.window.ids(*plan_, std::span<const Integer>(places), out.data());
      offset += places.size();
      out = out.subspan(places.size());
    }
  }

  /// From places of the block that was read last, counted from its begin, to places before samples
  /// move, counted from the early block's begin. Which of the two blocks a place lies in cannot be
  /// predicted: both answers are computed, and one is taken.
  template <class Integer>
  static void move_within_first_pass(const reader& r, std::span<Integer> places) noexcept {
    const auto lead = static_cast<Integer>(r.second.begin - r.early.begin);
    const auto border = static_cast<Integer>(r.early.end - r.early.begin);
    const mdstream::detail::paired_permutation early = r.early.order, late = r.late.order;
    std::array<Integer, 512> bases, sizes;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Integer place = places[i] + lead;
      const Integer in_early = early.forward(place), in_late = late.forward(place - border);
      const bool is_early = place < border;
      bases[i] = is_early ? 0 : border;
      sizes[i] = static_cast<Integer>(is_early ? early.size() : late.size());
      places[i] = is_early ? in_early : in_late;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= sizes[i]) [[unlikely]]
        places[i] = bases[i] == 0 ? early.walk(places[i]) : late.walk(places[i]);
      places[i] += bases[i];
    }
  }

  std::shared_ptr<const detail::bijection_plan> plan_;
  std::vector<std::unique_ptr<reader>> open_;
};

}  // namespace mdstream::inline v0::shuffle::detail

namespace mdstream::inline v0::shuffle {

MDSTREAM_INLINE mdstream::detail::any_sequence bijection::open(const shuffle_task& task) const {
  return detail::bijection_sequence(std::make_shared<const detail::bijection_plan>(task));
}

}  // namespace mdstream::inline v0::shuffle
