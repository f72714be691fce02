#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/file_value.hpp>
#include <mdstream/raw/detail/guess_format.hpp>
#include <mdstream/raw/detail/keys.hpp>
#include <mdstream/version.hpp>

#include <string>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::string_view format_of_name(std::string_view key) {
  for (const std::string_view end : {".gz", ".zst"})
    if (key.ends_with(end)) key.remove_suffix(end.size());
  const std::size_t point = key.rfind('.');
  if (point == std::string_view::npos || key.find('/', point) != std::string_view::npos) return {};
  const std::string extension = lower_case(key.substr(point + 1));
  static constexpr std::string_view known[][2] = {
      {"jsonl", "jsonl"},     {"ndjson", "jsonl"}, {"json", "jsonl"}, {"txt", "text"},
      {"text", "text"},       {"csv", "csv"},      {"tsv", "csv"},    {"tar", "webdataset"},
      {"parquet", "parquet"}, {"bin", "tokens"},   {"idx", "tokens"}, {"jpg", "images"},
      {"jpeg", "images"},     {"png", "images"},   {"flac", "files"}, {"wav", "files"},
      {"mp3", "files"},       {"ogg", "files"},    {"opus", "files"}, {"mp4", "files"},
      {"webm", "files"}};
  for (const auto& [name, format] : known)
    if (extension == name) return format;
  return {};
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE void guess_format(options& about, const std::vector<listed_object>& listing) {
  const auto patterns =
      about.files.empty() ? std::vector<std::string>{} : expand_braces(about.files);
  std::string_view first;
  bool tabs = true;
  for (const listed_object& each : listing) {
    if (!is_data(each.key, patterns)) continue;
    const std::string_view found = detail::format_of_name(each.key);
    if (found.empty())
      throw error(errc::invalid_argument,
                  diagnostics{.what = "the name does not tell a format that is known: name the "
                                      "format, and choose files by a pattern, such as **.jsonl",
                              .url = each.key});
    if (!first.empty() && detail::format_of_name(first) != found)
      throw error(errc::invalid_argument,
                  diagnostics{.what = "files have different formats, as \"" + std::string(first) +
                                      "\" has another: choose files by a pattern, such as **.jsonl",
                              .url = each.key});
    first = each.key;
    tabs = tabs && each.key.find(".tsv") != std::string::npos;
  }
  if (first.empty())
    throw error(errc::not_found,
                "there are no files" +
                    (about.files.empty() ? std::string() : " that match \"" + about.files + '"'));
  about.format = detail::format_of_name(first);
  if (about.format == "csv" && tabs) about.delimiter = "\t";
}

}  // namespace mdstream::inline v0::raw::detail
