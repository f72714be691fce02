#pragma once

/// Files as samples: pictures in directories of their class, or files of any kind.

#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/file_value.hpp>
#include <mdstream/raw/format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw {

namespace detail {

/// What `files` and `images` share. Their samples are whole objects: a listing is all that is read
/// to cut them, by the rule of the virtual shards in the concatenation of all objects.
struct whole_files {
  static constexpr bool takes_whole_objects = true;

  /// Nobody scans the bytes of whole objects.
  [[nodiscard]] static std::uint64_t cut(const window& in, cut_sink&) {
    throw error(errc::invalid_argument,
                diagnostics{.what = "whole files are cut by their listing", .byte = in.offset});
  }

  static void transcode(const cut_source& in, sample_sink& out) {
    for (const part& each : in.parts) {
      out.set_key(each.key);
      out.row(each.offset, [&] {
        row_values& values = out.values();
        values.clear();
        for (std::size_t i = 0; i < out.layout().size(); ++i) {
          const std::string& column = out.layout()[i].name;
          if (column == "file")
            set_file_value(out.layout(), i, each.bytes, values);
          else if (column == "path")
            set_text_value(out.layout(), i, each.key, values);
          else if (column == "label")
            values.set_value(i, each.label);
          else
            throw error(errc::schema_mismatch,
                        diagnostics{.what = "files have the columns file, path and label",
                                    .column = column});
        }
        out.add_values();
      });
    }
  }

  /// The encoding of all files: by their extension, if it is the same.
  [[nodiscard]] static std::string encoding_of(std::span<const std::string_view> keys) {
    std::string_view out;
    for (const std::string_view key : keys) {
      const std::string_view each = encoding_of_extension(extension_of(key));
      if (!out.empty() && out != each) return "bytes";
      out = each;
    }
    return std::string(out);
  }
};

[[nodiscard]] inline std::string_view directory_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : key.substr(0, slash);
}

}  // namespace detail

/// Columns: `file`, by the extension, and `path: str`, the key.
struct files : detail::whole_files {
  static constexpr std::string_view name = "files";
  [[nodiscard]] static std::vector<column> columns(std::span<const std::string_view> keys) {
    return {{"file", encoding_of(keys), {}}, {"path", "str", {}}};
  }
};

/// Columns: `file`, `label: int`, the rank of the file's directory among all, and `path: str`.
struct images : detail::whole_files {
  static constexpr std::string_view name = "images";
  [[nodiscard]] static std::vector<column> columns(std::span<const std::string_view> keys) {
    return {{"file", encoding_of(keys), {}}, {"label", "int", {}}, {"path", "str", {}}};
  }
};

/// The label of each key: the rank of its directory among the directories of all, by bytes.
[[nodiscard]] inline std::vector<std::int64_t> labels_of(std::span<const std::string_view> keys) {
  std::map<std::string_view, std::int64_t> ranks;
  for (const std::string_view key : keys) ranks.emplace(detail::directory_of(key), 0);
  std::int64_t next = 0;
  for (auto& [directory, rank] : ranks) rank = next++;
  std::vector<std::int64_t> out;
  out.reserve(keys.size());
  for (const std::string_view key : keys) out.push_back(ranks.at(detail::directory_of(key)));
  return out;
}

}  // namespace mdstream::inline v0::raw
