#pragma once

/// What to fetch, and where to put it: any box of any tensor, from however it was cut when it was
/// saved.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <utility>
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
  [[nodiscard]] std::uint64_t end() const noexcept {
    std::uint64_t at = from + run;
    for (const dimension& each : dimensions) at += (each.count - 1) * each.from;
    return at;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t product = run;
    for (const dimension& each : dimensions) product *= each.count;
    return product;
  }
};

/// Copies of `copy` whatever of its runs lies in the window, `window.size()` bytes of the file from
/// `begin` on, into `out`. Complexity: of the runs in the window.
inline void copy_window(const strided_copy& copy, std::uint64_t begin, bytes_view window,
                        std::byte* out, std::size_t dimension = 0, std::uint64_t from_moved = 0,
                        std::uint64_t to_moved = 0) {
  const std::uint64_t end = begin + window.size();
  if (dimension == copy.dimensions.size()) {
    const std::uint64_t at = copy.from + from_moved;
    const std::uint64_t first = std::max(at, begin), last = std::min(at + copy.run, end);
    if (first < last)
      std::memcpy(out + copy.to + to_moved + (first - at), window.data() + (first - begin),
                  static_cast<std::size_t>(last - first));
    return;
  }
  const auto& here = copy.dimensions[dimension];
  std::uint64_t span = copy.run;  // of the dimensions within
  for (std::size_t d = dimension + 1; d < copy.dimensions.size(); ++d)
    span += (copy.dimensions[d].count - 1) * copy.dimensions[d].from;
  const std::uint64_t base = copy.from + from_moved;
  // The first step that ends behind the window's begin.
  std::uint64_t step = base + span > begin ? 0 : (begin - base - span) / here.from + 1;
  for (; step < here.count && base + step * here.from < end; ++step)
    copy_window(copy, begin, window, out, dimension + 1, from_moved + step * here.from,
                to_moved + step * here.to);
}

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
  void want(std::string_view name, box_view wanted, std::uint32_t target) {
    const stored_tensor* tensor = layout_->find(name);
    if (tensor == nullptr)
      throw error(errc::not_found, "the checkpoint has no tensor \"" + std::string(name) + '"');
    if (!lies_within(wanted, tensor->shape))
      throw error(errc::invalid_argument, "tensor \"" + tensor->name + "\" of shape " +
                                              to_string(extents(tensor->shape)) +
                                              " has no box of extent " + to_string(wanted.extent) +
                                              " at " + to_string(wanted.offset));
    for (std::size_t i = 0; i < tensor->pieces.size(); ++i)
      if (const auto part = intersection(tensor->box_of(i), wanted))
        add(*tensor, i, *part, wanted, target);
  }

  [[nodiscard]] read_plan plan() && {
    read_plan out{.copies = std::move(copies_)};
    std::vector<planned_range> found;
    for (std::size_t i = 0; i < out.copies.size(); ++i) {
      const strided_copy& copy = out.copies[i];
      out.wanted += copy.bytes();
      // Inner dimensions whose gaps are short make one range.
      std::size_t outer = copy.dimensions.size();
      std::uint64_t span = copy.run;
      while (outer > 0 && copy.dimensions[outer - 1].from <= span + join_) {
        --outer;
        span += (copy.dimensions[outer].count - 1) * copy.dimensions[outer].from;
      }
      ranges_of(copy, static_cast<std::uint32_t>(i), 0, outer, copy.from, span, found);
    }
    std::sort(found.begin(), found.end(), [](const planned_range& a, const planned_range& b) {
      return std::tie(a.file, a.begin) < std::tie(b.file, b.begin);
    });
    for (planned_range& each : found) {
      if (!out.ranges.empty() && out.ranges.back().file == each.file &&
          each.begin <= out.ranges.back().end + join_) {
        planned_range& last = out.ranges.back();
        last.end = std::max(last.end, each.end);
        if (last.copies.back() != each.copies[0]) last.copies.push_back(each.copies[0]);
      } else {
        out.ranges.push_back(std::move(each));
      }
    }
    for (planned_range& each : out.ranges) {
      std::sort(each.copies.begin(), each.copies.end());
      each.copies.erase(std::unique(each.copies.begin(), each.copies.end()), each.copies.end());
      out.fetched += each.end - each.begin;
    }
    return out;
  }

 private:
  static void ranges_of(const strided_copy& copy, std::uint32_t number, std::size_t dimension,
                        std::size_t outer, std::uint64_t at, std::uint64_t span,
                        std::vector<planned_range>& found) {
    if (dimension == outer) {
      found.push_back({.file = copy.file, .begin = at, .end = at + span, .copies = {number}});
      return;
    }
    for (std::uint64_t i = 0; i < copy.dimensions[dimension].count; ++i)
      ranges_of(copy, number, dimension + 1, outer, at + i * copy.dimensions[dimension].from, span,
                found);
  }

  void add(const stored_tensor& tensor, std::size_t piece, const box& part, box_view wanted,
           std::uint32_t target) {
    const box_view stored = tensor.box_of(piece);
    const std::uint64_t bits = bits_of(tensor.type);
    const std::size_t rank = tensor.shape.size();
    // In bits, from the innermost dimension outwards; what is whole in both becomes one run.
    std::uint64_t from_step = bits, to_step = bits, from = 0, to = 0, run = bits;
    std::vector<strided_copy::dimension> dimensions;
    bool whole = true;
    for (std::size_t d = rank; d-- > 0;) {
      from += (part.offset[d] - stored.offset[d]) * from_step;
      to += (part.offset[d] - wanted.offset[d]) * to_step;
      if (whole)
        run *= part.extent[d];
      else if (part.extent[d] > 1)
        dimensions.push_back({part.extent[d], from_step, to_step});
      whole = whole && part.extent[d] == stored.extent[d] && part.extent[d] == wanted.extent[d];
      from_step *= stored.extent[d];
      to_step *= wanted.extent[d];
    }
    bool bytes = (from | to | run) % 8 == 0;
    for (const auto& each : dimensions) bytes = bytes && (each.from | each.to) % 8 == 0;
    if (!bytes)
      throw error(errc::invalid_argument,
                  "tensor \"" + tensor.name + "\" of " + std::string(to_string(tensor.type)) +
                      " can not be cut there: the parts are not whole bytes");
    for (auto& each : dimensions) each = {each.count, each.from / 8, each.to / 8};
    std::reverse(dimensions.begin(), dimensions.end());
    copies_.push_back({.file = tensor.pieces[piece].file,
                       .from = tensor.pieces[piece].at + from / 8,
                       .target = target,
                       .to = to / 8,
                       .run = run / 8,
                       .dimensions = std::move(dimensions)});
  }

  const data_layout* layout_;
  std::uint64_t join_;
  std::vector<strided_copy> copies_;
};

}  // namespace mdstream::inline v0::detail
