#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/raw/detail/lines.hpp>
#include <mdstream/raw/detail/text_value.hpp>
#include <mdstream/raw/text.hpp>
#include <mdstream/version.hpp>

#include <cstddef>

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE text::text(const options& about) : paragraphs_(about.unit == "paragraph") {
  if (!paragraphs_ && about.unit != "line")
    throw error(errc::invalid_argument,
                "unit is \"" + about.unit +
                    "\": a sample of a text is a \"line\" or a \"paragraph\"; format \"files\" "
                    "has whole files as samples");
  if (about.columns.size() > 1)
    throw error(errc::invalid_argument, "samples of a text have one column");
}

MDSTREAM_INLINE std::uint64_t text::cut(const window& in, cut_sink& out) const {
  return paragraphs_ ? cut_paragraphs(in, out) : detail::cut_lines(in, out);
}

MDSTREAM_INLINE std::optional<std::uint64_t> text::resync(const window& in,
                                                          std::uint64_t from) const {
  auto begin = detail::first_line(in, from);
  if (!begin || !paragraphs_) return begin;
  // A line that is not blank belongs to a paragraph that begins before `from`, unless a blank
  // one lies between. The three bytes before `from` show whether the last line was blank.
  const std::string_view all = in.text();
  const std::string_view behind = all.substr(0, static_cast<std::size_t>(*begin - in.offset));
  std::string_view last = behind;
  last.remove_suffix(last.empty() ? 0 : 1);
  if (const std::size_t feed = last.rfind('\n'); feed != std::string_view::npos)
    last.remove_prefix(feed + 1);
  else if (in.offset != 0)
    last = "?";  // it begins before the window, so it is longer than a carriage return
  bool blank = last.empty() || last == "\r";
  std::size_t at = static_cast<std::size_t>(*begin - in.offset);
  while (!blank && at < all.size()) {
    const detail::line each = detail::next_line(all.substr(at));
    if (!each.has_end && !in.last) return std::nullopt;
    blank = each.is_blank();
    at += each.next;
  }
  if (!blank && !in.last) return std::nullopt;
  return in.offset + at;
}

MDSTREAM_INLINE void text::infer(const window& in, detail::column_inference& out) const {
  if (in.bytes.empty()) return;
  out.add_row();
  out.add("text", "str");
}

MDSTREAM_INLINE void text::transcode(const cut_source& in, detail::sample_sink& out) const {
  const std::string_view all = as_text(in.bytes());
  std::string_view paragraph;
  const auto add = [&](std::string_view content) {
    out.row(in.at(as_bytes(content)), [&] {
      if (const std::size_t bad = mdstream::detail::first_invalid_utf8(content);
          bad != content.size())
        throw error(errc::corrupt, diagnostics{.what = "the text is not UTF-8", .byte = bad});
      out.values().clear();
      if (out.layout()[0].type.kind == encoding_kind::str)
        out.values().set(0, as_bytes(content));
      else
        detail::set_text_value(out.layout(), 0, content, out.values());
      out.add_values();
    });
  };
  if (!paragraphs_) return detail::for_each_line(all, add);
  for (std::string_view rest = all; !rest.empty();) {
    const detail::line each = detail::next_line(rest);
    rest.remove_prefix(each.next);
    if (each.is_blank()) {
      if (!paragraph.empty()) add(paragraph);
      paragraph = {};
    } else {
      const char* begin = paragraph.empty() ? each.content.data() : paragraph.data();
      const char* end = each.content.data() + each.content.size();
      paragraph = {begin, static_cast<std::size_t>(end - begin)};
    }
  }
  if (!paragraph.empty()) add(paragraph);
}

MDSTREAM_INLINE std::uint64_t text::cut_paragraphs(const window& in, cut_sink& out) {
  const std::string_view all = in.text();
  std::size_t at = 0;
  if (in.offset == 0) {
    if (all.size() < 3 && !in.last) return 0;
    at = detail::mark_bytes(all);
  }
  std::size_t begin = at;  // of the paragraph that is read
  std::size_t end = at;    // of its last line; of none: `begin`
  while (at < all.size()) {
    const detail::line each = detail::next_line(all.substr(at));
    if (!each.has_end && !in.last) return begin;
    if (each.is_blank()) {
      if (end > begin && !out.sample(in.offset + begin, in.offset + end)) return begin;
      begin = end = at + each.next;
    } else {
      end = at + each.next;
    }
    at += each.next;
  }
  if (!in.last) return begin;
  if (end > begin && !out.sample(in.offset + begin, in.offset + end)) return begin;
  return at;
}

}  // namespace mdstream::inline v0::raw
