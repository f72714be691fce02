#pragma once

#include <mdstream/checkpoint/detail/layout_text.hpp>
#include <mdstream/checkpoint/detail/run_texts.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/checkpoint/detail/tiling.hpp>
#include <mdstream/core/detail/base64.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>
#include <bitset>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE save_id read_save_id(const json::value& from) {
  const auto& text = from.as<std::string>("checkpoint");
  if (const auto id = save_id::parse(text)) return *id;
  throw error(errc::corrupt, "\"" + text + "\" is no checkpoint's name");
}

MDSTREAM_INLINE start_id read_start_id(const json::value& from) {
  const auto& text = from.as<std::string>("start");
  if (const auto id = start_id::parse(text)) return *id;
  throw error(errc::corrupt, "\"" + text + "\" is no start's name");
}

MDSTREAM_INLINE std::string write_manifest(const checkpoint_manifest& from) {
  json::object metadata;
  for (const auto& [key, value] : from.metadata) metadata.emplace_back(key, value);
  return write_sealed(
      "manifest",
      json::object{{"version", 1},
                   {"checkpoint", from.id.text()},
                   {"parent", from.parent ? json::value(from.parent->text()) : json::value()},
                   {"ranks", from.ranks},
                   {"layout_bytes", from.layout_bytes},
                   {"layout_crc32c", from.layout_crc},
                   {"data_bytes", from.data_bytes},
                   {"loader_state", from.loader_state},
                   {"metadata", std::move(metadata)}});
}

MDSTREAM_INLINE void require_version(const json::value& from) {
  if (const auto version = from.get<std::uint64_t>("version"); version != 1)
    throw error(errc::unsupported,
                "it is of version " + std::to_string(version) + ", this program reads version 1");
}

MDSTREAM_INLINE checkpoint_manifest read_manifest(std::string_view text, save_id id,
                                                  const diagnostics& where) {
  return read_sealed(text, "manifest", where, [&](const json::value& from) {
    require_version(from);
    checkpoint_manifest out{.id = read_save_id(from.at("checkpoint")),
                            .ranks = from.get<std::uint64_t>("ranks"),
                            .layout_bytes = from.get<std::uint64_t>("layout_bytes"),
                            .layout_crc = from.get<std::uint32_t>("layout_crc32c"),
                            .data_bytes = from.get<std::uint64_t>("data_bytes"),
                            .loader_state = from.get<std::string>("loader_state")};
    if (out.id != id) throw error(errc::corrupt, "it is that of " + out.id.text());
    if (out.ranks == 0) throw error(errc::corrupt, "no rank saved it");
    if (const json::value& parent = from.at("parent"); !parent.is_null())
      out.parent = read_save_id(parent);
    for (const auto& [key, value] : from.get<json::object>("metadata"))
      out.metadata.emplace_back(key, value.as<std::string>(key));
    return out;
  });
}

MDSTREAM_INLINE std::string write_start(const start_record& from) {
  json::array line;
  for (const auto& each : from.line) line.push_back(json::array{each.start.text(), each.through});
  return write_sealed("start", json::object{{"version", 1},
                                            {"start", from.id.text()},
                                            {"ranks", from.ranks},
                                            {"resumed", from.resumed},
                                            {"line", std::move(line)}});
}

MDSTREAM_INLINE start_record read_start(std::string_view text, std::optional<start_id> id,
                                        const diagnostics& where) {
  return read_sealed(text, "start", where, [&](const json::value& from) {
    require_version(from);
    start_record out{.id = read_start_id(from.at("start")),
                     .ranks = from.get<std::uint64_t>("ranks"),
                     .resumed = from.get<std::string>("resumed")};
    if (id && out.id != *id) throw error(errc::corrupt, "it is that of " + out.id.text());
    for (const json::value& each : from.get<json::array>("line")) {
      const auto& pair = each.as<json::array>("line");
      if (pair.size() != 2) throw error(errc::corrupt, "an entry of \"line\" is not two items");
      const start_id newer = out.line.empty() ? out.id : out.line.back().start;
      out.line.push_back({read_start_id(pair[0]), pair[1].as<std::uint64_t>("line")});
      if (out.line.back().start.number >= newer.number)
        throw error(errc::corrupt,
                    "\"line\" has " + out.line.back().start.text() + " before " + newer.text());
    }
    if (out.resumed.empty() != out.line.empty())
      throw error(errc::corrupt, "\"line\" does not begin with what it goes on from");
    return out;
  });
}

MDSTREAM_INLINE std::optional<checkpoint_manifest> resumed_manifest(const start_record& of,
                                                                    const diagnostics& where) {
  if (of.resumed.empty()) return std::nullopt;
  const auto& nearest = of.line.front();
  return read_manifest(of.resumed, save_id{nearest.start, nearest.through}, where);
}

MDSTREAM_INLINE std::string write_record(const rank_record& from) {
  if (from.own.size() > most_own_bytes)
    throw error(errc::invalid_argument,
                "a rank may keep 65536 bytes of its own, not " + std::to_string(from.own.size()));
  std::string out = begin_sealed("record");
  const auto add = [&out](std::string_view key, const json::value& value) {
    out.append(", \"").append(key).append("\": ");
    json::append_value(out, value);
  };
  add("version", 1);
  add("checkpoint", from.id.text());
  add("rank", from.rank);
  add("ranks", from.ranks);
  add("failed", from.failed);
  add("loader_state", from.loader_state);
  add("own", to_base64(as_bytes(from.own)));
  append_layout(out, from.data);
  seal(out);
  return out;
}

MDSTREAM_INLINE rank_record read_record(std::string_view text, save_id id, std::uint64_t rank,
                                        const diagnostics& where) {
  require_sealed(text, "record", where);
  rank_record out;
  json::reader in(text, where);
  layout_reader parts(in);
  constexpr std::array<std::string_view, 9> members{"checkpoint", "version", "rank",
                                                    "ranks",      "failed",  "loader_state",
                                                    "own",        "files",   "tensors"};
  std::bitset<members.size()> seen;
  in.begin_object();
  while (const auto key = in.next_key()) {
    const auto member =
        static_cast<std::size_t>(std::find(members.begin(), members.end(), *key) - members.begin());
    if (member == members.size()) {
      (void)in.skip();
      continue;
    }
    if (seen.test(member)) in.fail("\"" + std::string(*key) + "\" stands there twice");
    seen.set(member);
    if (*key == "checkpoint") {
      const auto found = save_id::parse(in.string());
      if (!found || *found != id) in.fail("the record is of another checkpoint");
      out.id = *found;
    } else if (*key == "version") {
      if (in.unsigned_integer() != 1) in.fail("the record is of another version");
    } else if (*key == "rank") {
      out.rank = in.unsigned_integer();
      if (out.rank != rank) in.fail("the record is of another rank");
    } else if (*key == "ranks") {
      out.ranks = in.unsigned_integer();
    } else if (*key == "failed") {
      out.failed = in.string();
    } else if (*key == "loader_state") {
      out.loader_state = in.string();
    } else if (*key == "own") {
      const auto bytes = from_base64(in.string());
      if (!bytes || bytes->size() > most_own_bytes) in.fail("\"own\" is not in base64");
      out.own = as_text(*bytes);
    } else if (*key == "files") {
      parts.read_files(out.data);
    } else {
      parts.read_tensors(out.data);
    }
  }
  in.finish();
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!seen.test(i)) in.fail("\"" + std::string(members[i]) + "\" is missing");
  require_disjoint(out.data, where);
  const std::string front = "r" + std::to_string(rank) + '-';
  for (const data_file& each : out.data.files)
    if (!each.name.starts_with(front)) in.fail("\"" + each.name + "\" is no file of the rank");
  return out;
}

}  // namespace mdstream::inline v0::detail
