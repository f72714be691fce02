#pragma once

#include <mdstream/order/detail/batching.hpp>
#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/dealt_sequence.hpp>
#include <mdstream/order/detail/interleaved.hpp>
#include <mdstream/order/detail/numpy_math.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/detail/partition.hpp>
#include <mdstream/order/detail/resample.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

/// Global batches of an order before the first that has padding. Reads the last ones.
[[nodiscard]] inline std::uint64_t full_batches(const epoch_order& order) {
  std::vector<std::int64_t> ids(order.global_batch_size());
  std::uint64_t full = order.global_batches();
  for (; full != 0; --full) {
    order.ids((full - 1) * ids.size(), ids);
    if (std::ranges::none_of(ids, [](std::int64_t id) { return id < 0; })) break;
  }
  return full;
}

/// Makes the order of one epoch, by the method that the options name.
class epoch_builder {
 public:
  epoch_builder(const epoch_request& request, const open_shuffle& open)
      : request_(request),
        open_(open),
        resample_(request.shards, request.start.shuffle_seed, request.start.epoch,
                  request.options) {
    world everyone = request.parallel;
    everyone.rank = 0;
    everyone.check();
    if (request.batch_size == 0) refuse("a batch size of 0");
    global_batch_ = checked_mul(everyone.num_ranks(), request.batch_size, "global batch size");
    static_cast<void>(
        checked_mul(global_batch_, request.parallel.workers_per_rank, "batches of all workers"));
  }

  [[nodiscard]] epoch_order build() const {
    switch (request_.options.batching) {
      case batching_method::random: return random();
      case batching_method::stratified: return stratified();
      case batching_method::per_stream: return per_stream();
      case batching_method::device_per_stream: return device_per_stream();
      case batching_method::once: return once();
    }
    refuse("an unknown batching method");
  }

  /// Global batches of `build` that have a sample, without what costs most: samples enough for all
  /// canonical nodes can be shuffled.
  [[nodiscard]] std::uint64_t batches() const {
    if (is_known_by_deal()) return filled_batches(random_deal());
    return build().filled_batches();
  }

  /// Those of them without padding, which come first.
  [[nodiscard]] std::uint64_t full_batches() const {
    if (is_known_by_deal()) {
      const partition deal = random_deal();
      return std::min(deal.global_batches(), deal.samples_per_rank() / deal.batch_size());
    }
    return mdstream::detail::full_batches(build());
  }

  [[nodiscard]] std::uint64_t least_batches() const {
    const std::vector<std::uint64_t>& choose = request_.mix.choose;
    switch (request_.options.batching) {
      case batching_method::random:
      case batching_method::once: break;
      case batching_method::stratified: return rows_of_shares(choose, shares());
      case batching_method::per_stream:
      case batching_method::device_per_stream: {
        std::uint64_t batches = 0;
        for (const std::uint64_t samples : choose) batches += samples / global_batch_;
        return batches;
      }
    }
    return request_.mix.epoch_size / global_batch_;
  }

  /// Samples of each stream that no global batch has.
  [[nodiscard]] std::vector<std::uint64_t> left_out() const {
    switch (request_.options.batching) {
      case batching_method::random:
      case batching_method::once: break;
      case batching_method::stratified: return stratified_leaves_out();
      case batching_method::per_stream:
      case batching_method::device_per_stream: return rows_leave_out();
    }
    return std::vector<std::uint64_t>(streams(), 0);
  }

 private:
  [[nodiscard]] bool is_known_by_deal() const {
    return request_.options.batching == batching_method::random &&
           request_.mix.epoch_size >= request_.start.num_canonical_nodes;
  }

  [[nodiscard]] std::size_t streams() const { return request_.mix.choose.size(); }

  /// The partition of the world that is asked for; the methods change parts of it.
  [[nodiscard]] partition_request deal_of(std::uint64_t samples) const {
    return {.algo = request_.options.partition,
            .samples = samples,
            .num_canonical_nodes = request_.start.num_canonical_nodes,
            .nodes = request_.parallel.nodes,
            .ranks_per_node = request_.parallel.ranks_per_node,
            .workers_per_rank = request_.parallel.workers_per_rank,
            .batch_size = request_.batch_size,
            .drop_first = 0,
            .initial_physical_nodes = request_.start.initial_physical_nodes};
  }

  /// The same of a stream of its own, in the world in which the run began.
  [[nodiscard]] partition deal_of_stream(std::uint64_t samples) const {
    partition_request wanted = deal_of(samples);
    wanted.initial_ranks_per_node = request_.start.initial_ranks_per_node;
    return partition(wanted);
  }

  [[nodiscard]] any_sequence open(const shuffle_units& units, std::uint64_t block_size) const {
    if (!request_.options.shuffle) return units;
    return open_({.units = units,
                  .num_canonical_nodes = request_.start.num_canonical_nodes,
                  .seed = request_.start.shuffle_seed,
                  .epoch = request_.start.epoch,
                  .block_size = block_size,
                  .plans = request_.plans});
  }

  [[nodiscard]] partition random_deal() const {
    partition_request wanted = deal_of(request_.mix.epoch_size);
    wanted.drop_first = request_.start.sample_in_epoch;
    return partition(wanted);
  }

  [[nodiscard]] epoch_order random() const {
    const shuffle_units units = resample_.units(0, streams(), request_.mix.choose);
    const partition deal = random_deal();
    return {dealt_sequence(deal, open(units, request_.start.shuffle_block_size)),
            deal.global_batch_size(), deal_of_batches(deal), filled_batches(deal)};
  }

  [[nodiscard]] static std::uint64_t filled_batches(const partition& deal) {
    return ceil_div(deal.samples_per_rank(), deal.batch_size());
  }

  [[nodiscard]] static batch_deal deal_of_batches(const partition& deal) {
    return {.nodes = deal.nodes(), .ranks_per_node = deal.ranks(), .batch_size = deal.batch_size()};
  }

  /// One stream on its own: its samples, and the block size in proportion to the stream.
  struct stream_part {
    any_sequence source{};
    std::uint64_t samples = 0;
  };
  [[nodiscard]] stream_part open_stream(std::size_t k) const {
    const shuffle_units units = resample_.units(k, k + 1, request_.mix.choose);
    return {open(units, block_size_of(k)), units.size()};
  }
  [[nodiscard]] std::uint64_t block_size_of(std::size_t k) const {
    return truncate(exact_mul(static_cast<double>(request_.start.shuffle_block_size),
                              request_.mix.proportion[k]),
                    "a stream's shuffle block");
  }

  /// Samples of each stream in a global batch.
  [[nodiscard]] std::vector<std::uint64_t> shares() const {
    const auto global = static_cast<double>(global_batch_);
    std::vector<std::uint64_t> share;
    std::vector<double> left;
    for (const double p : request_.mix.proportion) {
      const double exact = exact_mul(global, p);
      share.push_back(truncate(exact, "a stream's share of a global batch"));
      left.push_back(exact_add(exact, -static_cast<double>(share.back())));
    }
    const std::uint64_t given = checked_sum(share, "shares of a global batch");
    if (given > global_batch_ || global_batch_ - given > share.size())
      refuse("the shares of a global batch of " + std::to_string(global_batch_) + " add up to " +
             std::to_string(given));
    const std::vector<std::uint64_t> order = numpy::argsort(left);
    for (std::uint64_t i = 0; i < global_batch_ - given; ++i) ++share[order[order.size() - 1 - i]];
    for (std::size_t k = 0; k < share.size(); ++k)
      if (share[k] == 0)
        refuse("stream " + std::to_string(k) + " has no share in a global batch of " +
               std::to_string(global_batch_) + " samples");
    return share;
  }

  /// Global batches that have a full share of every stream.
  [[nodiscard]] static std::uint64_t rows_of_shares(std::span<const std::uint64_t> samples,
                                                    std::span<const std::uint64_t> share) {
    std::uint64_t batches = max_samples;
    for (std::size_t k = 0; k < share.size(); ++k)
      batches = std::min(batches, samples[k] / share[k]);
    return batches;
  }

  /// A stream's samples one by one, for every global batch to take its share.
  [[nodiscard]] partition deal_of_singles(std::uint64_t samples, std::uint64_t nodes,
                                          std::uint64_t ranks_per_node) const {
    partition_request wanted = deal_of(samples);
    wanted.nodes = nodes;
    wanted.ranks_per_node = ranks_per_node;
    wanted.batch_size = 1;
    return partition(wanted);
  }
  /// The same for `stratified` batches: to the ranks of a node in the world in which the run began.
  [[nodiscard]] partition deal_for_shares(std::uint64_t samples) const {
    return deal_of_singles(
        samples, 1,
        request_.start.initial_ranks_per_node.value_or(request_.parallel.ranks_per_node));
  }

  [[nodiscard]] std::vector<std::uint64_t> stratified_leaves_out() const {
    const std::vector<std::uint64_t> share = shares();
    std::vector<std::uint64_t> out = request_.mix.choose, dealt;
    for (const std::uint64_t samples : out) {
      const partition deal = deal_for_shares(samples);
      dealt.push_back(deal.samples_per_rank() * deal.ranks());
    }
    const std::uint64_t batches = rows_of_shares(dealt, share);
    for (std::size_t k = 0; k < streams(); ++k) out[k] -= std::min(out[k], batches * share[k]);
    return out;
  }

  [[nodiscard]] std::vector<std::uint64_t> rows_leave_out() const {
    const bool of_devices = request_.options.batching == batching_method::device_per_stream;
    const std::uint64_t ncn = request_.start.num_canonical_nodes, nodes = request_.parallel.nodes;
    std::vector<std::uint64_t> out = request_.mix.choose;
    for (std::uint64_t& samples : out) {
      if (of_devices) {
        const partition deal = deal_of_singles(samples, ncn, request_.parallel.ranks_per_node);
        const std::uint64_t of_node = deal.samples_per_rank() * deal.ranks() * (ncn / nodes);
        samples -= std::min(samples, of_node / request_.batch_size * request_.batch_size * nodes);
      } else {
        const partition deal = deal_of_stream(samples);
        const std::uint64_t rows = deal.samples_per_rank() / deal.batch_size();
        samples -= std::min(samples, rows * global_batch_);
      }
    }
    return out;
  }

  [[nodiscard]] epoch_order stratified() const {
    std::vector<any_sequence> parts;
    std::vector<std::uint64_t> samples;
    for (std::size_t k = 0; k < streams(); ++k) {
      stream_part stream = open_stream(k);
      const partition deal = deal_for_shares(stream.samples);
      samples.push_back(deal.samples_per_rank() * deal.ranks());
      parts.push_back(dealt_sequence(deal, std::move(stream.source)));
    }
    const std::vector<std::uint64_t> share = shares();
    return finish(side_by_side(std::move(parts), share, rows_of_shares(samples, share)));
  }

  [[nodiscard]] epoch_order per_stream() const {
    std::vector<any_sequence> parts;
    std::vector<std::uint64_t> rows;
    batch_deal dealt;  // the same for all streams
    for (std::size_t k = 0; k < streams(); ++k) {
      stream_part stream = open_stream(k);
      const partition deal = deal_of_stream(stream.samples);
      dealt = deal_of_batches(deal);
      rows.push_back(full_rows(k, deal.samples_per_rank() / deal.batch_size()));
      parts.push_back(dealt_sequence(deal, std::move(stream.source)));
    }
    numpy::generator random = mixing_generator();
    interleaved out(std::move(parts), global_batch_);
    for (const std::uint32_t k : shuffled_origins(rows, random)) out.add_row_of(k);
    return finish(std::move(out), dealt);
  }

  [[nodiscard]] epoch_order device_per_stream() const {
    const std::uint64_t ncn = request_.start.num_canonical_nodes;
    const std::uint64_t nodes = request_.parallel.nodes;
    if (ncn == 0 || ncn % nodes != 0)
      refuse("device_per_stream: " + std::to_string(nodes) + " nodes do not divide " +
             std::to_string(ncn) + " canonical nodes");
    std::vector<any_sequence> parts(nodes * streams());
    std::vector<std::vector<std::uint64_t>> rows(nodes);
    for (std::size_t k = 0; k < streams(); ++k) {
      if (request_.options.shuffle && block_size_of(k) == 0)
        refuse("device_per_stream: stream " + std::to_string(k) + " has no share in a block of " +
               std::to_string(request_.start.shuffle_block_size) + " samples");
      const stream_part stream = open_stream(k);
      const partition deal = deal_of_singles(stream.samples, ncn, request_.parallel.ranks_per_node);
      const std::uint64_t each = ncn / nodes;
      for (std::uint64_t node = 0; node < nodes; ++node) {
        rows[node].push_back(
            full_rows(k, deal.samples_per_rank() * deal.ranks() * each / request_.batch_size));
        parts[node * streams() + k] =
            dealt_sequence(deal, stream.source, node * each, (node + 1) * each);
      }
    }
    interleaved dealt = deal_device_batches(std::move(parts), rows);
    const std::uint64_t filled = dealt.filled();
    return finish(std::move(dealt), {}, filled);
  }

  /// The place in the epoch is all that counts: nothing is repeated to make ranks equal, and no
  /// batch is added for a worker.
  [[nodiscard]] epoch_order once() const {
    const std::uint64_t all = request_.mix.epoch_size;
    const std::uint64_t had = std::min(request_.start.sample_in_epoch, all);
    const std::uint64_t padded =
        checked_mul(ceil_div(all - had, global_batch_), global_batch_, "positions");
    return {resumed(resample_.units(0, streams(), request_.mix.choose), had, padded),
            global_batch_};
  }

  /// Row i of every node, then row i + 1: nodes that have fewer rows are filled up with padding.
  [[nodiscard]] interleaved deal_device_batches(
      std::vector<any_sequence> parts, const std::vector<std::vector<std::uint64_t>>& rows) const {
    std::uint64_t most = 0;
    for (const auto& of_node : rows) most = std::max(most, checked_sum(of_node, "device batches"));
    const std::uint64_t devices = request_.parallel.num_ranks();
    most = checked_add(most, devices - most % devices, "device batches");
    numpy::generator random = mixing_generator();
    std::vector<std::vector<std::uint32_t>> origins;
    for (const auto& of_node : rows) origins.push_back(shuffled_origins(of_node, random));
    interleaved out(std::move(parts), request_.batch_size);
    for (std::uint64_t i = 0; i < most; ++i)
      for (std::size_t node = 0; node < origins.size(); ++node) {
        if (i < origins[node].size())
          out.add_row_of(node * streams() + origins[node][i]);
        else
          out.add_padding_row();
      }
    return out;
  }

  [[nodiscard]] static std::uint64_t full_rows(std::size_t stream, std::uint64_t rows) {
    if (rows == 0)
      refuse("stream " + std::to_string(stream) + " has too few samples for one batch of its own");
    return rows;
  }

  /// Decides which stream comes when.
  [[nodiscard]] numpy::generator mixing_generator() const {
    const bool by_epoch =
        request_.options.shuffle && request_.options.sampling == sampling_method::balanced;
    return numpy::generator(
        by_epoch ? checked_add(request_.start.shuffle_seed, request_.start.epoch, "seed plus epoch")
                 : request_.start.shuffle_seed);
  }
  [[nodiscard]] static std::vector<std::uint32_t> shuffled_origins(
      const std::vector<std::uint64_t>& rows, numpy::generator& random) {
    std::vector<std::uint32_t> out;
    out.reserve(checked_sum(rows, "batches"));
    for (std::size_t k = 0; k < rows.size(); ++k)
      out.insert(out.end(), rows[k], static_cast<std::uint32_t>(k));
    random.shuffle(out);
    return out;
  }

  /// Leaves out the global batches that were consumed, and fills up to a batch for every worker.
  /// `filled`: positions in front of padding, if there is any.
  [[nodiscard]] epoch_order finish(any_sequence batches, batch_deal deal = {},
                                   std::optional<std::uint64_t> filled = {}) const {
    const std::uint64_t all = batches.size();
    const std::uint64_t had =
        std::min(request_.start.sample_in_epoch / global_batch_ * global_batch_, all);
    const std::uint64_t round = global_batch_ * request_.parallel.workers_per_rank;
    const std::uint64_t padded = checked_mul(ceil_div(all - had, round), round, "positions");
    const std::uint64_t last = filled.value_or(all);
    return {resumed(std::move(batches), had, padded), global_batch_, deal,
            ceil_div(last - std::min(had, last), global_batch_)};
  }

  const epoch_request& request_;
  const open_shuffle& open_;
  resampler resample_;
  std::uint64_t global_batch_ = 0;
};

MDSTREAM_INLINE epoch_order make_epoch(const epoch_request& request, const open_shuffle& open) {
  return epoch_builder(request, open).build();
}

MDSTREAM_INLINE std::uint64_t count_batches(const epoch_request& request,
                                            const open_shuffle& open) {
  return epoch_builder(request, open).batches();
}

MDSTREAM_INLINE std::uint64_t count_full_batches(const epoch_request& request,
                                                 const open_shuffle& open) {
  return epoch_builder(request, open).full_batches();
}

MDSTREAM_INLINE std::uint64_t count_least_batches(const epoch_request& request,
                                                  const open_shuffle& open) {
  return epoch_builder(request, open).least_batches();
}

MDSTREAM_INLINE std::vector<std::uint64_t> count_left_out(const epoch_request& request,
                                                          const open_shuffle& open) {
  return epoch_builder(request, open).left_out();
}

}  // namespace mdstream::inline v0::detail
