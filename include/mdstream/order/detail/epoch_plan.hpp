#pragma once

/// What an epoch will read, before it is read.

#include <mdstream/core/error.hpp>
#include <mdstream/order/detail/shard_table.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/world.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

struct stream_plan {
  std::uint64_t samples = 0;               ///< read, repeats counted
  std::uint64_t repeated = 0;              ///< of these, not the first reading of the sample
  std::uint64_t dropped = 0;               ///< samples of the stream that are not read
  std::uint64_t shards = 0;                ///< of which something is read
  std::vector<std::uint64_t> by_window{};  ///< samples read in each of the epoch's windows
};

struct node_plan {
  std::uint64_t shards = 0;  ///< of which the node reads something
  std::uint64_t bytes = 0;   ///< of these shards
};

struct epoch_plan {
  std::vector<stream_plan> streams{};
  std::vector<node_plan> nodes{};
  std::uint64_t padding = 0;  ///< positions without a sample
};

/// Goes once through the order. `shard_bytes` are the sizes to download, of all shards of all
/// streams in order; `windows` equal parts of the epoch are told apart. O(positions) time; a bit
/// for each sample, and one for each shard and node. Throws `errc::invalid_argument` where sizes
/// and shards differ in number, and for no windows.
[[nodiscard]] inline epoch_plan plan(const epoch_order& order, const shard_table& shards,
                                     const world& parallel, std::uint64_t batch_size,
                                     std::span<const std::uint64_t> shard_bytes,
                                     std::size_t windows = 10) {
  if (shard_bytes.size() != shards.shards() || windows == 0)
    throw error(errc::invalid_argument, "a plan needs the bytes of each shard, and windows");
  epoch_plan out{.streams = std::vector<stream_plan>(shards.streams()),
                 .nodes = std::vector<node_plan>(parallel.nodes)};
  for (std::size_t k = 0; k < shards.streams(); ++k) {
    out.streams[k].by_window.resize(windows);
    out.streams[k].dropped = shards.stream_samples(k);
  }
  std::vector<bool> seen(shards.samples()), used(shards.shards()),
      on_node(shards.shards() * parallel.nodes);
  const auto note = [&](std::int64_t id, std::uint64_t position) {
    const std::size_t shard = shards.shard_of(static_cast<std::uint64_t>(id));
    stream_plan& stream = out.streams[shards.stream_of(shard)];
    const auto sample = static_cast<std::size_t>(id);
    ++stream.samples;
    ++stream.by_window[static_cast<std::size_t>(
        detail::mul_div(position, windows, order.positions()))];
    if (seen[sample])
      ++stream.repeated;
    else
      --stream.dropped;
    seen[sample] = true;
    if (!used[shard]) ++stream.shards;
    used[shard] = true;
    const std::uint64_t rank = position % order.global_batch_size() / batch_size;
    const std::size_t node = rank / parallel.ranks_per_node;
    if (on_node[node * shards.shards() + shard]) return;
    on_node[node * shards.shards() + shard] = true;
    ++out.nodes[node].shards;
    out.nodes[node].bytes += shard_bytes[shard];
  };
  std::vector<std::int64_t> ids(std::min<std::uint64_t>(order.positions(), 1 << 16));
  for (std::uint64_t at = 0; at < order.positions(); at += ids.size()) {
    const auto part =
        std::span(ids).first(std::min<std::uint64_t>(ids.size(), order.positions() - at));
    order.ids(at, part);
    for (std::size_t i = 0; i < part.size(); ++i)
      if (part[i] < 0)
        ++out.padding;
      else
        note(part[i], at + i);
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
