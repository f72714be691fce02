#pragma once

/// The small objects of a run: starts, records of ranks, manifests.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/checkpoint/metadata.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// What makes a checkpoint: the object that is created last.
struct checkpoint_manifest {
  save_id id{};
  std::optional<save_id> parent{};  ///< the checkpoint before it on its line
  std::uint64_t ranks = 0;          ///< that saved it
  std::uint64_t layout_bytes = 0;
  std::uint32_t layout_crc = 0;
  std::uint64_t data_bytes = 0;    ///< of all files
  std::string loader_state{};      ///< empty: none
  checkpoint_metadata metadata{};  ///< the user's

  friend bool operator==(const checkpoint_manifest&, const checkpoint_manifest&) = default;
};

/// What the ranks of one start agree on.
struct start_record {
  start_id id{};
  std::uint64_t ranks = 0;
  std::string resumed{};  ///< the text of the manifest that it goes on from; empty: from scratch

  /// A start whose checkpoints stand before this one's on its line, up to this step.
  struct ancestor {
    start_id start{};
    std::uint64_t through = 0;

    friend bool operator==(const ancestor&, const ancestor&) = default;
  };
  /// The nearest first; of that is `resumed`. Each is of a lower number than the one before.
  std::vector<ancestor> line{};

  friend bool operator==(const start_record&, const start_record&) = default;
};

/// What a rank has to say when its files are stored, or that it failed.
struct rank_record {
  save_id id{};
  std::uint64_t rank = 0;
  std::uint64_t ranks = 0;
  std::string failed{};        ///< why; empty: it did not
  std::string loader_state{};  ///< has to be the same on all ranks that have one
  std::string own{};           ///< bytes that the rank finds again where the ranks are as many
  data_layout data{};

  friend bool operator==(const rank_record&, const rank_record&) = default;
};

/// The most bytes that a rank may keep in its record.
inline constexpr std::size_t most_own_bytes = std::size_t{64} << 10;

[[nodiscard]] std::string write_manifest(const checkpoint_manifest& from);

void require_version(const json::value& from);

/// Throws `errc::corrupt` for what is no manifest, or another one than `id`'s.
[[nodiscard]] checkpoint_manifest read_manifest(std::string_view text, save_id id,
                                                const diagnostics& where = {});

[[nodiscard]] std::string write_start(const start_record& from);

/// As `read_manifest`; without `id` that of any start.
[[nodiscard]] start_record read_start(std::string_view text, std::optional<start_id> id,
                                      const diagnostics& where = {});

/// The manifest that a start goes on from.
[[nodiscard]] std::optional<checkpoint_manifest> resumed_manifest(const start_record& of,
                                                                  const diagnostics& where = {});

[[nodiscard]] std::string write_record(const rank_record& from);

/// As `read_manifest`, for that rank's record.
[[nodiscard]] rank_record read_record(std::string_view text, save_id id, std::uint64_t rank,
                                      const diagnostics& where = {});

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/run_texts.ipp>
#endif
