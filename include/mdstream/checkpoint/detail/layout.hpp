#pragma once

/// Where the bytes of a checkpoint lie: its files, and of each tensor which box is where in which
/// file.

#include <mdstream/checkpoint/box.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// Files are hashed in blocks of so many bytes: what a range of a file is checked by.
inline constexpr std::uint64_t checksum_block = std::uint64_t{16} << 20;

struct data_file {
  std::string name{};                 ///< within the checkpoint's directory
  std::uint64_t bytes = 0;            ///< of the whole file
  std::vector<std::uint32_t> crcs{};  ///< CRC-32C of each `checksum_block`; none: not known

  friend bool operator==(const data_file&, const data_file&) = default;
};

/// A tensor and the boxes of it that are stored. Packed: a checkpoint may have a million boxes.
struct stored_tensor {
  std::string name{};
  tensor_type type{};
  tensor_shape shape{};
  struct piece {
    std::uint32_t file = 0;
    std::uint64_t at = 0;  ///< of its first byte in the file

    friend bool operator==(const piece&, const piece&) = default;
  };
  std::vector<piece> pieces{};
  std::vector<std::uint64_t> corners{};  ///< of each piece all offsets, then all extents

  [[nodiscard]] box_view box_of(std::size_t number) const noexcept;
  void add(std::uint32_t file, std::uint64_t at, box_view part);

  friend bool operator==(const stored_tensor&, const stored_tensor&) = default;
};

/// Tensors are sorted by name.
struct data_layout {
  std::vector<data_file> files{};
  std::vector<stored_tensor> tensors{};

  /// The tensor of that name; null if there is none.
  [[nodiscard]] const stored_tensor* find(std::string_view name) const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  friend bool operator==(const data_layout&, const data_layout&) = default;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/layout.ipp>
#endif
