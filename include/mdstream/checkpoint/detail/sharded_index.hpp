#pragma once

/// `model.safetensors.index.json`: which file of a Hugging Face model holds which tensor.

#include <mdstream/core/error.hpp>
#include <mdstream/core/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct sharded_index {
  std::uint64_t total_size = 0;  ///< bytes of all tensors, as the index says; 0: it does not
  std::vector<std::pair<std::string, std::string>> files{};  ///< tensor to file, sorted

  /// Each file once, sorted.
  [[nodiscard]] std::vector<std::string> file_names() const;

  friend bool operator==(const sharded_index&, const sharded_index&) = default;
};

/// Throws `errc::corrupt` for what is no such index; a file's name that leads out of the directory
/// is one.
[[nodiscard]] sharded_index read_sharded_index(std::string_view text,
                                               const diagnostics& where = {});

[[nodiscard]] std::string write_sharded_index(const sharded_index& index);

/// `model-00001-of-00007.safetensors` for number 0 of 7; `model.safetensors` where it is the only.
[[nodiscard]] std::string sharded_file_name(std::size_t number, std::size_t of);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/sharded_index.ipp>
#endif
