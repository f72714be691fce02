#pragma once

/// What of an epoch shuffled by py1e is computed once: the spans of every canonical node, and where
/// the generator stands at each of them.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/fast_draws.hpp>
#include <mdstream/order/detail/keyed_permutation.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/shuffle/spans.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// One pass over the generator, which only counts the draws inside the spans: about 2 ns a sample,
/// and 64 bytes a span. Immutable.
class py1e_plan {
 public:
  /// A span and the generator's states at it.
  struct entry {
    std::uint64_t place = 0;  ///< first place in the shuffled epoch, before samples move
    std::uint64_t first = 0;  ///< see `span`
    std::uint32_t part = span::whole;
    std::uint32_t half = 0;   ///< see `numpy::snapshot`
    std::uint64_t block = 0;  ///< twice the drawn block size, plus one where there is a half
    std::uint64_t shuffle_state[2]{};   ///< before the span's own shuffle; low word first
    std::uint64_t position_state[2]{};  ///< before its positions are drawn
  };

  /// Throws `errc::invalid_argument`: a canonical node without samples, a block size too small.
  explicit py1e_plan(const shuffle_task& task)
      : units_(task.units), random_(epoch_generator(task)), sizes_(block_sizes(task.block_size)) {
    if (units_.size() > max_exact)
      throw error(errc::unsupported,
                  "py1e moves samples by doubles, which number no more than 2^53");
    const std::uint64_t key = key_of(task);
    const std::string name = "py1e-" + std::to_string(key);
    if (task.plans != nullptr && task.plans->load && adopt(task, task.plans->load(name), key))
      return;
    compute(task);
    if (task.plans != nullptr && task.plans->save) task.plans->save(name, content(key));
  }

  [[nodiscard]] const shuffle_units& units() const noexcept { return units_; }
  [[nodiscard]] std::size_t nodes() const noexcept { return first_.size() - 1; }
  /// The largest block size that can be drawn, plus one.
  [[nodiscard]] std::uint64_t largest_block() const noexcept {
    return static_cast<std::uint64_t>(sizes_.high);
  }

  /// The spans of a node; the element behind them tells where the last one ends.
  [[nodiscard]] std::span<const entry> spans(std::size_t node) const {
    return std::span(entries_).subspan(first_[node], first_[node + 1] - first_[node] + 1);
  }
  /// First place of a node in the shuffled epoch; `nodes()` is allowed.
  [[nodiscard]] std::uint64_t begin(std::size_t node) const { return entries_[first_[node]].place; }

  /// Where the generator stands before a span's shuffle.
  [[nodiscard]] static numpy::snapshot shuffle_state(const entry& at) noexcept {
    return {.state = wide(at.shuffle_state), .half = at.half, .has_half = (at.block & 1) != 0};
  }
  [[nodiscard]] numpy::uint128 increment() const noexcept { return random_.bits().increment(); }
  /// The raw generator as it is before a span's positions.
  [[nodiscard]] numpy::pcg64 position_generator(const entry& at) const {
    return {wide(at.position_state), increment()};
  }
  [[nodiscard]] static std::uint64_t block_of(const entry& at) noexcept { return at.block >> 1; }

 private:
  static constexpr std::uint64_t max_exact = std::uint64_t{1} << 53;
  static_assert(std::is_trivially_copyable_v<entry> && sizeof(entry) == 64);

  /// What stands before the first numbers and the entries in a kept plan.
  struct header {
    std::uint64_t version = 2;
    std::uint64_t key = 0;
    std::uint64_t nodes = 0;
    std::uint64_t entries = 0;
    std::uint64_t checksum = 0;
  };

  void compute(const shuffle_task& task) {
    const node_spans nodes = deal_spans(task, random_);
    first_.assign(nodes.first.begin(), nodes.first.end());
    entries_.reserve(nodes.spans.size() + 1);
    const mdstream::detail::jump_table jump(random_.bits().increment());
    for (std::size_t node = 0; node < nodes.nodes(); ++node) {
      if (nodes.begin[node] == nodes.begin[node + 1])
        mdstream::detail::refuse("canonical node " + std::to_string(node) + " of " +
                                 std::to_string(nodes.nodes()) + " has no samples");
      note_shuffles(nodes.of(node), nodes.begin[node]);
      note_positions(node, jump);
    }
    entries_.emplace_back().place = units_.size();
  }

  /// All that the plan follows from. O(units).
  [[nodiscard]] static std::uint64_t key_of(const shuffle_task& task) {
    if (task.plans == nullptr) return 0;
    std::uint64_t key = mdstream::detail::derive_key(task.seed, task.epoch);
    key = mdstream::detail::derive_key(key, task.num_canonical_nodes);
    key = mdstream::detail::derive_key(key, task.block_size);
    for (std::size_t u = 0; u < task.units.units(); ++u)
      key = mdstream::detail::derive_key(
          key, mdstream::detail::derive_key(task.units.end(u),
                                            static_cast<std::uint64_t>(task.units.whole_shard(u))));
    return key;
  }

  /// A lane for each word of an entry, so that a word waits for those of its own lane alone.
  [[nodiscard]] std::uint64_t checksum() const {
    std::array<std::uint64_t, sizeof(entry) / 8> lanes{};
    for (const entry& e : entries_) {
      const auto words = std::bit_cast<std::array<std::uint64_t, sizeof(entry) / 8>>(e);
      for (std::size_t i = 0; i < lanes.size(); ++i)
        lanes[i] = mdstream::detail::derive_key(lanes[i], words[i]);
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t first : first_) sum = mdstream::detail::derive_key(sum, first);
    for (const std::uint64_t lane : lanes) sum = mdstream::detail::derive_key(sum, lane);
    return sum;
  }

  [[nodiscard]] std::vector<std::byte> content(std::uint64_t key) const {
    const header head{
        .key = key, .nodes = first_.size(), .entries = entries_.size(), .checksum = checksum()};
    std::vector<std::byte> out(sizeof head + first_.size() * 8 + entries_.size() * sizeof(entry));
    store_to(out.data(), head);
    std::memcpy(out.data() + sizeof head, first_.data(), first_.size() * 8);
    std::memcpy(out.data() + sizeof head + first_.size() * 8, entries_.data(),
                entries_.size() * sizeof(entry));
    return out;
  }

  /// Takes over a plan that was kept; false where it is none of this task, or damaged.
  [[nodiscard]] bool adopt(const shuffle_task& task, const std::vector<std::byte>& kept,
                           std::uint64_t key) {
    if (kept.size() < sizeof(header)) return false;
    const auto head = load<header>(kept.data());
    const std::size_t rest = kept.size() - sizeof head;
    if (head.version != header{}.version || head.key != key || head.nodes < 2 ||
        head.nodes > rest / 8 || head.entries == 0 || head.entries > rest / sizeof(entry) ||
        head.nodes * 8 + head.entries * sizeof(entry) != rest)
      return false;
    first_.resize(head.nodes);
    std::memcpy(first_.data(), kept.data() + sizeof head, head.nodes * 8);
    entries_.resize(head.entries);
    std::memcpy(entries_.data(), kept.data() + sizeof head + head.nodes * 8,
                head.entries * sizeof(entry));
    if (checksum() == head.checksum && has_nodes_of(task) && is_sound()) return true;
    first_.clear();
    entries_.clear();
    return false;
  }

  /// Whether its nodes are those of the task, each with its share of the places. A checksum can be
  /// right of a file that somebody else made.
  [[nodiscard]] bool has_nodes_of(const shuffle_task& task) const {
    bool same = first_.size() - 1 == task.num_canonical_nodes && first_.front() == 0 &&
                first_.back() == entries_.size() - 1;
    for (std::size_t node = 0; same && node < nodes(); ++node)
      same = first_[node] < first_[node + 1] && first_[node + 1] < entries_.size() &&
             begin(node) == mdstream::detail::mul_div(node, units_.size(), nodes());
    return same && entries_.back().place == units_.size();
  }

  /// Whether every span of it has samples that its unit, or the whole shards of the epoch, have.
  /// O(units + spans).
  [[nodiscard]] bool is_sound() const {
    std::uint64_t lowest = ~std::uint64_t{0}, end = 0;  // of the ids of whole shards
    for (std::size_t u = 0; u < units_.units(); ++u) {
      const std::int64_t id = units_.whole_shard(u);
      if (id < 0) continue;
      lowest = std::min(lowest, static_cast<std::uint64_t>(id));
      end = std::max(end, static_cast<std::uint64_t>(id) + units_.end(u) - units_.begin(u));
    }
    bool sound = true;
    for (std::size_t i = 0; sound && i + 1 < entries_.size(); ++i) {
      const entry& e = entries_[i];
      const std::uint64_t size = entries_[i + 1].place - e.place, block = e.block >> 1;
      sound = e.place <= entries_[i + 1].place && size <= std::uint64_t{1} << 32 &&
              block >= static_cast<std::uint64_t>(sizes_.low) &&
              block < static_cast<std::uint64_t>(sizes_.high);
      const auto lies_in = [&](std::uint64_t from, std::uint64_t to) {
        return e.first >= from && e.first <= to && size <= to - e.first;
      };
      if (sound && e.part == span::whole) sound = size == 0 || lies_in(lowest, end);
      if (sound && e.part != span::whole)
        sound = e.part < units_.units() && units_.whole_shard(e.part) < 0 &&
                lies_in(0, units_.end(e.part) - units_.begin(e.part));
    }
    return sound;
  }

  [[nodiscard]] static numpy::uint128 wide(const std::uint64_t (&words)[2]) noexcept {
    return (static_cast<numpy::uint128>(words[1]) << 64) | words[0];
  }
  static void split(numpy::uint128 state, std::uint64_t (&words)[2]) noexcept {
    words[0] = static_cast<std::uint64_t>(state);
    words[1] = static_cast<std::uint64_t>(state >> 64);
  }

  void note_shuffles(std::span<const span> spans, std::uint64_t place) {
    numpy::snapshot at = random_.save();
    for (const span& s : spans) {
      if (s.size > std::uint64_t{1} << 32)
        throw error(errc::unsupported, "py1e over a shard of more than 2^32 samples");
      entry& e = entries_.emplace_back();
      e.place = place;
      e.first = s.first;
      e.part = s.part;
      e.half = at.half;
      e.block = at.has_half ? 1U : 0U;
      split(at.state, e.shuffle_state);
      at = mdstream::detail::after_shuffle(at, increment(), s.size);
      place += s.size;
    }
    random_.restore(at);
    end_of_node_ = place;
  }

  void note_positions(std::size_t node, const mdstream::detail::jump_table& jump) {
    for (std::size_t i = first_[node]; i < entries_.size(); ++i) {
      entry& e = entries_[i];
      e.block |= static_cast<std::uint64_t>(random_.integers(sizes_.low, sizes_.high)) << 1;
      const numpy::uint128 state = random_.bits().state();
      split(state, e.position_state);
      const std::uint64_t end = i + 1 < entries_.size() ? entries_[i + 1].place : end_of_node_;
      random_.continue_from({jump(state, end - e.place), increment()});
    }
  }

  shuffle_units units_;
  numpy::generator random_;
  block_range sizes_;
  std::vector<std::uint64_t> first_;
  mdstream::detail::large_vector<entry> entries_;
  std::uint64_t end_of_node_ = 0;
};

}  // namespace mdstream::inline v0::shuffle::detail
