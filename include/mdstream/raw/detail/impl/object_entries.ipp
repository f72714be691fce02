#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/format/file_info.hpp>
#include <mdstream/raw/detail/object_entries.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <optional>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE void object_entries::add(std::uint64_t plain, std::uint64_t packed,
                                         std::uint64_t state_bytes, std::string_view key,
                                         std::uint64_t object_bytes) {
  const auto refuse = [&](const std::string& what) {
    throw error(errc::corrupt, "entry point " + std::to_string(points.size()) + " of \"" +
                                   std::string(key) + "\" " + what);
  };
  const object_entry before = points.empty() ? object_entry{} : points.back();
  if (plain <= before.plain || packed < before.packed) refuse("lies before the one before it");
  if (packed >= object_bytes)
    refuse("lies at byte " + std::to_string(packed) + " of an object of " +
           std::to_string(object_bytes) + " bytes");
  if (state_bytes > most_state_bytes)
    refuse("has a state of " + std::to_string(state_bytes) + " bytes");
  points.push_back({plain, packed, {this->state_bytes(), state_bytes}});
}

MDSTREAM_INLINE std::size_t object_entries::count_until(std::uint64_t plain) const noexcept {
  const auto next = std::ranges::upper_bound(points, plain, {}, &object_entry::plain);
  return static_cast<std::size_t>(next - points.begin());
}

MDSTREAM_INLINE void append_object_entries(std::string& out, const object_entries& entries) {
  out += '[';
  json::append_string(out, entries.states);
  for (const object_entry& each : entries.points)
    out += ", [" + std::to_string(each.plain) + ", " + std::to_string(each.packed) + ", " +
           std::to_string(each.state.bytes) + ']';
  out += ']';
}

MDSTREAM_INLINE object_entries read_entries(json::reader& in, std::string_view key,
                                            std::uint64_t object_bytes) {
  object_entries out;
  in.begin_array();
  if (!in.next_item()) in.fail("entry points begin with a name");
  out.states = in.string();
  if (!out.states.empty())
    if (const auto bad = out.states.find('/') != std::string::npos
                             ? std::optional<std::string_view>("has a directory")
                             : unsafe_file_name(out.states))
      in.fail("the name \"" + out.states + "\" of entry points " + std::string(*bad));
  while (in.next_item()) {
    std::uint64_t numbers[3] = {};
    in.begin_array();
    for (std::uint64_t& each : numbers) {
      if (!in.next_item()) in.fail("an entry point has fewer than three numbers");
      each = in.unsigned_integer();
    }
    if (in.next_item()) in.fail("an entry point has more than three numbers");
    out.add(numbers[0], numbers[1], numbers[2], key, object_bytes);
  }
  if (out.states.empty() && out.state_bytes() != 0) in.fail("entry points have states nowhere");
  return out;
}

}  // namespace mdstream::inline v0::raw::detail
