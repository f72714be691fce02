#pragma once

#include <mdstream/checkpoint/detail/choice.hpp>
#include <mdstream/checkpoint/detail/layout_text.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::vector<save_id> checkpoints_of_line(
    start_id own, const std::vector<start_record::ancestor>& line,
    const std::set<save_id>& manifests) {
  std::vector<save_id> out;
  const auto add = [&](start_id start, std::uint64_t through) {
    auto at = manifests.upper_bound({start, through});
    while (at != manifests.begin() && (--at)->start == start) out.push_back(*at);
  };
  add(own, ~std::uint64_t{0});
  for (const auto& each : line) add(each.start, each.through);
  return out;
}

MDSTREAM_INLINE listed_starts listed_starts::of(const std::vector<object_info>& listing) {
  listed_starts out;
  for (const object_info& each : listing) {
    for (const bool record : {true, false}) {
      const auto name = between(each.key, "starts/", record ? ".json" : ".claim");
      if (!name) continue;
      if (const auto id = start_id::parse(*name)) (record ? out.recorded : out.claimed).insert(*id);
    }
  }
  return out;
}

MDSTREAM_INLINE std::optional<start_id> listed_starts::other_from(start_id own) const {
  for (const auto* each : {&recorded, &claimed})
    for (auto at = each->lower_bound({own.number, 0}); at != each->end(); ++at)
      if (*at != own) return *at;
  return std::nullopt;
}

MDSTREAM_INLINE std::uint64_t listed_starts::last_number() const {
  std::uint64_t last = 0;
  for (const auto* each : {&recorded, &claimed})
    if (!each->empty()) last = std::max(last, each->rbegin()->number);
  return last;
}

MDSTREAM_INLINE std::set<save_id> listed_manifests(const std::vector<object_info>& listing) {
  std::set<save_id> out;
  for (const object_info& each : listing)
    if (const auto id = save_of_manifest(each.key)) out.insert(*id);
  return out;
}

MDSTREAM_INLINE std::set<save_id> listed_notes(const std::vector<object_info>& listing,
                                               std::string_view folder) {
  std::set<save_id> out;
  for (const object_info& each : listing)
    if (const auto id = save_of_note(each.key, folder)) out.insert(*id);
  return out;
}

MDSTREAM_INLINE std::optional<std::string> missing_files(const data_layout& layout, save_id id,
                                                         const std::vector<object_info>& listing) {
  for (const data_file& each : layout.files) {
    const std::string key = id.directory() + each.name;
    const auto at = std::lower_bound(
        listing.begin(), listing.end(), key,
        [](const object_info& object, const std::string& wanted) { return object.key < wanted; });
    if (at == listing.end() || at->key != key) return each.name + " is missing";
    // Of several stores one may have another size.
    const auto right = std::find_if(at, listing.end(), [&](const object_info& object) {
      return object.key != key || object.bytes == each.bytes;
    });
    if (right == listing.end() || right->key != key)
      return each.name + " has " + std::to_string(at->bytes) + " bytes, not " +
             std::to_string(each.bytes);
  }
  return std::nullopt;
}

MDSTREAM_INLINE data_layout read_layout_of(const checkpoint_manifest& manifest,
                                           const std::string& text) {
  const diagnostics where{.url = manifest.id.layout()};
  if (text.size() != manifest.layout_bytes ||
      mdstream::detail::crc32c(as_bytes(text)) != manifest.layout_crc)
    throw error(errc::corrupt,
                diagnostics{.what = "the layout is not the one of the manifest", .url = where.url});
  data_layout out = read_layout(text, where);
  if (out.bytes() != manifest.data_bytes)
    throw error(
        errc::corrupt,
        diagnostics{.what = "the layout's files have " + std::to_string(out.bytes()) +
                            " bytes, by the manifest " + std::to_string(manifest.data_bytes),
                    .url = where.url});
  return out;
}

}  // namespace mdstream::inline v0::detail
