#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/raw/detail/keys.hpp>
#include <mdstream/raw/tokens.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE index_builder::index_builder(source_format format,
                                             std::vector<listed_object> listing)
    : format_(std::move(format)) {
  std::sort(listing.begin(), listing.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  const auto patterns = format_.settings().files.empty() ? std::vector<std::string>{}
                                                         : expand_braces(format_.settings().files);
  const bool takes_files = format_.get().takes_whole_objects();
  for (listed_object& each : listing) {
    if (!is_data(each.key, patterns)) {
      if (each.key.ends_with(".idx")) beside_.push_back(std::move(each));
      continue;
    }
    if (each.key.ends_with(".idx") && format_.settings().format == tokens::name) {
      beside_.push_back(std::move(each));
      continue;
    }
    if (const auto bad = refused(each, takes_files)) {
      if (!format_.settings().skip_bad) throw *bad;
      ++skipped_;
      continue;
    }
    objects_.push_back({.file = std::move(each)});
  }
  if (objects_.empty())
    throw error(errc::not_found, "no object of the source is data" +
                                     (format_.settings().files.empty()
                                          ? std::string()
                                          : ": none matches \"" + format_.settings().files + '"'));
  if (format_.settings().format == tokens::name) pair_with_indexes();
  if (takes_files) cut_files();
}

MDSTREAM_INLINE const listed_object* index_builder::to_scan(std::size_t i) const {
  if (format_.get().takes_whole_objects()) return nullptr;
  return objects_[i].beside ? &*objects_[i].beside : &objects_[i].file;
}

MDSTREAM_INLINE bool index_builder::infers() const {
  return format_.settings().columns.empty() && !format_.get().takes_whole_objects();
}

MDSTREAM_INLINE void index_builder::add(std::size_t i, object_cuts found,
                                        const column_inference& columns) {
  objects_[i].note = std::move(found.note);
  objects_[i].cuts = std::move(found.cuts);
  objects_[i].entries = std::move(found.entries);
  columns_.merge(columns);
}

MDSTREAM_INLINE row_index index_builder::finish() {
  row_index out{format_.settings(), std::move(objects_)};
  if (format_.get().takes_whole_objects() && out.options.columns.empty()) {
    std::vector<std::string_view> keys;
    for (const indexed_object& each : out.objects) keys.push_back(each.file.key);
    out.options.columns = *format_.get().columns_of_files(keys);
  } else if (out.options.columns.empty()) {
    out.options.columns = columns_.columns(out.options);
  }
  (void)layout_of(out.options.columns);
  return out;
}

MDSTREAM_INLINE std::optional<error> index_builder::refused(const listed_object& each,
                                                            bool takes_files) const {
  std::string what;
  if (const auto bad = detail::unsafe_object_key(each.key))
    what = "the key " + std::string(*bad);
  else if (mdstream::detail::first_invalid_utf8(each.tag) != each.tag.size())
    what = "the object's tag is not UTF-8";
  else if (!objects_.empty() && objects_.back().file.key == each.key)
    what = "the listing has the key twice";
  else if (takes_files && each.bytes == 0)
    what = "the file is empty";
  else
    return std::nullopt;
  return error(errc::corrupt, diagnostics{.what = std::move(what), .url = each.key});
}

MDSTREAM_INLINE void index_builder::pair_with_indexes() {
  for (indexed_object& each : objects_) {
    if (!each.file.key.ends_with(".bin")) continue;
    const std::string wanted = each.file.key.substr(0, each.file.key.size() - 4) + ".idx";
    const auto found = std::lower_bound(
        beside_.begin(), beside_.end(), wanted,
        [](const listed_object& one, const std::string& key) { return one.key < key; });
    if (found == beside_.end() || found->key != wanted) continue;
    if (const auto bad = refused(*found, false)) throw *bad;
    each.beside = *found;
  }
}

MDSTREAM_INLINE void index_builder::cut_files() {
  const std::uint64_t shard_bytes = format_.settings().shard_bytes.value;
  std::uint64_t at = 0;
  cut* open = nullptr;
  for (indexed_object& each : objects_) {
    if (open == nullptr || at / shard_bytes != open->offset / shard_bytes) {
      each.cuts.push_back({.offset = at});
      open = &each.cuts.back();
    }
    if (__builtin_add_overflow(at, each.file.bytes, &at))
      throw error(errc::unsupported, "the files have more bytes than 64 bits count");
    ++open->samples;
    open->bytes = at - open->offset;
  }
}

MDSTREAM_INLINE std::vector<part_range> parts_of(const source_format& format,
                                                 const row_index& index, const shard_place& place) {
  const indexed_object& object = index.objects.at(place.object);
  const cut& each = object.cuts.at(place.cut);
  std::vector<part_range> out;
  const auto refuse = [&](const char* what) {
    throw error(errc::corrupt,
                diagnostics{.what = what, .url = object.file.key, .byte = each.offset});
  };
  if (format.get().takes_whole_objects()) {
    if (each.samples > index.objects.size() - place.object)
      refuse("the index has a shard of more files than there are");
    for (std::size_t i = 0; i < each.samples; ++i)
      out.push_back({place.object + i, false, {0, index.objects[place.object + i].file.bytes}});
    return out;
  }
  const auto add = [&](const byte_range& range, bool beside, std::uint64_t object_bytes) {
    if (range.bytes > object_bytes || range.offset > object_bytes - range.bytes)
      refuse("the index has a shard that reaches beyond its object");
    out.push_back({place.object, beside, range});
  };
  if (const auto ranges =
          detail::naming_object(object.file.key, [&] { return format.get().ranges(each); })) {
    if (each.bytes > mdstream::detail::mds_shard_builder::max_bytes)
      refuse("the index has a shard of 4 GiB or more");
    for (const byte_range& range : *ranges) add(range, false, object.file.bytes);
    return out;
  }
  const bool is_compressed = object.file.key.ends_with(".gz") || object.file.key.ends_with(".zst");
  add({each.offset, each.bytes}, false, is_compressed ? cut_sink::no_end : object.file.bytes);
  if (object.beside && !each.extra.empty())
    for (const auto& [begin, bytes] : detail::naming_object(
             object.file.key, [&] { return megatron_ranges(object.note, each.extra); }))
      add({begin, bytes}, true, object.beside->bytes);
  return out;
}

}  // namespace mdstream::inline v0::raw::detail
