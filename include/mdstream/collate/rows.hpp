#pragma once

/// What the collators of rows share: sequences that are too long, sizes of blocks, and the
/// value of padding.

#include <mdstream/core/error.hpp>
#include <mdstream/format/dtype.hpp>

#include <bit>
#include <cstdint>
#include <string>

namespace mdstream::inline v0::collate {

/// What happens to a sequence that is longer than its row.
enum class truncation : std::uint8_t {
  error,     ///< the batch fails with `errc::out_of_range`, which names the sample
  truncate,  ///< keep its first elements
  split,     ///< packed rows only: divide it into pieces that fit, each a run of its own
};

namespace detail {

/// Bytes of [rows][row] elements. Throws `errc::out_of_range` for more than any memory holds: one
/// sample's length is the length of all rows.
[[nodiscard]] inline std::uint64_t block_bytes(std::uint64_t rows, std::uint64_t row,
                                               std::uint64_t element) {
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(rows, row, &elements) ||
      __builtin_mul_overflow(elements, element, &bytes) || bytes > std::uint64_t{1} << 46)
    throw error(errc::out_of_range, "a block of " + std::to_string(rows) + " rows of " +
                                        std::to_string(row) + " elements is too large");
  return bytes;
}

/// The bits of `value` as an element of `type`, in the lowest bytes.
[[nodiscard]] constexpr std::uint64_t pad_bits(double value, dtype type) noexcept {
  switch (type) {
    case dtype::float16: return float16(value).bits;
    case dtype::float32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case dtype::float64: return std::bit_cast<std::uint64_t>(value);
    default: return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}

}  // namespace detail

}  // namespace mdstream::inline v0::collate
