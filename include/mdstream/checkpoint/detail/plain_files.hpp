#pragma once

/// Safetensors files as others write them: a model of the Hub, in one file or several with an
/// index, or the files of a torch distributed checkpoint.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/checkpoint/detail/sharded_index.hpp>
#include <mdstream/checkpoint/metadata.hpp>
#include <mdstream/store/store.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Which objects of a place make up a model: an index, which names its files, or the files.
struct plain_choice {
  std::string index{};
  std::vector<std::string> files{};

  friend bool operator==(const plain_choice&, const plain_choice&) = default;
};

/// As `checkpoint::open_files` says. Throws `errc::not_found`, `errc::invalid_argument` where there
/// are several indexes.
[[nodiscard]] plain_choice choose_plain_files(std::span<const object_info> listing);

/// Throws `errc::corrupt` unless each tensor of an index is in the file that it names.
void require_indexed(const sharded_index& index,
                     std::span<const std::pair<std::string, safetensors_head>> files,
                     const diagnostics& where);

struct plain_files {
  data_layout layout{};
  checkpoint_metadata metadata{};  ///< of all files, sorted
};

/// Reads index and heads. `name` as `checkpoint::open_files` has it.
[[nodiscard]] plain_files open_plain_files(run_store& store, std::string_view name);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/plain_files.ipp>
#endif
