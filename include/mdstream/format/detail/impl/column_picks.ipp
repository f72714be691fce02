#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/column_picks.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool serves(const column_layout& found, const encoding_view& wanted) noexcept {
  const auto kind = [](const encoding& type) {
    return type.kind == encoding_kind::jpegarray ? encoding_kind::jpeg_array : type.kind;
  };
  const encoding_kind has = kind(found.type);
  if (has == encoding_kind::other && wanted.type.kind == encoding_kind::bytes) return true;
  if (has != kind(wanted.type) || found.size != wanted.size) return false;
  if (has == encoding_kind::other) return found.encoding_text == wanted.text;
  return found.type.type == wanted.type.type && found.type.dims == wanted.type.dims;
}

MDSTREAM_INLINE std::vector<column_layout> common_columns(const std::vector<sample_layout>& all) {
  std::vector<column_layout> out = all.front().columns();
  for (const sample_layout& other : all)
    std::erase_if(out, [&](const column_layout& mine) {
      const std::optional<std::size_t> at = other.find(mine.name);
      return !at || !serves(other[*at], mine) || !serves(mine, other[*at]);
    });
  return out;
}

MDSTREAM_INLINE std::string difference(const column_layout& found, const column_layout& wanted) {
  if (found.type.kind != wanted.type.kind || found.encoding_text != wanted.encoding_text)
    return "it has another encoding";
  const auto size = [](const column_layout& of) {
    return of.size ? "of " + std::to_string(*of.size) + " bytes" : std::string("of no fixed size");
  };
  return "it has values " + size(found) + ", the program's are " + size(wanted);
}

MDSTREAM_INLINE column_picks::column_picks(const sample_layout& found,
                                           const sample_layout& wanted) {
  const auto fail = [&](std::string why, const std::string& column) {
    throw error(errc::schema_mismatch,
                diagnostics{.what = "the dataset's columns are not the program's: " + why +
                                    "; the dataset has (" + found.describe() + ") in " +
                                    std::string(to_string(found.format())) +
                                    " shards, the program expects (" + wanted.describe() + ")",
                            .column = column});
  };
  std::vector<bool> taken(found.size());
  if (found.format() != shard_format::mds) fail("its shards are no MDS shards", "");
  for (const column_layout& column : wanted.columns()) {
    const std::optional<std::size_t> at = found.find(column.name);
    if (!at) fail("it has none of this name", column.name);
    if (!serves(found[*at], column)) fail(difference(found[*at], column), column.name);
    takes_all_ = takes_all_ && *at == from_.size() && found[*at].size == column.size;
    from_.push_back(*at);
    taken[*at] = true;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (taken[i]) continue;
    takes_all_ = false;
    if (!ignored_.empty()) ignored_ += ", ";
    ignored_.append(found[i].name).append(": ").append(found[i].encoding_text);
  }
}

MDSTREAM_INLINE void column_picks::append(const sample_layout& found, const sample_layout& wanted,
                                          bytes_view sample, std::vector<std::byte>& out) const {
  std::size_t header = out.size();
  out.resize(header + 4 * wanted.variable_columns());
  for (std::size_t i = 0; i < from_.size(); ++i) {
    const bytes_view value = found.locate(sample, from_[i]);
    if (!wanted[i].size) {
      store_to(out.data() + header, static_cast<std::uint32_t>(value.size()));
      header += 4;
    }
    out.insert(out.end(), value.begin(), value.end());
  }
}

}  // namespace mdstream::inline v0::detail
