#pragma once

/// JSON lines: a sample is a JSON object on a line of its own.

#include <mdstream/core/utf8.hpp>
#include <mdstream/raw/detail/json_row.hpp>
#include <mdstream/raw/detail/lines.hpp>
#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace mdstream::inline v0::raw {

/// Lines end with a line feed, of which a carriage return before it is a part; the last may lack
/// it. Blank lines are no rows, a byte order mark is skipped.
class jsonl {
 public:
  static constexpr std::string_view name = "jsonl";
  static constexpr bool sums = true;
  static constexpr std::uint64_t look_behind = 1;

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out) const {
    return detail::cut_lines(in, out);
  }

  [[nodiscard]] std::optional<std::uint64_t> resync(const window& in, std::uint64_t from) const {
    return detail::first_line(in, from);
  }

  /// Reads the rows that are whole, up to 1,000.
  void infer(const window& in, column_inference& out) const {
    std::string_view rest = in.text();
    if (in.offset == 0) rest.remove_prefix(detail::mark_bytes(rest));
    for (std::uint64_t rows = 0; rows < column_inference::rows_of_an_object && !rest.empty();) {
      const detail::line each = detail::next_line(rest);
      if (!each.has_end && !in.last) return;
      if (!each.is_blank()) {
        infer_row(in, each.content, out);
        ++rows;
      }
      rest.remove_prefix(each.next);
    }
  }

  void transcode(const cut_source& in, sample_sink& out) const {
    detail::json_columns columns(out.columns(), out.layout(), out.null_value());
    detail::for_each_line(as_text(in.bytes()), [&](std::string_view row) {
      out.row(in.at(as_bytes(row)), [&] {
        check_utf8(row);
        columns.read(row, out.values());
        out.add_values();
      });
    });
  }

 private:
  static void check_utf8(std::string_view row) {
    if (const std::size_t bad = first_invalid_utf8(row); bad != row.size())
      throw error(errc::corrupt, diagnostics{.what = "the row is not UTF-8", .byte = bad});
  }

  static void infer_row(const window& in, std::string_view row, column_inference& out) {
    try {
      check_utf8(row);
      detail::infer_json(row, out);
    } catch (const error& e) {
      diagnostics where = e.where();
      where.byte = where.byte.value_or(0) + in.offset +
                   static_cast<std::uint64_t>(row.data() - in.text().data());
      throw error(e.code(), std::move(where));
    }
  }
};

}  // namespace mdstream::inline v0::raw
