#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/column_inference.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE void column_inference::add(std::string_view name, std::string_view encoding) {
  entry& each = at(name);
  each.add({}, rows_);
  each.fix(encoding);
}

MDSTREAM_INLINE void column_inference::merge(const column_inference& other) {
  for (const auto& [name, theirs] : other.columns_) {
    entry& mine = at(name);
    mine.kinds |= theirs.kinds;
    mine.rows += theirs.rows;
    if (!theirs.encoding.empty()) mine.fix(theirs.encoding);
  }
  rows_ += other.rows_;
}

MDSTREAM_INLINE void column_inference::require_columns_of(const column_inference& first,
                                                          std::string_view first_key,
                                                          bool allows_missing) const {
  const auto refuse = [](const std::string& name, std::string what) {
    throw error(errc::invalid_argument, diagnostics{.what = std::move(what), .column = name});
  };
  const auto missing = [](std::string what) {
    return std::move(what) + ": name the columns, or say what stands for null (null_value)";
  };
  for (const auto& [name, each] : first.columns_) {
    const auto mine = columns_.find(name);
    if (mine == columns_.end()) {
      if (!allows_missing)
        refuse(name, missing("the file has no column of that name, which " +
                             std::string(first_key) + " has"));
    } else if (mine->second.encoding != each.encoding) {
      refuse(name, "the column is " + mine->second.encoding + " here and " + each.encoding +
                       " in " + (allows_missing ? "other files" : std::string(first_key)) +
                       ": name the columns");
    }
  }
  if (allows_missing) return;
  for (const auto& [name, each] : columns_)
    if (!first.columns_.contains(name))
      refuse(name, missing("the file has a column that " + std::string(first_key) + " has not"));
}

MDSTREAM_INLINE std::vector<column> column_inference::columns(const options& about) const {
  std::vector<column> out;
  for (const auto& [name, each] : columns_) {
    const bool partial = each.rows < rows_;
    if (partial && !each.encoding.empty() && !about.null_value)
      throw error(errc::invalid_argument,
                  diagnostics{.what = "a field is missing in " + std::to_string(rows_ - each.rows) +
                                      " of the first " + std::to_string(rows_) +
                                      " samples: name the columns, or say what stands for null",
                              .column = name});
    out.push_back({name,
                   each.encoding.empty() ? encoding_of(each.kinds | (partial ? null : 0u), about)
                                         : each.encoding,
                   {}});
  }
  if (out.empty())
    throw error(errc::invalid_argument,
                "there is no row to infer the columns from: name the columns");
  return out;
}

MDSTREAM_INLINE json::value column_inference::dump() const {
  json::array columns;
  for (const auto& [name, each] : columns_)
    columns.push_back(json::array{name, each.kinds, each.rows, each.encoding});
  return json::object{{"rows", rows_}, {"columns", std::move(columns)}};
}

MDSTREAM_INLINE column_inference column_inference::parse(const json::value& text) {
  column_inference out;
  out.rows_ = text.get<std::uint64_t>("rows");
  for (const json::value& each : text.get<json::array>("columns")) {
    const auto& parts = each.as<json::array>("columns");
    if (parts.size() != 4) throw error(errc::corrupt, "a column that was seen has not four parts");
    entry& of = out.at(parts[0].as<std::string>("name"));
    of.kinds = parts[1].as<std::uint32_t>("kinds");
    of.rows = parts[2].as<std::uint64_t>("rows");
    of.encoding = parts[3].as<std::string>("encoding");
  }
  return out;
}

MDSTREAM_INLINE void column_inference::entry::add(unsigned what, std::uint64_t row) {
  kinds |= what;
  if (last_row != row) ++rows;  // of equal keys in a row, one counts
  last_row = row;
}

MDSTREAM_INLINE void column_inference::entry::fix(std::string_view wanted) {
  if (!encoding.empty() && encoding != wanted)
    encoding = "bytes";
  else
    encoding = wanted;
}

MDSTREAM_INLINE column_inference::entry& column_inference::at(std::string_view name) {
  const auto found = columns_.find(name);
  if (found != columns_.end()) return found->second;
  if (columns_.size() == max_columns)
    throw error(errc::unsupported, "the first rows have more than " + std::to_string(max_columns) +
                                       " different keys: name the columns");
  return columns_[std::string(name)];
}

MDSTREAM_INLINE std::string column_inference::encoding_of(unsigned kinds, const options& about) {
  if (about.null_value) kinds &= ~unsigned{null};
  if (kinds == boolean) return "uint8";
  if (kinds == integer) return "int";
  if (kinds == huge_integer || kinds == (integer | huge_integer)) return "str_int";
  if (kinds != 0 && (kinds & ~unsigned{integer | huge_integer | real}) == 0) return "float64";
  if (kinds == text) return "str";
  return "json";
}

}  // namespace mdstream::inline v0::raw::detail
