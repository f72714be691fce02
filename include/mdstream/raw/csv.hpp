#pragma once

/// CSV with a header, as RFC 4180 has it.

#include <mdstream/core/json.hpp>
#include <mdstream/core/utf8.hpp>
#include <mdstream/raw/detail/json_row.hpp>
#include <mdstream/raw/detail/lines.hpp>
#include <mdstream/raw/detail/text_value.hpp>
#include <mdstream/raw/format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw {

namespace detail {

/// How many quotes there are.
[[nodiscard]] inline std::uint64_t count_quotes(std::string_view text) noexcept {
  constexpr std::uint64_t low = 0x7F7F'7F7F'7F7F'7F7FU, quotes = 0x2222'2222'2222'2222U;
  std::uint64_t out = 0;
  std::size_t at = 0;
  for (; text.size() - at >= 8; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    word ^= quotes;
    const std::uint64_t found = ~(((word & low) + low) | word | low);  // 0x80 for each quote
    out += (found >> 7) * 0x0101'0101'0101'0101U >> 56;
  }
  for (; at < text.size(); ++at) out += text[at] == '"' ? 1 : 0;
  return out;
}

/// The row that `text` begins with, by the parity of its quotes.
[[nodiscard]] inline line next_csv_row(std::string_view text) noexcept {
  std::size_t at = 0;
  bool quoted = false;
  while (true) {
    line each = next_line(text.substr(at));
    quoted ^= (count_quotes(text.substr(at, each.next)) & 1) != 0;
    at += each.next;
    if (quoted && each.has_end) continue;
    each.content = {text.data(), static_cast<std::size_t>(each.content.data() - text.data()) +
                                     each.content.size()};
    each.next = at;
    if (quoted) each.content = text.substr(0, at);
    return each;
  }
}

/// Takes rows apart.
class csv_fields {
 public:
  explicit csv_fields(char delimiter) : delimiter_(delimiter) {}

  /// The fields of a row without its end, valid until the next call or while `row` is. Throws
  /// errc::corrupt, naming the byte of the row.
  const std::vector<std::string_view>& read(std::string_view row) {
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

 private:
  std::string_view quoted(std::string_view row, std::size_t& at) {
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

  [[noreturn]] static void fail(std::size_t byte, const char* what) {
    throw error(errc::corrupt, diagnostics{.what = what, .byte = byte});
  }

  char delimiter_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> own_;
};

}  // namespace detail

/// The first row of each object is its header, so objects may have their columns in different
/// orders. Fields may be quoted and hold line ends then; blank lines are no rows; a byte order mark
/// is skipped. Inferred columns are texts. An empty field of a column that is no text is null.
class csv {
 public:
  static constexpr std::string_view name = "csv";
  static constexpr bool sums = true;

  explicit csv(const options& about = {})
      : delimiter_(about.delimiter.size() == 1 ? about.delimiter[0] : '\n') {
    if (delimiter_ == '"' || delimiter_ == '\n' || delimiter_ == '\r')
      throw error(errc::invalid_argument,
                  "a delimiter is one character other than a quote and a line end");
  }

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out) const {
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
      const detail::line each = detail::next_csv_row(text.substr(at));
      if (!each.has_end && !in.last) break;
      const std::uint64_t begin = in.offset + at;
      if (!each.has_end && (detail::count_quotes(each.content) & 1) != 0)
        throw error(errc::corrupt,
                    diagnostics{.what = "a field's quote is not closed", .byte = begin});
      if (!each.is_blank() && !out.sample(begin, begin + each.next)) break;
      at += each.next;
    }
    return at;
  }

  void infer(const window& in, column_inference& out) const {
    const auto [fields, begin] = header(in);
    if (begin == 0) return;
    out.add_row();
    for (const std::string& each : fields) out.add(each, "str");
  }

  void transcode(const cut_source& in, sample_sink& out) const {
    const std::vector<std::size_t> places = places_of(in, out.layout());
    const std::size_t width = json::parse(in.note).as<json::array>().size();
    detail::csv_fields reader(delimiter_);
    for (std::string_view rest = as_text(in.bytes()); !rest.empty();) {
      const detail::line each = detail::next_csv_row(rest);
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

 private:
  struct header_row {
    std::vector<std::string> fields{};
    std::size_t end = 0;  ///< 0: the window does not have all of it
  };

  [[nodiscard]] header_row header(const window& in) const {
    const std::string_view text = in.text();
    if (text.size() < 3 && !in.last) return {};
    std::size_t at = detail::mark_bytes(text);
    while (true) {
      const detail::line each = detail::next_csv_row(text.substr(at));
      if (!each.has_end && !in.last) return {};
      if (each.is_blank() && at + each.next < text.size()) {
        at += each.next;
        continue;
      }
      if (each.is_blank()) throw error(errc::corrupt, "the object has no header");
      try {
        detail::csv_fields reader(delimiter_);
        header_row out{.end = at + each.next};
        for (const std::string_view field : reader.read(each.content)) {
          if (first_invalid_utf8(field) != field.size())
            throw error(errc::corrupt, "the header is not UTF-8");
          if (std::find(out.fields.begin(), out.fields.end(), field) != out.fields.end())
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

  static std::vector<std::size_t> places_of(const cut_source& in, const sample_layout& layout) {
    const json::value names = json::parse(in.note);
    std::vector<std::size_t> out;
    for (const column_layout& each : layout.columns()) {
      const auto& all = names.as<json::array>("note");
      const auto found = std::find(all.begin(), all.end(), json::value(each.name));
      if (found == all.end())
        throw error(
            errc::schema_mismatch,
            diagnostics{.what = "the header, " + std::string(in.note) + ", has no such field",
                        .url = std::string(in.first().key),
                        .column = each.name});
      out.push_back(static_cast<std::size_t>(found - all.begin()));
    }
    return out;
  }

  static void set(sample_sink& out, std::size_t i, std::string_view field) {
    const bool is_null = field.empty() && out.layout()[i].type.kind != encoding_kind::str;
    if (is_null && out.null_value())
      detail::set_null_value(*out.null_value(), out.layout(), i, out.values());
    else
      detail::set_text_value(out.layout(), i, field, out.values());
  }

  char delimiter_;
};

}  // namespace mdstream::inline v0::raw
