#pragma once

#include <mdstream/checkpoint/detail/read_plan.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint64_t strided_copy::end() const noexcept {
  std::uint64_t at = from + run;
  for (const dimension& each : dimensions) at += (each.count - 1) * each.from;
  return at;
}

MDSTREAM_INLINE std::uint64_t strided_copy::bytes() const noexcept {
  std::uint64_t product = run;
  for (const dimension& each : dimensions) product *= each.count;
  return product;
}

MDSTREAM_INLINE void copy_run(const strided_copy& copy, std::uint64_t from, std::uint64_t to,
                              const file_window& window, std::byte* out, const element_cast& cast) {
  const std::uint64_t end = window.begin + window.bytes.size() - window.tail;
  if (cast.run == nullptr) {
    const std::uint64_t first = std::max(from, window.begin), last = std::min(from + copy.run, end);
    if (first < last)
      std::memcpy(out + to + (first - from), window.bytes.data() + (first - window.begin),
                  static_cast<std::size_t>(last - first));
    return;
  }
  // Elements from the first that begins in the window to the first behind it.
  const auto elements_before = [&](std::uint64_t at) {
    return at <= from ? 0 : std::min(copy.run, at - from + cast.from - 1) / cast.from;
  };
  const std::uint64_t first = elements_before(window.begin);
  const std::uint64_t last = std::min(
      elements_before(end),
      elements_before(std::max<std::uint64_t>(end + window.tail, cast.from) - (cast.from - 1)));
  if (first < last)
    cast.run(window.bytes.data() + (from + first * cast.from - window.begin),
             out + (to / cast.from + first) * cast.to, static_cast<std::size_t>(last - first));
}

MDSTREAM_INLINE void copy_within(const strided_copy& copy, const file_window& window,
                                 std::byte* out, const element_cast& cast, std::size_t dimension,
                                 std::uint64_t from, std::uint64_t to) {
  if (dimension == copy.dimensions.size()) return copy_run(copy, from, to, window, out, cast);
  const auto& here = copy.dimensions[dimension];
  std::uint64_t span = copy.run;  // of the dimensions within
  for (std::size_t d = dimension + 1; d < copy.dimensions.size(); ++d)
    span += (copy.dimensions[d].count - 1) * copy.dimensions[d].from;
  const std::uint64_t end = window.begin + window.bytes.size() - window.tail;
  // The first step that ends behind the window's begin.
  std::uint64_t step =
      from + span > window.begin ? 0 : (window.begin - from - span) / here.from + 1;
  for (; step < here.count && from + step * here.from < end; ++step)
    copy_within(copy, window, out, cast, dimension + 1, from + step * here.from,
                to + step * here.to);
}

MDSTREAM_INLINE void copy_window(const strided_copy& copy, const file_window& window,
                                 std::byte* out, const element_cast& cast) {
  copy_within(copy, window, out, cast, 0, copy.from, copy.to);
}

MDSTREAM_INLINE void read_planner::want(std::string_view name, box_view wanted,
                                        std::uint32_t target) {
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

MDSTREAM_INLINE read_plan read_planner::plan() && {
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

MDSTREAM_INLINE void read_planner::ranges_of(const strided_copy& copy, std::uint32_t number,
                                             std::size_t dimension, std::size_t outer,
                                             std::uint64_t at, std::uint64_t span,
                                             std::vector<planned_range>& found) {
  if (dimension == outer) {
    found.push_back({.file = copy.file, .begin = at, .end = at + span, .copies = {number}});
    return;
  }
  for (std::uint64_t i = 0; i < copy.dimensions[dimension].count; ++i)
    ranges_of(copy, number, dimension + 1, outer, at + i * copy.dimensions[dimension].from, span,
              found);
}

MDSTREAM_INLINE void read_planner::add(const stored_tensor& tensor, std::size_t piece,
                                       const box& part, box_view wanted, std::uint32_t target) {
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
    throw error(errc::invalid_argument, "tensor \"" + tensor.name + "\" of " +
                                            std::string(mdstream::to_string(tensor.type)) +
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

}  // namespace mdstream::inline v0::detail
