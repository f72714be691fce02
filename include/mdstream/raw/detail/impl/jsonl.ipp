#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/raw/detail/json_row.hpp>
#include <mdstream/raw/jsonl.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE void jsonl::infer(const window& in, detail::column_inference& out) const {
  std::string_view rest = in.text();
  if (in.offset == 0) rest.remove_prefix(detail::mark_bytes(rest));
  for (std::uint64_t rows = 0;
       rows < detail::column_inference::rows_of_an_object && !rest.empty();) {
    const detail::line each = detail::next_line(rest);
    if (!each.has_end && !in.last) return;
    if (!each.is_blank(blanks)) {
      infer_row(in, each.content, out);
      ++rows;
    }
    rest.remove_prefix(each.next);
  }
}

MDSTREAM_INLINE void jsonl::transcode(const cut_source& in, detail::sample_sink& out) const {
  detail::json_columns columns(out.columns(), out.layout(), out.null_value());
  const auto read = [&](std::string_view row) {
    out.row(in.at(as_bytes(row)), [&] {
      check_utf8(row);
      columns.read(row, out.values());
      out.add_values();
    });
  };
  detail::for_each_line(as_text(in.bytes()), read, blanks);
}

MDSTREAM_INLINE void jsonl::check_utf8(std::string_view row) {
  if (const std::size_t bad = mdstream::detail::first_invalid_utf8(row); bad != row.size())
    throw error(errc::corrupt, diagnostics{.what = "the row is not UTF-8", .byte = bad});
}

MDSTREAM_INLINE void jsonl::infer_row(const window& in, std::string_view row,
                                      detail::column_inference& out) {
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

}  // namespace mdstream::inline v0::raw
