#pragma once

#include <mdstream/core/json/reader.hpp>
#include <mdstream/format/detail/config_reader.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <limits>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 200)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out;
}

MDSTREAM_INLINE config_reader::config_reader(const texts& found, diagnostics where,
                                             bool allow_unsafe)
    : texts_(found), where_(std::move(where)), allow_unsafe_(allow_unsafe) {}

MDSTREAM_INLINE shard_config config_reader::read() {
  require(version);
  if (texts_[version] != "2")
    fail_as(errc::unsupported, "the shard's version is " + printable(texts_[version]) +
                                   "; only version 2 can be read");
  shard_config out;
  const std::string format_name = string_of(format);
  const std::optional<shard_format> found = find_shard_format(format_name);
  if (!found)
    fail_as(errc::unsupported,
            "\"" + printable(format_name) + "\" is no shard format that can be read");
  out.compression = optional_string_of(compression);
  out.hashes = strings_of(hashes);
  out.size_limit_text = texts_[size_limit].empty() ? "null" : std::string(texts_[size_limit]);
  if (out.size_limit_text.front() == '-') fail("\"size_limit\" is negative");
  if (*found != shard_format::mds) out.newline = string_of(newline);
  if (*found == shard_format::xsv) out.separator = string_of(separator);
  if (*found == shard_format::csv) out.separator = ",";
  if (*found == shard_format::tsv) out.separator = "\t";
  out.layout = sample_layout(
      *found, *found == shard_format::json ? read_columns_object() : read_columns(*found));
  return out;
}

MDSTREAM_INLINE std::vector<column_layout> config_reader::read_columns(shard_format format_found) {
  const std::vector<std::string> names = strings_of(column_names);
  const std::vector<std::string> encodings = strings_of(column_encodings);
  const bool mds = format_found == shard_format::mds;
  const std::vector<std::uint64_t> sizes =
      mds ? sizes_of() : std::vector<std::uint64_t>(names.size(), 0);
  if (names.size() != encodings.size() || names.size() != sizes.size())
    fail("\"column_names\", \"column_encodings\" and \"column_sizes\" differ in length");
  std::vector<column_layout> out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.push_back(make_column(names[i], encodings[i], sizes[i], mds));
  check_columns(out);
  return out;
}

MDSTREAM_INLINE std::vector<column_layout> config_reader::read_columns_object() {
  require(columns);
  std::vector<column_layout> out;
  json::reader in(texts_[columns], where_);
  in.begin_object();
  while (const auto name = in.next_key()) {
    const std::string column(*name);
    out.push_back(make_column(column, std::string(in.string()), 0, false));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  check_columns(out);
  return out;
}

MDSTREAM_INLINE column_layout config_reader::make_column(const std::string& name,
                                                         const std::string& encoding_text,
                                                         std::uint64_t size, bool mds) {
  std::optional<encoding> type =
      mds ? find_encoding(encoding_text) : find_cell_encoding(encoding_text);
  // A user-defined encoding: values are read as bytes. What begins as an array but is none is a
  // mistake.
  if (!type && mds && !encoding_text.empty() && encoding_text.substr(0, 8) != "ndarray:")
    type = other_encoding(size);
  if (!type)
    fail_as(errc::unsupported, "column \"" + printable(name) + "\" has the encoding \"" +
                                   printable(encoding_text) + "\", which does not exist");
  if (is_unsafe(*type) && !allow_unsafe_)
    fail_as(errc::unsupported, "column \"" + printable(name) +
                                   "\" holds Python pickles; set allow_unsafe_types (or "
                                   "--allow-unsafe-types) to read it as bytes");
  column_layout out{name, encoding_text, *type, std::nullopt};
  if (mds) out.size = checked_size(name, encoding_text, *type, size);
  return out;
}

MDSTREAM_INLINE std::optional<std::uint64_t> config_reader::checked_size(
    const std::string& name, const std::string& encoding_text, const encoding& type,
    std::uint64_t stated) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  const std::optional<std::uint64_t> own = fixed_size(type);
  if (own.value_or(0) == stated && stated <= most) return own;
  fail("column \"" + printable(name) + "\" of encoding \"" + printable(encoding_text) +
       "\" has values of " + (stated == 0 ? "no fixed size" : std::to_string(stated) + " bytes") +
       " in \"column_sizes\"; the encoding has " +
       (!own          ? "no fixed size"
        : *own > most ? "more than a shard can hold"
                      : std::to_string(*own) + " bytes"));
}

MDSTREAM_INLINE void config_reader::check_columns(const std::vector<column_layout>& found) {
  if (found.empty()) fail("the shard has no columns");
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (found[i].name == found[j].name)
        fail("column \"" + printable(found[i].name) + "\" is there twice");
}

MDSTREAM_INLINE void config_reader::require(key which) {
  if (texts_[which].empty()) fail("\"" + std::string(key_names[which]) + "\" is missing");
}

MDSTREAM_INLINE std::string config_reader::string_of(key which) {
  require(which);
  return std::string(json::reader(texts_[which], where_).string());
}

MDSTREAM_INLINE std::string config_reader::optional_string_of(key which) {
  require(which);
  return texts_[which] == "null" ? std::string() : string_of(which);
}

MDSTREAM_INLINE std::vector<std::string> config_reader::strings_of(key which) {
  require(which);
  json::reader in(texts_[which], where_);
  std::vector<std::string> out;
  in.begin_array();
  while (in.next_item()) out.emplace_back(in.string());
  return out;
}

MDSTREAM_INLINE std::vector<std::uint64_t> config_reader::sizes_of() {
  require(column_sizes);
  json::reader in(texts_[column_sizes], where_);
  std::vector<std::uint64_t> out;
  in.begin_array();
  while (in.next_item()) {
    out.push_back(in.take_null() ? 0 : in.unsigned_integer());
    if (out.back() > std::numeric_limits<std::uint32_t>::max())
      fail("a column of " + std::to_string(out.back()) + " bytes does not fit in a shard");
  }
  return out;
}

MDSTREAM_INLINE void config_reader::fail_as(errc code, std::string what) const {
  diagnostics where = where_;
  where.what = std::move(what);
  throw error(code, std::move(where));
}

}  // namespace mdstream::inline v0::detail
