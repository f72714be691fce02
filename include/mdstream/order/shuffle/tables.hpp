#pragma once

/// Shuffles as tables of the whole epoch.

#include <mdstream/order/numpy_math.hpp>
#include <mdstream/order/shuffle/spans.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace mdstream::inline v0::shuffle {

using ids = std::vector<std::int64_t>;

inline void append_span(ids& out, const span& s) {
  const std::size_t at = out.size();
  out.resize(at + s.size);
  std::iota(out.begin() + static_cast<std::ptrdiff_t>(at), out.end(),
            static_cast<std::int64_t>(s.first));
}

[[nodiscard]] inline std::span<std::int64_t> part(ids& x, std::uint64_t begin, std::uint64_t size) {
  return std::span(x).subspan(begin, size);
}

inline ids table_naive(const shuffle_task& task) {
  return epoch_generator(task).permutation(task.units.size());
}

inline ids table_py1s(const shuffle_task& task) {
  numpy::generator random = epoch_generator(task);
  const node_spans nodes = deal_spans(task, random);
  ids out;
  for (const span& s : nodes.spans) {
    append_span(out, s);
    random.shuffle(part(out, out.size() - s.size, s.size));
  }
  return out;
}

inline ids table_py2s(const shuffle_task& task) {
  check_nodes(task.num_canonical_nodes);
  std::vector<span> order = whole_units(task.units);
  numpy::generator run(task.seed);
  run.shuffle(order);
  ids flat;
  for (span& s : order) {
    append_span(flat, s);
    s.first = flat.size() - s.size;
    run.shuffle(part(flat, s.first, s.size));
  }
  node_spans nodes = cut_at_nodes(order, task.units.size(), task.num_canonical_nodes);
  numpy::generator random = epoch_generator(task);
  ids out;
  for (std::size_t node = 0; node < nodes.nodes(); ++node) {
    random.shuffle(nodes.of(node));
    for (const span& s : nodes.of(node)) {
      const auto piece = part(flat, s.first, s.size);
      random.shuffle(piece);
      out.insert(out.end(), piece.begin(), piece.end());
    }
  }
  return out;
}

inline ids table_py1br(const shuffle_task& task) {
  numpy::generator random = epoch_generator(task);
  const node_spans nodes = deal_spans(task, random);
  const block_range sizes = block_sizes(task.block_size);
  std::vector<std::int64_t> stagger;
  for (std::size_t p = 0; p < nodes.nodes(); ++p) stagger.push_back(random.integers(0, sizes.low));
  ids out;
  for (std::size_t p = 0; p < nodes.nodes(); ++p) {
    const std::size_t start = out.size();
    for (const span& s : nodes.of(p)) append_span(out, s);
    const auto n = static_cast<std::int64_t>(out.size() - start);
    std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
    for (std::int64_t at = 0; at < n;) {
      const std::int64_t size = random.integers(sizes.low, sizes.high);
      const std::int64_t b = std::max<std::int64_t>(at - stagger[p], 0);
      const std::int64_t e = std::min(at + size - stagger[p], n);
      blocks.emplace_back(b, e);
      at += e - b;
    }
    for (const auto& [b, e] : blocks)
      random.shuffle(
          part(out, start + static_cast<std::uint64_t>(b), static_cast<std::uint64_t>(e - b)));
  }
  return out;
}

inline ids table_py1e(const shuffle_task& task) {
  numpy::generator random = epoch_generator(task);
  const node_spans nodes = deal_spans(task, random);
  const block_range sizes = block_sizes(task.block_size);
  ids out;
  for (std::size_t p = 0; p < nodes.nodes(); ++p) {
    ids x;
    for (const span& s : nodes.of(p)) {
      append_span(x, s);
      random.shuffle(part(x, x.size() - s.size, s.size));
    }
    if (x.empty()) detail::refuse("canonical node " + std::to_string(p) + " has no samples");
    std::vector<double> position(x.size());
    std::uint64_t off = 0;
    for (const span& s : nodes.of(p)) {
      const std::int64_t block = random.integers(sizes.low, sizes.high);
      const double cutoff =
          std::max(static_cast<double>(block - static_cast<std::int64_t>(s.size)) / 2, 0.0);
      const double low = std::max(-cutoff, -static_cast<double>(off));
      const double high = std::min(cutoff, static_cast<double>(x.size() - off - s.size));
      const auto here = std::span(position).subspan(off, s.size);
      random.uniform(low, high, here);
      for (std::size_t k = 0; k < here.size(); ++k)
        here[k] = detail::exact_add(static_cast<double>(off + k), here[k]);
      off += s.size;
    }
    for (const std::uint64_t i : numpy::argsort(position)) out.push_back(x[i]);
  }
  return out;
}

/// Sample ids of a table of places: a model of `id_sequence`.
class table_sequence {
 public:
  table_sequence(const unit_list& units, const ids& order)
      : ids_(std::make_shared<ids>(order.size())) {
    ids sample(units.size());
    unshuffled(units).read(0, sample);
    for (std::size_t i = 0; i < order.size(); ++i)
      (*ids_)[i] = sample[static_cast<std::size_t>(order[i])];
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return ids_->size(); }
  void read(std::uint64_t first, std::span<std::int64_t> out) const {
    std::copy_n(ids_->begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  }

 private:
  std::shared_ptr<ids> ids_;
};

}  // namespace mdstream::inline v0::shuffle
