#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/raw/csv.hpp>
#include <mdstream/raw/detail/json_row.hpp>
#include <mdstream/raw/detail/text_value.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace mdstream::inline v0::raw::detail {

/// The row that `text` begins with. Only a quote that begins a field opens one; where it does not,
/// `csv_fields` refuses the row, and the rows behind it stay what they are.
MDSTREAM_INLINE csv_row next_csv_row(std::string_view text, char delimiter) noexcept {
  std::size_t at = 0;
  bool quoted = false;
  while (true) {
    const line each = next_line(text.substr(at));
    const std::string_view seen = text.substr(0, at + each.next);
    for (std::size_t quote = at; (quote = seen.find('"', quote)) != std::string_view::npos;
         ++quote) {
      if (!quoted)
        quoted = quote == 0 || seen[quote - 1] == delimiter;
      else if (quote + 1 < seen.size() && seen[quote + 1] == '"')
        ++quote;
      else
        quoted = false;
    }
    at += each.next;
    if (quoted && each.has_end) continue;
    const auto end = static_cast<std::size_t>(each.content.data() - text.data());
    return {{text.substr(0, quoted ? at : end + each.content.size()), at, each.has_end}, quoted};
  }
}

MDSTREAM_INLINE const std::vector<std::string_view>& csv_fields::read(std::string_view row) {
  fields_.clear();
  own_.clear();
  std::size_t at = 0;
  while (true) {
    if (at < row.size() && row[at] == '"') {
      fields_.push_back(quoted(row, at));
    } else {
      const std::size_t end = std::min(row.find(delimiter_, at), row.size());
      const std::string_view field = row.substr(at, end - at);
      if (const std::size_t quote = field.find('"'); quote != std::string_view::npos)
        fail(at + quote, "a quote stands within a field that does not begin with one");
      fields_.push_back(field);
      at = end;
    }
    if (at == row.size()) return fields_;
    if (row[at] != delimiter_) fail(at, "text follows a field's closing quote");
    ++at;
  }
}

MDSTREAM_INLINE std::string_view csv_fields::quoted(std::string_view row, std::size_t& at) {
  const std::size_t open = at++;
  std::string* own = nullptr;
  std::size_t begin = at;
  while (true) {
    const std::size_t quote = row.find('"', at);
    if (quote == std::string_view::npos) fail(open, "a field's quote is not closed");
    at = quote + 1;
    if (at == row.size() || row[at] != '"') {
      if (own == nullptr) return row.substr(begin, quote - begin);
      own->append(row, begin, quote - begin);
      return *own;
    }
    if (own == nullptr) own = &own_.emplace_back();
    own->append(row, begin, at - begin);  // one of two quotes
    begin = ++at;
  }
}

MDSTREAM_INLINE void csv_fields::fail(std::size_t byte, const char* what) {
  throw error(errc::corrupt, diagnostics{.what = what, .byte = byte});
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE csv::csv(const options& about)
    : delimiter_(about.delimiter.size() == 1 ? about.delimiter[0] : '\n') {
  const bool is_ascii = static_cast<unsigned char>(delimiter_) < 0x80;
  if (!is_ascii || delimiter_ == '"' || delimiter_ == '\n' || delimiter_ == '\r')
    throw error(errc::invalid_argument,
                "a delimiter is one ASCII character other than a quote and a line end");
}

MDSTREAM_INLINE std::uint64_t csv::cut(const window& in, cut_sink& out) const {
  const std::string_view text = in.text();
  std::size_t at = 0;
  if (in.offset == 0) {
    const auto [fields, begin] = header(in);
    if (begin == 0) return 0;
    json::array names;
    for (const std::string& each : fields) names.emplace_back(each);
    out.note(json::dump(json::value(std::move(names))));
    at = begin;
  }
  while (at < text.size()) {
    const detail::csv_row each = detail::next_csv_row(text.substr(at), delimiter_);
    if (!each.has_end && !in.last) break;
    const std::uint64_t begin = in.offset + at;
    if (each.is_open)
      throw error(errc::corrupt,
                  diagnostics{.what = "a field's quote is not closed", .byte = begin});
    if (!each.is_blank() && !out.sample(begin, begin + each.next)) break;
    at += each.next;
  }
  return at;
}

MDSTREAM_INLINE void csv::infer(const window& in, detail::column_inference& out) const {
  const auto [fields, begin] = header(in);
  if (begin == 0) return;
  out.add_row();
  for (const std::string& each : fields) out.add(each, "str");
}

MDSTREAM_INLINE void csv::transcode(const cut_source& in, detail::sample_sink& out) const {
  const std::vector<std::size_t> places = places_of(in, out.layout());
  const std::size_t width = json::parse(in.note).as<json::array>().size();
  detail::csv_fields reader(delimiter_);
  for (std::string_view rest = as_text(in.bytes()); !rest.empty();) {
    const detail::csv_row each = detail::next_csv_row(rest, delimiter_);
    if (!each.is_blank())
      out.row(in.at(as_bytes(rest)), [&] {
        const auto& fields = reader.read(each.content);
        if (fields.size() != width)
          throw error(errc::corrupt, "a row has " + std::to_string(fields.size()) +
                                         " fields, the header has " + std::to_string(width));
        out.values().clear();
        for (std::size_t i = 0; i < places.size(); ++i) set(out, i, fields[places[i]]);
        out.add_values();
      });
    rest.remove_prefix(each.next);
  }
}

MDSTREAM_INLINE csv::header_row csv::header(const window& in) const {
  const std::string_view text = in.text();
  if (text.size() < 3 && !in.last) return {};
  std::size_t at = detail::mark_bytes(text);
  while (true) {
    const detail::csv_row each = detail::next_csv_row(text.substr(at), delimiter_);
    if (!each.has_end && !in.last) return {};
    if (each.is_blank() && at + each.next < text.size()) {
      at += each.next;
      continue;
    }
    if (each.is_blank()) throw error(errc::corrupt, "the object has no header");
    try {
      detail::csv_fields reader(delimiter_);
      header_row out{.end = at + each.next};
      std::set<std::string_view> names;
      for (const std::string_view field : reader.read(each.content)) {
        if (mdstream::detail::first_invalid_utf8(field) != field.size())
          throw error(errc::corrupt, "the header is not UTF-8");
        if (!names.insert(field).second)
          throw error(errc::corrupt, "the header has \"" + std::string(field) + "\" twice");
        out.fields.emplace_back(field);
      }
      return out;
    } catch (const error& e) {
      diagnostics where = e.where();
      where.byte = at + where.byte.value_or(0);
      throw error(e.code(), std::move(where));
    }
  }
}

MDSTREAM_INLINE std::vector<std::size_t> csv::places_of(const cut_source& in,
                                                        const sample_layout& layout) {
  const json::value names = json::parse(in.note);
  std::vector<std::size_t> out;
  for (const column_layout& each : layout.columns()) {
    const auto& all = names.as<json::array>("note");
    const auto found = std::find(all.begin(), all.end(), json::value(each.name));
    if (found == all.end())
      throw error(errc::schema_mismatch,
                  diagnostics{.what = "the header, " + std::string(in.note) + ", has no such field",
                              .url = std::string(in.first().key),
                              .column = each.name});
    out.push_back(static_cast<std::size_t>(found - all.begin()));
  }
  return out;
}

MDSTREAM_INLINE void csv::set(detail::sample_sink& out, std::size_t i, std::string_view field) {
  const bool is_null = field.empty() && out.layout()[i].type.kind != encoding_kind::str;
  if (is_null && out.null_value())
    detail::set_null_value(*out.null_value(), out.layout(), i, out.values());
  else
    detail::set_text_value(out.layout(), i, field, out.values());
}

}  // namespace mdstream::inline v0::raw
