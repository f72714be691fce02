#pragma once

/// From a loader's options to what its parts are made from.

#include <mdstream/core/error.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/stream/options.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// The streams. Their warnings go to stderr where nobody hears them otherwise.
[[nodiscard]] dataset_options dataset_part(const loader_options& from, bool hears_warnings);

[[nodiscard]] order_options order_part(const loader_options& from);

/// The world that the options or the launcher's environment tell, before replication.
[[nodiscard]] world world_of(const loader_options& from);

/// Workers of a runtime of the loader's own.
[[nodiscard]] unsigned threads_of(const loader_options& from);

/// This rank's place among the distinct ones: the world that the order is made for.
[[nodiscard]] world position_of(const loader_options& from);

[[nodiscard]] std::uint64_t batch_size_of(const loader_options& from, const world& here);

/// Bytes of prefetched batches; `prepares`: their samples are transformed first.
[[nodiscard]] std::uint64_t prefetch_limit_of(const loader_options& from, bool prepares);

void check_block_size(const loader_options& from);

template <class Shuffler>
[[nodiscard]] Shuffler shuffler_of(const std::string& name) {
  if constexpr (std::constructible_from<Shuffler, std::string_view>) {
    return name.empty() ? Shuffler{} : Shuffler(std::string_view(name));
  } else {
    const std::string_view own = Shuffler{}.name();
    if (!name.empty() && name != own)
      throw error(errc::invalid_argument, "shuffle_algo is \"" + name +
                                              "\", but the policies' shuffler is \"" +
                                              std::string(own) + '"');
    return Shuffler{};
  }
}

/// Samples of each shard that are in a subset, stream by stream; shards without any are left out.
/// Throws `errc::invalid_argument` for a subset of a dataset of another size, and for a stream
/// without any of its samples.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> shards_of_subset(
    const sample_subset& of, const std::vector<std::vector<std::uint64_t>>& shards);

/// The streams as the order sees them. Throws `errc::invalid_argument` as `shards_of_subset` does,
/// and where bad shards are to be substituted in a subset.
[[nodiscard]] std::vector<stream_shards> weighted_shards(
    const loader_options& from, const std::vector<std::vector<std::uint64_t>>& shards);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/run_settings.ipp>
#endif
