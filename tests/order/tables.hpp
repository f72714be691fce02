#pragma once

/// The order of an epoch in its slow and plain form, as tables: what the library computes without
/// them is compared with this.

#include <mdstream/order/detail/batching.hpp>
#include <mdstream/order/detail/numpy_math.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/partition.hpp>
#include <mdstream/order/detail/sampling.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tables {

namespace numpy = mdstream::numpy;
using ids = std::vector<std::int64_t>;
using sizes = std::vector<std::uint64_t>;
struct span {
  std::int64_t begin, end;
};

struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct shuffle_arguments {
  sizes units;
  std::uint64_t ncn, seed, epoch, block_size;
};

inline std::vector<span> unit_spans(const sizes& units) {
  std::vector<span> out;
  std::int64_t at = 0;
  for (const auto s : units) {
    out.push_back({at, at + static_cast<std::int64_t>(s)});
    at += static_cast<std::int64_t>(s);
  }
  return out;
}

inline std::vector<std::vector<span>> cut(std::vector<span> spans, std::uint64_t nodes) {
  std::int64_t total = 0, done = 0;
  for (const span& s : spans) total += s.end - s.begin;
  std::vector<std::vector<span>> out(nodes);
  std::size_t k = 0;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    const std::int64_t limit =
        total * static_cast<std::int64_t>(node + 1) / static_cast<std::int64_t>(nodes);
    for (; k < spans.size(); ++k) {
      span& s = spans[k];
      if (done + s.end - s.begin > limit) {
        if (const std::int64_t room = limit - done; room > 0) {
          out[node].push_back({s.begin, s.begin + room});
          s.begin += room;
          done = limit;
        }
        break;
      }
      out[node].push_back(s);
      done += s.end - s.begin;
    }
  }
  return out;
}

inline ids range(const span& s) {
  ids out(static_cast<std::size_t>(s.end - s.begin));
  std::iota(out.begin(), out.end(), s.begin);
  return out;
}

inline std::vector<std::vector<span>> node_spans(const shuffle_arguments& a,
                                                 numpy::generator& epoch) {
  auto spans = unit_spans(a.units);
  numpy::generator(a.seed).shuffle(spans);
  auto nodes = cut(spans, a.ncn);
  for (auto& node : nodes) epoch.shuffle(node);
  return nodes;
}

inline ids naive(const shuffle_arguments& a) {
  return numpy::generator(a.seed + a.epoch)
      .permutation(std::accumulate(a.units.begin(), a.units.end(), std::uint64_t{0}));
}

inline ids py1s(const shuffle_arguments& a) {
  numpy::generator random(a.seed + a.epoch);
  ids out;
  for (const auto& node : node_spans(a, random))
    for (const span& s : node) {
      ids part = range(s);
      random.shuffle(part);
      out.insert(out.end(), part.begin(), part.end());
    }
  return out;
}

inline ids py2s(const shuffle_arguments& a) {
  numpy::generator run(a.seed);
  auto shards = unit_spans(a.units);
  run.shuffle(shards);
  ids flat;
  sizes order;
  for (const span& s : shards) {
    ids part = range(s);
    run.shuffle(part);
    flat.insert(flat.end(), part.begin(), part.end());
    order.push_back(part.size());
  }
  numpy::generator random(a.seed + a.epoch);
  ids out;
  for (const auto& node : cut(unit_spans(order), a.ncn)) {
    std::vector<ids> pieces;
    for (const span& s : node) pieces.emplace_back(flat.begin() + s.begin, flat.begin() + s.end);
    random.shuffle(pieces);
    for (ids& p : pieces) {
      random.shuffle(p);
      out.insert(out.end(), p.begin(), p.end());
    }
  }
  return out;
}

inline std::pair<std::int64_t, std::int64_t> block_sizes(const shuffle_arguments& a) {
  const auto low = static_cast<std::int64_t>(0.75 * static_cast<double>(a.block_size));
  const auto high = static_cast<std::int64_t>(1.25 * static_cast<double>(a.block_size));
  return {low, high};
}

inline ids py1br(const shuffle_arguments& a) {
  numpy::generator random(a.seed + a.epoch);
  const auto nodes = node_spans(a, random);
  const auto [low, high] = block_sizes(a);
  ids stagger;
  for (std::size_t p = 0; p < nodes.size(); ++p) stagger.push_back(random.integers(0, low));
  ids out;
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    ids x;
    for (const span& s : nodes[p])
      for (std::int64_t i = s.begin; i < s.end; ++i) x.push_back(i);
    const auto n = static_cast<std::int64_t>(x.size());
    std::vector<span> blocks;
    for (std::int64_t at = 0; at < n;) {
      const std::int64_t size = random.integers(low, high);
      blocks.push_back(
          {std::max<std::int64_t>(at - stagger[p], 0), std::min(at + size - stagger[p], n)});
      at += blocks.back().end - blocks.back().begin;
    }
    for (const span& b : blocks)
      random.shuffle(std::span(x).subspan(static_cast<std::size_t>(b.begin),
                                          static_cast<std::size_t>(b.end - b.begin)));
    out.insert(out.end(), x.begin(), x.end());
  }
  return out;
}

inline ids py1e(const shuffle_arguments& a) {
  numpy::generator random(a.seed + a.epoch);
  const auto nodes = node_spans(a, random);
  const auto [low, high] = block_sizes(a);
  ids out;
  for (const auto& node : nodes) {
    ids x;
    for (const span& s : node) {
      ids part = range(s);
      random.shuffle(part);
      x.insert(x.end(), part.begin(), part.end());
    }
    if (x.empty()) throw failure("an empty canonical node");
    std::vector<double> position;
    for (const span& s : node) {
      const auto off = static_cast<double>(position.size());
      const auto size = static_cast<double>(s.end - s.begin);
      const double half =
          std::max((static_cast<double>(random.integers(low, high)) - size) / 2, 0.0);
      std::vector<double> shifts(static_cast<std::size_t>(s.end - s.begin));
      random.uniform(std::max(-half, -off),
                     std::min(half, static_cast<double>(x.size()) - off - size), shifts);
      for (const double shift : shifts)
        position.push_back(
            mdstream::detail::exact_add(static_cast<double>(position.size()), shift));
    }
    for (const auto i : numpy::argsort(position)) out.push_back(x[i]);
  }
  return out;
}

inline ids shuffle(const std::string& name, const shuffle_arguments& a) {
  if (name == "naive") return naive(a);
  if (name == "py1s") return py1s(a);
  if (name == "py2s") return py2s(a);
  if (name == "py1br") return py1br(a);
  return py1e(a);
}

/// The array [node][rank][worker][batch][sample] in C order.
struct array {
  std::uint64_t nodes, ranks, workers, rounds, batch;
  ids data;

  template <class Visit>
  void for_each_in_global_order(Visit visit) const {
    for (std::uint64_t k = 0; k < rounds; ++k)
      for (std::uint64_t w = 0; w < workers; ++w)
        for (std::uint64_t r = 0; r < nodes * ranks; ++r)
          for (std::uint64_t b = 0; b < batch; ++b)
            visit((((r * workers) + w) * rounds + k) * batch + b);
  }
  [[nodiscard]] ids global_order() const {
    ids out;
    for_each_in_global_order([&](std::uint64_t i) { out.push_back(data[i]); });
    return out;
  }
};

inline array orig_partition(const mdstream::detail::partition_request& q) {
  const auto n = static_cast<std::int64_t>(q.samples),
             ncn = static_cast<std::int64_t>(q.num_canonical_nodes),
             nodes = static_cast<std::int64_t>(q.nodes),
             ranks = static_cast<std::int64_t>(q.ranks_per_node);
  if ((ncn < nodes && nodes % ncn) || (nodes < ncn && ncn % nodes)) throw failure("divisibility");
  const auto drop = static_cast<std::int64_t>(q.drop_first) / nodes * nodes;
  const std::int64_t longest = (n + ncn - 1) / ncn;
  const std::int64_t ratio = ncn < nodes ? nodes / ncn : 1;
  const std::int64_t pad = (ratio - longest % ratio) % ratio;
  std::vector<ids> rows;
  for (std::int64_t c = 0; c < ncn; ++c) {
    ids row(static_cast<std::size_t>(longest + pad));
    if (n > ncn || (n == ncn && ncn >= nodes)) {
      const std::int64_t b = c * n / ncn, e = (c + 1) * n / ncn;
      std::iota(row.begin(), row.end(), b);
      if (e - b < longest) --row[static_cast<std::size_t>(longest - 1)];
      if (pad) {
        const auto width = static_cast<std::int64_t>(row.size());
        const ids source(row.begin() + std::max<std::int64_t>(width - 2 * pad - ratio + 1, 0),
                         row.begin() + std::max<std::int64_t>(width - pad - ratio + 1, 0));
        if (static_cast<std::int64_t>(source.size()) != pad && source.size() != 1)
          throw failure("broadcast");
        for (std::size_t i = 0; i < static_cast<std::size_t>(pad); ++i)
          row[row.size() - static_cast<std::size_t>(pad) + i] = source[source.size() == 1 ? 0 : i];
      }
    } else {
      for (std::size_t j = 0; j < row.size(); ++j)
        row[j] = (c * static_cast<std::int64_t>(row.size()) + static_cast<std::int64_t>(j)) % n;
    }
    rows.push_back(row);
  }
  ids flat;
  for (std::size_t j = 0; j < rows[0].size(); ++j)
    for (const ids& row : rows) flat.push_back(row[j]);
  flat.erase(flat.begin(),
             flat.begin() + std::min<std::int64_t>(drop, static_cast<std::int64_t>(flat.size())));

  array out{q.nodes, q.ranks_per_node, q.workers_per_rank, 0, q.batch_size, {}};
  std::vector<ids> dealt(q.nodes);
  for (std::size_t i = 0; i < flat.size(); ++i) dealt[i % q.nodes].push_back(flat[i]);
  for (ids& x : dealt) {
    const auto m = static_cast<std::int64_t>(x.size());
    if (m % ranks == 0) continue;
    const std::int64_t more = ranks - m % ranks;
    const std::int64_t from = ranks + more - 1 <= m ? m - ranks - more + 1 : 0;
    for (std::int64_t i = 0; i < more; ++i)
      x.push_back(x[static_cast<std::size_t>((from + i) % m)]);
  }
  const std::uint64_t per_rank = dealt[0].size() / q.ranks_per_node;
  const std::uint64_t round = q.workers_per_rank * q.batch_size;
  out.rounds = (per_rank + round - 1) / round;
  for (std::uint64_t p = 0; p < q.nodes; ++p)
    for (std::uint64_t r = 0; r < q.ranks_per_node; ++r)
      for (std::uint64_t w = 0; w < q.workers_per_rank; ++w)
        for (std::uint64_t k = 0; k < out.rounds; ++k)
          for (std::uint64_t b = 0; b < q.batch_size; ++b) {
            const std::uint64_t i = (k * q.workers_per_rank + w) * q.batch_size + b;
            out.data.push_back(i < per_rank ? dealt[p][r + i * q.ranks_per_node] : -1);
          }
  return out;
}

/// Deals a sequence in global order.
inline array from_global_order(const ids& sequence, std::uint64_t nodes, std::uint64_t ranks,
                               std::uint64_t workers, std::uint64_t batch) {
  array out{nodes,   ranks,
            workers, sequence.size() / (nodes * ranks * workers * batch),
            batch,   ids(sequence.size())};
  std::size_t next = 0;
  out.for_each_in_global_order([&](std::uint64_t i) { out.data[i] = sequence[next++]; });
  return out;
}

inline array partition(const mdstream::detail::partition_request& q) {
  const std::uint64_t world = q.nodes * q.ranks_per_node;
  // Further than the reference goes: its own states of an epoch's end, where rows repeat samples.
  const auto refuse_beyond = [&](mdstream::detail::partition_request first) {
    first.drop_first = 0;
    const ids all = orig_partition(first).data;
    const auto dealt = std::count_if(all.begin(), all.end(), [](std::int64_t i) { return i >= 0; });
    if (q.drop_first >
        std::max(q.samples + world - q.samples % world, static_cast<std::uint64_t>(dealt)))
      throw failure("beyond the end");
  };
  const std::uint64_t ncn = q.num_canonical_nodes;
  if (q.algo == mdstream::partition_algo::orig || !q.initial_physical_nodes ||
      (q.nodes <= ncn && ncn % q.nodes == 0) || (q.nodes > ncn && q.nodes % ncn == 0)) {
    refuse_beyond(q);
    return orig_partition(q);
  }
  const std::uint64_t global = world * q.batch_size;
  const std::uint64_t initial = *q.initial_physical_nodes * q.ranks_per_node;
  if (global % initial) throw failure("global batch");
  auto first = q;
  first.nodes = *q.initial_physical_nodes;
  first.batch_size = global / initial;
  refuse_beyond(first);
  return from_global_order(orig_partition(first).global_order(), q.nodes, q.ranks_per_node,
                           q.workers_per_rank, q.batch_size);
}

/// The units of some streams and the sample id of every place.
struct resampled {
  sizes units;
  ids sample;
};

inline resampled resample(const mdstream::detail::epoch_request& q, std::size_t from,
                          std::size_t to) {
  const bool balanced = q.options.sampling == mdstream::sampling_method::balanced;
  numpy::generator random(balanced ? q.start.shuffle_seed + q.start.epoch : q.start.shuffle_seed);
  resampled out;
  for (std::size_t k = from; k < to; ++k) {
    const auto taken = mdstream::detail::sample_shards(
        q.shards->sizes(k), q.mix.choose[k], q.options.sampling_granularity, q.start.shuffle_seed,
        q.start.epoch, balanced && q.options.shuffle);
    for (std::size_t j = 0; j < taken.size(); ++j) {
      const std::size_t shard = q.shards->first_shard(k) + j;
      const std::uint64_t size = q.shards->size(shard), base = q.shards->begin(shard);
      if (size == 0) continue;
      for (std::uint64_t again = 0; again < taken[j] / size; ++again) {
        out.units.push_back(size);
        for (std::uint64_t i = 0; i < size; ++i)
          out.sample.push_back(static_cast<std::int64_t>(base + i));
      }
      if (taken[j] % size == 0) continue;
      auto rest = random.choice(size, taken[j] % size);
      std::sort(rest.begin(), rest.end());
      out.units.push_back(rest.size());
      for (const auto i : rest) out.sample.push_back(static_cast<std::int64_t>(base + i));
    }
  }
  if (out.sample.empty()) throw failure("nothing");
  return out;
}

inline ids apply(const mdstream::detail::epoch_request& q, const std::string& shuffler,
                 const resampled& r, std::uint64_t block_size, ids places) {
  ids order;
  if (q.options.shuffle)
    order = shuffle(shuffler, {r.units, q.start.num_canonical_nodes, q.start.shuffle_seed,
                               q.start.epoch, block_size});
  for (auto& x : places) {
    if (x < 0) continue;
    const auto position = static_cast<std::size_t>(x);
    x = r.sample.at(q.options.shuffle ? static_cast<std::size_t>(order.at(position)) : position);
  }
  return places;
}

/// The random batching method in global order.
inline ids random_epoch(const mdstream::detail::epoch_request& q, const std::string& shuffler) {
  const resampled r = resample(q, 0, q.mix.choose.size());
  const array part = partition({.algo = q.options.partition,
                                .samples = q.mix.epoch_size,
                                .num_canonical_nodes = q.start.num_canonical_nodes,
                                .nodes = q.parallel.nodes,
                                .ranks_per_node = q.parallel.ranks_per_node,
                                .workers_per_rank = q.parallel.workers_per_rank,
                                .batch_size = q.batch_size,
                                .drop_first = q.start.sample_in_epoch,
                                .initial_physical_nodes = q.start.initial_physical_nodes});
  return apply(q, shuffler, r, q.start.shuffle_block_size, part.global_order());
}

}  // namespace tables
