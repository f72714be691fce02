#pragma once

/// The head of a safetensors file: a u64 (little-endian) with the bytes of the JSON text that
/// follows, which tells name, type, shape and place of each tensor; the tensors' bytes come next,
/// without gaps, to the end of the file.
/// Source: the description of the format at github.com/huggingface/safetensors. Stricter than its
/// reference implementation in what no writer does: equal names, members that the format does not
/// know, and entries that are arrays are refused.

#include <mdstream/checkpoint/box.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// One tensor of a file. Offsets count from the first byte behind the head.
struct safetensors_entry {
  std::string name{};
  tensor_type type{};
  tensor_shape shape{};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const safetensors_entry&, const safetensors_entry&) = default;
};

struct safetensors_head {
  std::vector<safetensors_entry> tensors{};  ///< as their bytes lie in the file
  std::vector<std::pair<std::string, std::string>> metadata{};
  std::uint64_t data_at = 0;     ///< offset in the file of the tensors' bytes
  std::uint64_t data_bytes = 0;  ///< of all tensors

  friend bool operator==(const safetensors_head&, const safetensors_head&) = default;
};

inline constexpr std::uint64_t safetensors_most_text = 100'000'000;

/// Bytes of a file's head, which its first 8 bytes tell. Throws `errc::corrupt` where these are
/// missing or tell what cannot be; `where` names the file.
[[nodiscard]] std::uint64_t safetensors_head_bytes(bytes_view first, std::uint64_t file_bytes,
                                                   diagnostics where = {});

/// Reads the text of a head.
class safetensors_reader {
 public:
  safetensors_reader(std::string_view head, diagnostics where) : in_(head, std::move(where)) {
    in_.advance_to(8);
  }

  [[nodiscard]] safetensors_head read();

 private:
  /// A text that has no lone surrogates.
  std::string checked(std::string_view text);

  void read_metadata(safetensors_head& out);

  safetensors_entry read_entry(std::string name);

  [[noreturn]] void fail(const std::string& name, const std::string& why) {
    in_.fail("tensor \"" + name + "\": " + why);
  }

  json::reader in_;
};

/// Reads a head, which is the `safetensors_head_bytes` first bytes of a file of `file_bytes`.
/// Throws `errc::corrupt`, naming tensor or byte, unless it describes that file to the last byte.
[[nodiscard]] safetensors_head read_safetensors(bytes_view head, std::uint64_t file_bytes,
                                                const diagnostics& where = {});

/// The order of tensors in a file: wide types first, which aligns them all, then by name.
[[nodiscard]] inline bool safetensors_before(const safetensors_entry& a,
                                             const safetensors_entry& b) {
  return a.type != b.type ? a.type > b.type : a.name < b.name;
}

/// Sorts the tensors, gives them their offsets, and returns the bytes of the head.
/// Precondition: the names are distinct and the shapes are of whole bytes.
/// Throws `errc::unsupported` for a header of more than 100,000,000 bytes.
[[nodiscard]] std::string write_safetensors(
    std::span<safetensors_entry> tensors,
    std::span<const std::pair<std::string, std::string>> metadata);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/safetensors.ipp>
#endif
