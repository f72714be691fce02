#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/file_value.hpp>
#include <mdstream/raw/detail/text_value.hpp>
#include <mdstream/raw/files.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <map>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::uint64_t whole_files::cut(const window& in, cut_sink&) {
  throw error(errc::invalid_argument,
              diagnostics{.what = "whole files are cut by their listing", .byte = in.offset});
}

MDSTREAM_INLINE void whole_files::transcode(const cut_source& in, sample_sink& out) {
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
          throw error(
              errc::schema_mismatch,
              diagnostics{.what = "files have the columns file, path and label", .column = column});
      }
      out.add_values();
    });
  }
}

MDSTREAM_INLINE std::string whole_files::encoding_of(std::span<const std::string_view> keys) {
  std::string_view out;
  for (const std::string_view key : keys) {
    const std::string_view each = encoding_of_extension(extension_of(key));
    if (!out.empty() && out != each) return "bytes";
    out = each;
  }
  return std::string(out);
}

MDSTREAM_INLINE std::string_view directory_of(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : key.substr(0, slash);
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE std::vector<column> images::columns(std::span<const std::string_view> keys) {
  return {{"file", encoding_of(keys), {}}, {"label", "int", {}}, {"path", "str", {}}};
}

MDSTREAM_INLINE std::vector<std::int64_t> labels_of(std::span<const std::string_view> keys) {
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
