#pragma once

#include <mdstream/order/detail/shuffle/segmented.hpp>
#include <mdstream/order/shuffle/py1s.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// The spans of all nodes and the generator's state at each: 64 bytes a span.
class py1s_plan : public detail::node_table {
 public:
  explicit py1s_plan(const shuffle_task& task) : units_(task.units) {
    numpy::generator random = detail::epoch_generator(task);
    increment_ = random.bits().increment();
    const detail::node_spans nodes = detail::deal_spans(task, random);
    static_cast<detail::node_table&>(*this) = detail::node_table(nodes);
    entries_.reserve(nodes.spans.size() + 1);
    std::uint64_t place = 0;
    for (const detail::span& s : nodes.spans) {
      entries_.push_back({.stretch = s, .place = place, .state = random.save()});
      detail::skip_shuffle(random, s.size);
      place += s.size;
    }
    entries_.push_back({.place = place});
  }

  [[nodiscard]] std::uint64_t segment_begin(std::size_t segment) const {
    return entries_[segment].place;
  }
  void make(std::size_t segment, detail::index_shuffler& scratch,
            std::span<std::int64_t> out) const {
    detail::fill_ids(units_, entries_[segment].stretch, 0, out);
    scratch.shuffle(entries_[segment].state, increment_, out);
  }

 private:
  struct entry {
    detail::span stretch{};
    std::uint64_t place = 0;
    numpy::snapshot state{};
  };

  shuffle_units units_;
  numpy::uint128 increment_{};
  std::vector<entry> entries_{};
};

}  // namespace mdstream::inline v0::shuffle::detail

namespace mdstream::inline v0::shuffle {

MDSTREAM_INLINE mdstream::detail::any_sequence py1s::open(const shuffle_task& task) const {
  return detail::segmented(std::make_shared<const detail::py1s_plan>(task));
}

}  // namespace mdstream::inline v0::shuffle
