#pragma once

/// The small objects of a run: starts, records of ranks, manifests.

#include <mdstream/checkpoint/detail/layout_text.hpp>
#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/core/base64.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// What makes a checkpoint: the object that is created last.
struct checkpoint_manifest {
  save_id id{};
  std::optional<save_id> parent{};  ///< the checkpoint before it on its line
  std::uint64_t ranks = 0;          ///< that saved it
  std::uint64_t layout_bytes = 0;
  std::uint32_t layout_crc = 0;
  std::uint64_t data_bytes = 0;                                 ///< of all files
  std::string loader_state{};                                   ///< empty: none
  std::vector<std::pair<std::string, std::string>> metadata{};  ///< the user's

  friend bool operator==(const checkpoint_manifest&, const checkpoint_manifest&) = default;
};

/// What the ranks of one start agree on.
struct start_record {
  start_id id{};
  std::uint64_t ranks = 0;
  std::string resumed{};  ///< the text of the manifest that it goes on from; empty: from scratch

  /// A start whose checkpoints stand before this one's on its line, up to this step.
  struct ancestor {
    start_id start{};
    std::uint64_t through = 0;

    friend bool operator==(const ancestor&, const ancestor&) = default;
  };
  std::vector<ancestor> line{};  ///< the nearest first; of that is `resumed`

  friend bool operator==(const start_record&, const start_record&) = default;
};

/// What a rank has to say when its files are stored, or that it failed.
struct rank_record {
  save_id id{};
  std::uint64_t rank = 0;
  std::uint64_t ranks = 0;
  std::string failed{};        ///< why; empty: it did not
  std::string loader_state{};  ///< has to be the same on all ranks that have one
  std::string own{};           ///< bytes that the rank finds again where the ranks are as many
  data_layout data{};

  friend bool operator==(const rank_record&, const rank_record&) = default;
};

/// The most bytes that a rank may keep in its record.
inline constexpr std::size_t most_own_bytes = std::size_t{64} << 10;

[[nodiscard]] inline save_id read_save_id(const json::value& from) {
  const auto& text = from.as<std::string>("checkpoint");
  if (const auto id = save_id::parse(text)) return *id;
  throw error(errc::corrupt, "\"" + text + "\" is no checkpoint's name");
}

[[nodiscard]] inline start_id read_start_id(const json::value& from) {
  const auto& text = from.as<std::string>("start");
  if (const auto id = start_id::parse(text)) return *id;
  throw error(errc::corrupt, "\"" + text + "\" is no start's name");
}

[[nodiscard]] inline std::string write_manifest(const checkpoint_manifest& from) {
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

inline void require_version(const json::value& from) {
  if (const auto version = from.get<std::uint64_t>("version"); version != 1)
    throw error(errc::unsupported,
                "it is of version " + std::to_string(version) + ", this program reads version 1");
}

/// Throws `errc::corrupt` for what is no manifest, or another one than `id`'s.
[[nodiscard]] inline checkpoint_manifest read_manifest(std::string_view text, save_id id,
                                                       const diagnostics& where = {}) {
  return read_sealed(text, "manifest", where, [&](const json::value& from) {
    require_version(from);
    checkpoint_manifest out{.id = read_save_id(from.at("checkpoint")),
                            .ranks = from.get<std::uint64_t>("ranks"),
                            .layout_bytes = from.get<std::uint64_t>("layout_bytes"),
                            .layout_crc = from.get<std::uint32_t>("layout_crc32c"),
                            .data_bytes = from.get<std::uint64_t>("data_bytes"),
                            .loader_state = from.get<std::string>("loader_state")};
    if (out.id != id) throw error(errc::corrupt, "it is that of " + out.id.text());
    if (const json::value& parent = from.at("parent"); !parent.is_null())
      out.parent = read_save_id(parent);
    for (const auto& [key, value] : from.get<json::object>("metadata"))
      out.metadata.emplace_back(key, value.as<std::string>(key));
    return out;
  });
}

[[nodiscard]] inline std::string write_start(const start_record& from) {
  json::array line;
  for (const auto& each : from.line) line.push_back(json::array{each.start.text(), each.through});
  return write_sealed("start", json::object{{"version", 1},
                                            {"start", from.id.text()},
                                            {"ranks", from.ranks},
                                            {"resumed", from.resumed},
                                            {"line", std::move(line)}});
}

/// As `read_manifest`; without `id` that of any start.
[[nodiscard]] inline start_record read_start(std::string_view text, std::optional<start_id> id,
                                             const diagnostics& where = {}) {
  return read_sealed(text, "start", where, [&](const json::value& from) {
    require_version(from);
    start_record out{.id = read_start_id(from.at("start")),
                     .ranks = from.get<std::uint64_t>("ranks"),
                     .resumed = from.get<std::string>("resumed")};
    if (id && out.id != *id) throw error(errc::corrupt, "it is that of " + out.id.text());
    for (const json::value& each : from.get<json::array>("line")) {
      const auto& pair = each.as<json::array>("line");
      if (pair.size() != 2) throw error(errc::corrupt, "an entry of \"line\" is not two items");
      out.line.push_back({read_start_id(pair[0]), pair[1].as<std::uint64_t>("line")});
    }
    if (out.resumed.empty() != out.line.empty())
      throw error(errc::corrupt, "\"line\" does not begin with what it goes on from");
    return out;
  });
}

/// The manifest that a start goes on from.
[[nodiscard]] inline std::optional<checkpoint_manifest> resumed_manifest(
    const start_record& of, const diagnostics& where = {}) {
  if (of.resumed.empty()) return std::nullopt;
  const auto& nearest = of.line.front();
  return read_manifest(of.resumed, save_id{nearest.start, nearest.through}, where);
}

[[nodiscard]] inline std::string write_record(const rank_record& from) {
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

/// As `read_manifest`, for that rank's record.
[[nodiscard]] inline rank_record read_record(std::string_view text, save_id id, std::uint64_t rank,
                                             const diagnostics& where = {}) {
  require_sealed(text, "record", where);
  rank_record out;
  json::reader in(text, where);
  layout_reader parts(in);
  unsigned seen = 0;
  in.begin_object();
  while (const auto key = in.next_key()) {
    ++seen;
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
    } else if (*key == "files" && out.data.files.empty() && out.data.tensors.empty()) {
      parts.read_files(out.data);
    } else if (*key == "tensors" && out.data.tensors.empty()) {
      parts.read_tensors(out.data);
    } else {
      (void)in.skip();
      --seen;
    }
  }
  in.finish();
  if (seen != 9) in.fail("members of the record are missing or there twice");
  const std::string front = "r" + std::to_string(rank) + '-';
  for (const data_file& each : out.data.files)
    if (!each.name.starts_with(front)) in.fail("\"" + each.name + "\" is no file of the rank");
  return out;
}

}  // namespace mdstream::inline v0::detail
