#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/file_info.hpp>
#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::uint64_t row_index::shards() const noexcept {
  std::uint64_t out = 0;
  for (const indexed_object& each : objects) out += each.cuts.size();
  return out;
}

MDSTREAM_INLINE std::uint64_t row_index::samples() const noexcept {
  std::uint64_t out = 0;
  for (const indexed_object& each : objects)
    for (const cut& one : each.cuts) out += one.samples;
  return out;
}

MDSTREAM_INLINE std::vector<shard_place> row_index::places() const {
  std::vector<shard_place> out;
  for (std::size_t i = 0; i < objects.size(); ++i)
    for (std::size_t k = 0; k < objects[i].cuts.size(); ++k) out.push_back({i, k});
  return out;
}

/// All of the index; or what says which rows it has: without entry points, and without the tags of
/// objects whose cuts all have checksums.
MDSTREAM_INLINE std::string text_of(const row_index& index, bool is_whole) {
  std::string out = json::dump(json::object{{"mdstream", "row index"},
                                            {"version", row_index::version},
                                            {"options", detail::json_of(index.options)},
                                            {"objects", index.objects.size()},
                                            {"shards", index.shards()},
                                            {"samples", index.samples()}});
  out += '\n';
  bool with_tag = true;
  for (const indexed_object& each : index.objects) {
    // A file that has no cut belongs to the one before.
    if (!each.cuts.empty())
      with_tag = is_whole || !std::ranges::all_of(
                                 each.cuts, [](const cut& one) { return one.crc32c.has_value(); });
    out += R"({"object": )";
    append_json(out, each.file, with_tag);
    if (each.beside) {
      out += R"(, "beside": )";
      append_json(out, *each.beside, with_tag);
    }
    if (!each.note.empty()) {
      out += R"(, "note": )";
      json::append_string(out, each.note);
    }
    out += R"(, "cuts": )";
    append_json(out, each.cuts);
    if (is_whole && each.entries) append_object_entries(out += R"(, "entries": )", *each.entries);
    out += "}\n";
  }
  return out;
}

MDSTREAM_INLINE std::string row_index::dump() const { return text_of(*this, true); }

MDSTREAM_INLINE std::uint64_t row_index::fingerprint() const {
  return fnv1a().add(text_of(*this, false)).value();
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE void append_json(std::string& out, const listed_object& file, bool with_tag) {
  out += '[';
  json::append_string(out, file.key);
  out += ", " + std::to_string(file.bytes) + ", ";
  json::append_string(out, with_tag ? std::string_view(file.tag) : std::string_view());
  out += ']';
}

MDSTREAM_INLINE void append_json(std::string& out, const cut& each) {
  out += '[' + std::to_string(each.offset) + ", " + std::to_string(each.bytes) + ", " +
         std::to_string(each.samples) + ", " +
         (each.crc32c ? std::to_string(*each.crc32c) : std::string("null"));
  for (const std::uint64_t number : each.extra) out += ", " + std::to_string(number);
  out += ']';
}

MDSTREAM_INLINE void append_json(std::string& out, const std::vector<cut>& cuts) {
  out += '[';
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (i != 0) out += ", ";
    append_json(out, cuts[i]);
  }
  out += ']';
}

MDSTREAM_INLINE json::value json_of(const options& about) {
  json::object out{{"format", about.format}, {"files", about.files}};
  json::array columns;
  for (const column& each : about.columns)
    columns.push_back(json::array{each.name, each.encoding, each.pointer});
  out.emplace_back("columns", std::move(columns));
  out.emplace_back("null_value", about.null_value ? json::value(*about.null_value) : json::value());
  out.emplace_back("shard_bytes", about.shard_bytes.value);
  out.emplace_back("max_row_bytes", about.max_row_bytes.value);
  out.emplace_back("skip_bad", about.skip_bad);
  out.emplace_back("delimiter", about.delimiter);
  out.emplace_back("unit", about.unit);
  out.emplace_back("window", about.window);
  out.emplace_back("stride", about.stride);
  out.emplace_back("dtype", about.dtype);
  out.emplace_back("document_token",
                   about.document_token ? json::value(*about.document_token) : json::value());
  out.emplace_back("document_token_last", about.document_token_last);
  return out;
}

MDSTREAM_INLINE options options_of(const json::value& text) {
  options out;
  out.format = text.get<std::string>("format");
  out.files = text.get<std::string>("files");
  for (const json::value& each : text.get<json::array>("columns")) {
    const auto& parts = each.as<json::array>("columns");
    if (parts.size() != 3) throw error(errc::corrupt, "a column has not three parts");
    out.columns.push_back(
        {parts[0].as<std::string>(), parts[1].as<std::string>(), parts[2].as<std::string>()});
  }
  try {
    (void)layout_of(out.columns);
  } catch (const error& e) {
    throw error(errc::corrupt, e.where());
  }
  if (const json::value& null = text.at("null_value"); !null.is_null())
    out.null_value = null.as<std::string>("null_value");
  out.shard_bytes = text.get<std::uint64_t>("shard_bytes");
  out.max_row_bytes = text.get<std::uint64_t>("max_row_bytes");
  out.skip_bad = text.get<bool>("skip_bad");
  out.delimiter = text.get<std::string>("delimiter");
  out.unit = text.get<std::string>("unit");
  out.window = text.get<std::uint64_t>("window");
  out.stride = text.get<std::uint64_t>("stride");
  out.dtype = text.get<std::string>("dtype");
  if (const json::value& token = text.at("document_token"); !token.is_null())
    out.document_token = token.as<std::uint64_t>("document_token");
  out.document_token_last = text.get<bool>("document_token_last");
  if (out.shard_bytes.value == 0) throw error(errc::corrupt, "shard_bytes is 0");
  return out;
}

MDSTREAM_INLINE std::optional<std::string_view> unsafe_object_key(std::string_view key) noexcept {
  if (mdstream::detail::first_invalid_utf8(key) != key.size()) return "is not UTF-8";
  // a file of this name is data like any other
  if (key.ends_with("index.json")) key.remove_suffix(std::string_view(".json").size());
  return unsafe_file_name(key);
}

MDSTREAM_INLINE listed_object read_object(json::reader& in) {
  const auto next = [&in](bool wanted) {
    if (in.next_item() != wanted) in.fail("an object has key, bytes and tag");
  };
  listed_object out;
  in.begin_array();
  next(true);
  out.key = in.string();
  next(true);
  out.bytes = in.unsigned_integer();
  next(true);
  out.tag = in.string();
  next(false);
  if (const auto bad = unsafe_object_key(out.key))
    in.fail("the key \"" + out.key + "\" " + std::string(*bad));
  return out;
}

MDSTREAM_INLINE cut read_cut(json::reader& in) {
  const auto next = [&in] {
    if (!in.next_item()) in.fail("a cut has fewer than four numbers");
  };
  cut out;
  in.begin_array();
  for (std::uint64_t* each : {&out.offset, &out.bytes, &out.samples}) {
    next();
    *each = in.unsigned_integer();
  }
  next();
  if (!in.take_null()) {
    const std::uint64_t sum = in.unsigned_integer();
    if (!std::in_range<std::uint32_t>(sum)) in.fail("a checksum has more than 32 bits");
    out.crc32c = static_cast<std::uint32_t>(sum);
  }
  while (in.next_item()) out.extra.push_back(in.unsigned_integer());
  return out;
}

MDSTREAM_INLINE std::vector<cut> read_cuts(json::reader& in) {
  std::vector<cut> out;
  in.begin_array();
  while (in.next_item()) out.push_back(read_cut(in));
  return out;
}

MDSTREAM_INLINE void check_cuts(const std::vector<cut>& cuts, std::uint64_t shard_bytes) {
  const auto bad = [](std::size_t i, const char* what) {
    throw error(errc::corrupt, "cut " + std::to_string(i) + ' ' + what);
  };
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const cut& each = cuts[i];
    std::uint64_t end = 0;
    if (__builtin_add_overflow(each.offset, each.bytes, &end)) bad(i, "ends beyond 64 bits");
    if (each.samples == 0) bad(i, "has no samples");
    if (each.samples > cut_sink::most_samples) bad(i, "has too many samples");
    if (i > 0 && each.offset / shard_bytes <= cuts[i - 1].offset / shard_bytes)
      bad(i, "begins in the stretch of the one before");
  }
}

MDSTREAM_INLINE std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  std::uint64_t out = 0;
  if (__builtin_add_overflow(a, b, &out))
    throw error(errc::corrupt, "the index has more samples than 64 bits count");
  return out;
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE row_index row_index::parse(std::string_view text) {
  row_index out;
  std::uint64_t number = 0, objects = 0, shards = 0, samples = 0;
  std::uint64_t found_shards = 0, found_samples = 0;
  const std::string_view all = text;
  const auto read_head = [&](const json::value& line) {
    const json::value* mark = line.type() == json::kind::object ? line.find("mdstream") : nullptr;
    if (mark == nullptr || !(*mark == json::value("row index")))
      throw error(errc::corrupt, "the text is not a row index");
    if (const auto found = line.get<std::uint64_t>("version"); found != version)
      throw error(errc::unsupported, "the row index has version " + std::to_string(found) +
                                         ", this program reads version " + std::to_string(version) +
                                         ": make the index anew");
    out.options = detail::options_of(line.at("options"));
    objects = line.get<std::uint64_t>("objects");
    shards = line.get<std::uint64_t>("shards");
    samples = line.get<std::uint64_t>("samples");
  };
  const auto add_object = [&](std::string_view line) {
    indexed_object each;
    json::reader in(line);
    in.begin_object();
    while (const auto key = in.next_key()) {
      if (*key == "object")
        each.file = read_object(in);
      else if (*key == "beside")
        each.beside = read_object(in);
      else if (*key == "note")
        each.note = in.string();
      else if (*key == "cuts")
        each.cuts = read_cuts(in);
      else if (*key == "entries")
        each.entries = read_entries(in, each.file.key, each.file.bytes);
      else
        in.skip();
    }
    in.finish();
    if (each.file.key.empty()) throw error(errc::corrupt, "the line names no object");
    if (!out.objects.empty() && each.file.key <= out.objects.back().file.key)
      throw error(errc::corrupt, "the key \"" + each.file.key + "\" is not in its order");
    for (const cut& one : each.cuts) found_samples = detail::plus(found_samples, one.samples);
    detail::check_cuts(each.cuts, out.options.shard_bytes.value);
    found_shards += each.cuts.size();
    out.objects.push_back(std::move(each));
  };
  do {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const auto at = static_cast<std::uint64_t>(line.data() - all.data());
    try {
      if (end == std::string_view::npos) throw error(errc::corrupt, "the row index is cut short");
      number == 0 ? read_head(json::parse(line)) : add_object(line);
    } catch (const error& e) {
      diagnostics where = e.where();
      where.what = "line " + std::to_string(number + 1) + ": " + where.what;
      where.byte = at + where.byte.value_or(0);
      throw error(e.code(), std::move(where));
    }
    text.remove_prefix(end + 1);
    ++number;
  } while (!text.empty());
  if (out.objects.size() != objects || found_shards != shards || found_samples != samples)
    throw error(
        errc::corrupt,
        diagnostics{.what = "the row index says that it has " + std::to_string(objects) +
                            " objects, " + std::to_string(shards) + " shards and " +
                            std::to_string(samples) + " samples, but it has " +
                            std::to_string(out.objects.size()) + ", " +
                            std::to_string(found_shards) + " and " + std::to_string(found_samples),
                    .byte = all.size()});
  return out;
}

MDSTREAM_INLINE std::string identity_of(const row_index& index, const shard_place& place) {
  const indexed_object& object = index.objects.at(place.object);
  std::string out = '[' + json::dump(detail::json_of(index.options)) + ", ";
  append_json(out, object.file);
  if (object.beside) append_json(out += ", ", *object.beside);
  json::append_string(out += ", ", object.note);
  append_json(out += ", ", object.cuts.at(place.cut));
  return out + ']';
}

MDSTREAM_INLINE index_update compare(const row_index& index,
                                     const std::vector<listed_object>& listing) {
  index_update out;
  auto known = index.objects.begin();
  for (const listed_object& each : listing) {
    for (; known != index.objects.end() && known->file.key < each.key; ++known)
      out.gone.push_back(known->file.key);
    const bool has = known != index.objects.end() && known->file.key == each.key;
    if (!has || !(known->file == each)) out.to_scan.push_back(each);
    if (has && !(known->file == each)) out.changed.push_back(each);
    if (has) ++known;
  }
  for (; known != index.objects.end(); ++known) out.gone.push_back(known->file.key);
  return out;
}

MDSTREAM_INLINE void check_unchanged(const listed_object& indexed, const listed_object& found) {
  if (indexed.tag == found.tag && indexed.bytes == found.bytes) return;
  throw error(errc::corrupt,
              diagnostics{.what = "the object has changed since it was indexed: it had " +
                                  std::to_string(indexed.bytes) + " bytes and the tag \"" +
                                  indexed.tag + "\", now " + std::to_string(found.bytes) +
                                  " and \"" + found.tag + "\"; update the index",
                          .url = indexed.key,
                          .is_final = true});
}

}  // namespace mdstream::inline v0::raw::detail
