#pragma once

/// What a loader tells of its streams, and where a sample comes from.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mdstream::inline v0 {

/// A sample's place in the streams that a loader was opened with; see `loader::origin`.
struct sample_origin {
  std::size_t stream = 0;   ///< its place in `options.streams`; 0 where `remote` names the only one
  std::uint32_t shard = 0;  ///< of that stream's index
  std::uint32_t index = 0;  ///< of the shard's samples

  friend bool operator==(const sample_origin&, const sample_origin&) = default;
};

/// The samples in whose place others were read; see `loader::bad_samples`.
struct replaced_samples {
  std::uint64_t count = 0;            ///< each as often as it was met
  std::vector<std::int64_t> first{};  ///< the ids of the first 64; empty if a state left them out
};

/// What a transform has made of samples; see `loader::results`. Unless it makes any number of
/// results, each sample has one. Padding does not count.
struct result_counts {
  std::uint64_t samples = 0;
  std::uint64_t results = 0;  ///< rows of batches
  std::uint64_t vetoed = 0;   ///< samples without a result

  friend bool operator==(const result_counts&, const result_counts&) = default;
};

/// What a node reads in an epoch; see `loader::nodes`.
struct node_info {
  std::uint64_t shards = 0;  ///< of which its ranks read samples
  std::uint64_t bytes = 0;   ///< of these shards in its cache

  friend bool operator==(const node_info&, const node_info&) = default;
};

/// A stream and its share of an epoch; see `loader::streams`.
struct stream_info {
  std::string name{};       ///< as errors call it: its remote, else its directory
  std::string directory{};  ///< where its shards lie on this machine
  /// Where the credentials for its remote came from, in words, such as a profile's name; never a
  /// secret. Empty for a remote without credentials.
  std::string credentials{};
  std::uint64_t shards = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;   ///< of its shards in that directory, once all are there
  std::uint64_t choose = 0;  ///< its samples in an epoch
  double proportion = 0;     ///< `choose` over the samples of an epoch
  double repeat = 0;         ///< `choose` over `samples`
};

}  // namespace mdstream::inline v0
