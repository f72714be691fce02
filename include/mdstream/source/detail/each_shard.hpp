#pragma once

/// All rows of a source of foreign files in the order of its index: what a conversion reads.

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/raw/detail/transcode.hpp>
#include <mdstream/store/opened_store.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace mdstream::inline v0::detail {

struct each_shard_settings {
  unsigned jobs = 0;  ///< shards that are made at a time; 0: as many as cores, and two
  std::atomic<std::uint64_t>* plain_bytes = nullptr;  ///< counted: of shards that were taken
  std::stop_token stop{};
};

/// Gives `use` the MDS shard of each cut, in the order of the index, one at a time, from any
/// thread. Shards are read and made in parallel; of a compressed object they come one after the
/// other, because it is decompressed once. Throws as `raw_rows`, what `use` throws, and
/// errc::canceled after a stop. Blocks: not for a thread of the store's runtime.
/// Memory: for each job a shard and the bytes that it is made of.
void for_each_shard(const any_async_store& store, const stream_decoders& decoders,
                    const raw::source_format& format, raw::detail::row_index index,
                    const std::function<void(const raw::detail::transcoded&)>& use,
                    const each_shard_settings& settings = {});

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/each_shard.ipp>
#endif
