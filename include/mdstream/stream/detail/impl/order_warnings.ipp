#pragma once

#include <mdstream/stream/detail/order_warnings.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mdstream::inline v0::detail {

/// The largest part of a shard that an epoch has of a stream.
MDSTREAM_INLINE std::uint64_t largest_part(const run_order::engine_type& engine,
                                           std::size_t stream) {
  const shard_table& shards = engine.shards();
  std::uint64_t largest = 0;
  for (std::size_t i = shards.first_shard(stream); i < shards.first_shard(stream + 1); ++i)
    largest = std::max(largest, shards.size(i));
  const double share = std::min(1.0, engine.mix().repeat[stream]);
  return static_cast<std::uint64_t>(share * static_cast<double>(largest));
}

MDSTREAM_INLINE std::vector<std::string> order_warnings(const run_order::engine_type& engine,
                                                        const world& parallel,
                                                        std::uint64_t batch_size,
                                                        const epoch_start& start,
                                                        std::optional<std::uint64_t> predownload) {
  std::vector<std::string> out;
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  if (predownload && *predownload < batch_size)
    out.push_back("predownload is " + text(*predownload) +
                  " samples, but a batch of this rank has " + text(batch_size) +
                  ": shards are fetched too late; set it to " + text(batch_size) +
                  " or more, or do not set it");

  const order_options& order = engine.options();
  if (order.batching == batching_method::once) return out;
  const auto& choose = engine.mix().choose;
  const bool apart =
      order.batching != batching_method::random;  // streams are shuffled and dealt so
  const bool py1e = order.shuffle && engine.shuffler_model().name() == std::string_view("py1e");
  for (std::size_t k = 0; py1e && k < choose.size(); ++k) {
    const double share = apart ? engine.mix().proportion[k] : 1.0;
    const auto block =
        static_cast<std::uint64_t>(share * static_cast<double>(start.shuffle_block_size));
    const std::uint64_t shard = largest_part(engine, k);
    if (shard <= block) continue;
    out.push_back("shuffle blocks of " + text(block) + " samples are smaller than a shard of " +
                  text(shard) + " (stream " + text(k) +
                  "), whose samples then stay near each other: make shuffle_block_size larger");
    break;
  }

  std::uint64_t smallest = engine.epoch_size();
  for (const std::uint64_t of_stream : choose)
    if (apart && of_stream != 0) smallest = std::min(smallest, of_stream);
  const std::string of = apart ? " samples of a stream" : " samples of an epoch";
  if (smallest < start.num_canonical_nodes)
    out.push_back("the " + text(smallest) + of + " are fewer than the " +
                  text(start.num_canonical_nodes) +
                  " canonical nodes: many samples are repeated; make num_canonical_nodes smaller");
  else if (smallest < parallel.num_ranks())
    out.push_back("the " + text(smallest) + of + " are fewer than the " +
                  text(parallel.num_ranks()) + " ranks: many samples are repeated");

  const std::vector<std::uint64_t> left_out = engine.left_out(parallel, batch_size, start);
  std::string streams;
  for (std::size_t k = 0; k < left_out.size(); ++k)
    if (left_out[k] != 0)
      streams += (streams.empty() ? "" : ", ") + text(left_out[k]) + " of the " + text(choose[k]) +
                 " samples of stream " + text(k);
  if (!streams.empty())
    out.push_back("batching \"" + std::string(to_string(order.batching)) +
                  "\" leaves samples out of each epoch that fill no batch: " + streams);
  return out;
}

}  // namespace mdstream::inline v0::detail
