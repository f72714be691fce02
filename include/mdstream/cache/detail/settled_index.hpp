#pragma once

/// What becomes of a stream's directory when the index of its remote is known: which dataset it
/// holds, and which of the files in it belong to that.

#include <mdstream/cache/detail/stream_origin.hpp>
#include <mdstream/format/index.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mdstream::inline v0::detail {

/// What a directory has of a dataset.
struct held_dataset {
  std::optional<stream_origin> origin{};
  std::uint64_t version = 0;  ///< of the index that lies there; 0: none does
  bool has_files = false;     ///< shards of this dataset or of the one before
};

/// What the remote has.
struct offered_dataset {
  std::string remote{};
  std::uint64_t version = 0;
  bool is_hashed = false;  ///< the index records hashes: equal indexes are of equal shards
  bool same_bytes = true;  ///< where it does not: of the bytes that were compared, if any were
};

enum class settlement {
  hold,     ///< the directory holds this dataset
  adopt,    ///< so it seems: what lies there was put there by others
  replace,  ///< it held another version, or nothing: only what is the same may stay
  refuse,   ///< it holds shards of another dataset
};

/// Pure.
[[nodiscard]] settlement settle(const held_dataset& held, const offered_dataset& offered);

/// Whether the index has hashes: of the first thousand shards each file, and then of one in a
/// thousand.
[[nodiscard]] bool is_hashed(const dataset_index& index);

/// Whether a file of the dataset lies there. A directory that has nothing but an index costs one
/// listing.
[[nodiscard]] bool holds_files(const std::string& directory, const dataset_index* before,
                               const dataset_index& now);

struct dropped_files {
  std::size_t dropped = 0, kept = 0;
};

/// Deletes what an index before names and the present one has not got with the same hash; where no
/// index was there before, what the present one has no hash of.
dropped_files drop_other_versions(const std::string& directory, const dataset_index* before,
                                  const dataset_index& now);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/settled_index.ipp>
#endif
