#pragma once

/// What to fetch, and where to put it: any box of any tensor, from however it was cut when it was
/// saved.

#include <mdstream/checkpoint/detail/cast.hpp>
#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdstream::inline v0::detail {

/// Runs of bytes that lie in a file in a regular pattern, and in memory in another. The outermost
/// dimension stands first; `run` bytes are one piece in both.
struct strided_copy {
  struct dimension {
    std::uint64_t count, from, to;  ///< steps, and their lengths in file and memory

    friend bool operator==(const dimension&, const dimension&) = default;
  };
  std::uint32_t file = 0;
  std::uint64_t from = 0;    ///< of the first run in the file
  std::uint32_t target = 0;  ///< which of the buffers that are read into
  std::uint64_t to = 0;      ///< of the first run in that
  std::uint64_t run = 0;
  std::vector<dimension> dimensions{};

  /// Where the last run ends in the file.
  [[nodiscard]] std::uint64_t end() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// Bytes of a file that have been fetched.
struct file_window {
  std::uint64_t begin = 0;
  bytes_view bytes{};
  std::size_t tail = 0;  ///< so many of them belong to the next window
};

/// Copies of `copy` whatever of its runs lies in the window into `out`. With a cast each element
/// that begins in the window, and lies in its bytes, is converted. Complexity: of the runs in the
/// window.
void copy_window(const strided_copy& copy, const file_window& window, std::byte* out,
                 const element_cast& cast = {});

/// A range of a file that one request fetches, and the copies that find bytes in it.
struct planned_range {
  std::uint32_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<std::uint32_t> copies{};

  friend bool operator==(const planned_range&, const planned_range&) = default;
};

struct read_plan {
  std::vector<strided_copy> copies{};
  std::vector<planned_range> ranges{};  ///< sorted; no two overlap
  std::uint64_t wanted = 0;             ///< bytes that copies place
  std::uint64_t fetched = 0;            ///< bytes of all ranges
};

/// Collects wanted boxes, then plans.
///
/// A gap between two wanted runs that is not longer than `join` is fetched with them: a request
/// costs about as much. Shorter than rows of shards are, so that these are not fetched for their
/// neighbours; longer than halves of rows.
class read_planner {
 public:
  static constexpr std::uint64_t default_join = std::uint64_t{64} << 10;

  explicit read_planner(const data_layout& layout, std::uint64_t join = default_join)
      : layout_(&layout), join_(join) {}

  /// The box `wanted` of a tensor, to be packed, row-major, in buffer `target`. Throws
  /// `errc::not_found` where there is no such tensor, `errc::invalid_argument` for a box outside,
  /// or one whose rows of 4-bit or 6-bit elements are not whole bytes.
  void want(std::string_view name, box_view wanted, std::uint32_t target);

  [[nodiscard]] read_plan plan() &&;

 private:
  static void ranges_of(const strided_copy& copy, std::uint32_t number, std::size_t dimension,
                        std::size_t outer, std::uint64_t at, std::uint64_t span,
                        std::vector<planned_range>& found);

  void add(const stored_tensor& tensor, std::size_t piece, const box& part, box_view wanted,
           std::uint32_t target);

  const data_layout* layout_;
  std::uint64_t join_;
  std::vector<strided_copy> copies_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/read_plan.ipp>
#endif
