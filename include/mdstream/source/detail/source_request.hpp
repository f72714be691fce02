#pragma once

/// What a stream of foreign files is opened with, and what comes of it.

#include <mdstream/cache/detail/shard_maker.hpp>
#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/raw/options.hpp>
#include <mdstream/store/opened_store.hpp>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace mdstream::inline v0::detail {

struct source_request {
  std::string name{};     ///< of the stream, for messages
  any_async_store store;  ///< of the files; repeats requests by itself
  raw::options about{};
  stream_decoders decoders{};
  std::string directory{};  ///< of the stream: what is found out of the files is kept there
  /// The directory of this machine that the files may lie in and be read from without a copy;
  /// empty: they are copied.
  std::string in_place{};
  warning_function warn{};
  std::stop_token stop{};
};

/// Foreign files as a dataset.
struct opened_source {
  std::string index{};  ///< text of an index.json: its sizes are estimates
  std::shared_ptr<const shard_maker> maker{};
  std::uint64_t fingerprint = 0;  ///< of files, cuts and options: what a saved state notes
  std::string in_place{};         ///< the request's, where all shards are ranges of files there
};

}  // namespace mdstream::inline v0::detail
