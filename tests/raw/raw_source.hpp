#pragma once

// Sources in memory for the tests of raw/.

#include <mdstream/format/mds_shard.hpp>
#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/raw/detail/transcode.hpp>
#include <mdstream/raw/formats.hpp>

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace raw_test {

namespace mds = mdstream;
namespace raw = mdstream::raw;

/// Objects by key.
using source = std::map<std::string, std::string>;

inline std::vector<raw::detail::listed_object> listing_of(const source& objects) {
  std::vector<raw::detail::listed_object> out;
  for (const auto& [key, bytes] : objects)
    out.push_back({key, bytes.size(), "tag-" + std::to_string(bytes.size())});
  return out;
}

/// Feeds a cutter with windows of at most `most` bytes, more where it cannot go on.
inline raw::detail::object_cuts cut_by(raw::detail::object_cutter& cutter, std::string_view object,
                                       std::size_t most) {
  std::uint64_t last_offset = ~std::uint64_t{0};
  std::size_t count = most;
  while (const auto wanted = cutter.next()) {
    count = wanted->offset == last_offset ? 2 * count : most;
    last_offset = wanted->offset;
    const std::string_view rest =
        wanted->offset < object.size() ? object.substr(wanted->offset) : std::string_view{};
    cutter.feed(mds::as_bytes(rest.substr(0, count)), count >= rest.size());
  }
  return cutter.finish();
}

/// Indexes a source. `most`: bytes of a window.
inline raw::detail::row_index index_of(const raw::source_format& format, const source& objects,
                                       std::size_t most,
                                       const std::vector<raw::detail::listed_object>& listing) {
  raw::detail::index_builder builder(format, listing);
  for (std::size_t i = 0; i < builder.objects().size(); ++i) {
    const raw::detail::listed_object* scanned = builder.to_scan(i);
    if (scanned == nullptr) continue;
    const std::string& bytes = objects.at(scanned->key);
    const std::uint64_t size = builder.objects()[i].file.bytes;
    raw::detail::column_inference columns;
    if (builder.infers())
      columns =
          raw::detail::infer_columns(format, scanned->key, {0, mds::as_bytes(bytes), true, size});
    raw::detail::object_cutter cutter(format, scanned->key, size);
    builder.add(i, cut_by(cutter, bytes, most), columns);
  }
  return builder.finish();
}

inline raw::detail::row_index index_of(const raw::source_format& format, const source& objects,
                                       std::size_t most = std::size_t{1} << 20) {
  return index_of(format, objects, most, listing_of(objects));
}

/// The MDS shard of a place.
inline raw::detail::transcoded shard_of(const raw::source_format& format,
                                        const raw::detail::row_index& index, const source& objects,
                                        const raw::detail::shard_place& place) {
  const raw::detail::indexed_object& object = index.objects.at(place.object);
  std::vector<std::string_view> keys;
  for (const auto& each : index.objects) keys.push_back(each.file.key);
  const auto labels = raw::labels_of(keys);
  std::vector<raw::part> parts;
  for (const raw::detail::part_range& each : raw::detail::parts_of(format, index, place)) {
    const raw::detail::indexed_object& from = index.objects[each.object];
    const std::string& key = each.beside ? from.beside->key : from.file.key;
    const std::string_view bytes = objects.at(key);
    parts.push_back({key, each.range.offset,
                     mds::as_bytes(bytes.substr(each.range.offset, each.range.bytes)),
                     labels[each.object]});
  }
  raw::cut cut = object.cuts[place.cut];
  const raw::cut_source from{.parts = parts, .note = object.note, .extra = cut.extra};
  if (format.settings().skip_bad)
    cut.samples = raw::detail::readable_samples(format, index.options.columns, from);
  return raw::detail::transcode(format, index.options.columns, cut, from);
}

/// The samples of a shard, in MDS form.
inline std::vector<std::string> samples_of(const raw::detail::transcoded& each) {
  std::vector<std::string> out;
  const mds::mds_shard_view shard(each.shard, each.samples);
  for (std::uint64_t i = 0; i < shard.size(); ++i) out.emplace_back(mds::as_text(shard[i]));
  return out;
}

/// All samples of a source, in MDS form.
inline std::vector<std::string> rows_of(const raw::source_format& format,
                                        const raw::detail::row_index& index,
                                        const source& objects) {
  std::vector<std::string> out;
  for (const raw::detail::shard_place& place : index.places())
    for (std::string& each : samples_of(shard_of(format, index, objects, place)))
      out.push_back(std::move(each));
  return out;
}

/// The values of one column, as text.
inline std::vector<std::string> texts_of(const raw::detail::row_index& index,
                                         const std::vector<std::string>& rows,
                                         std::string_view column) {
  const mds::sample_layout layout = raw::layout_of(index.options.columns);
  std::vector<std::string> out;
  for (const std::string& row : rows)
    out.emplace_back(mds::as_text(layout.locate(mds::as_bytes(row), layout.at(column))));
  return out;
}

inline raw::source_format format_of(raw::options about) {
  return raw::plain_formats::open(std::move(about));
}

}  // namespace raw_test
