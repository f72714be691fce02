#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/net/xml.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string_view xml_reader::begin() {
  skip_between();
  if (!open_.empty() || done_) fail("the document was begun before");
  if (!take_start()) fail("an element is expected");
  return local_name(open_.back());
}

MDSTREAM_INLINE void xml_reader::begin(std::string_view name) {
  if (begin() != name) fail("the element is not <" + std::string(name) + '>');
}

MDSTREAM_INLINE std::optional<std::string_view> xml_reader::next_child() {
  if (take_empty_end()) return std::nullopt;
  skip_between();
  if (take_end()) return std::nullopt;
  if (!take_start()) fail("text stands where an element is expected");
  return local_name(open_.back());
}

MDSTREAM_INLINE std::string_view xml_reader::attribute(std::string_view name) const noexcept {
  for (const auto& [each, value] : attributes_) {
    if (each == name) return value;
  }
  return {};
}

MDSTREAM_INLINE std::string xml_reader::text() {
  std::string out;
  if (take_empty_end()) return out;
  while (!take_end()) {
    if (skip_aside()) continue;
    if (take("<![CDATA[")) {
      out += take_through("]]>", "a CDATA section has no end");
    } else if (peek() == '&') {
      append_reference(out);
    } else if (peek() == '<') {
      fail("an element stands where text is expected");
    } else {
      append_plain(out);
    }
  }
  return out;
}

MDSTREAM_INLINE void xml_reader::skip() {
  if (open_.empty()) fail("there is no open element");
  const std::size_t outer = open_.size() - 1;
  while (open_.size() > outer) {
    if (take_empty_end() || skip_aside() || take_end() || take_start()) continue;
    if (take("<![CDATA[")) {
      (void)take_through("]]>", "a CDATA section has no end");
    } else if (std::string passed; peek() == '&') {
      append_reference(passed);
    } else {
      append_plain(passed);
    }
  }
}

MDSTREAM_INLINE void xml_reader::finish() {
  skip_between();
  if (!open_.empty() || at_ != text_.size()) fail("something follows the document");
}

MDSTREAM_INLINE void xml_reader::fail(std::string what) const {
  diagnostics where = where_;
  where.what = "not the XML that is expected: " + std::move(what);
  where.byte = at_;
  throw error(errc::corrupt, std::move(where));
}

MDSTREAM_INLINE bool xml_reader::is_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

MDSTREAM_INLINE std::string_view xml_reader::local_name(std::string_view name) noexcept {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

MDSTREAM_INLINE char xml_reader::peek() const {
  if (at_ == text_.size()) fail("the text ends too early");
  return text_[at_];
}

MDSTREAM_INLINE bool xml_reader::take(std::string_view wanted) noexcept {
  if (!text_.substr(at_).starts_with(wanted)) return false;
  at_ += wanted.size();
  return true;
}

MDSTREAM_INLINE std::string_view xml_reader::take_through(std::string_view end,
                                                          const char* missing) {
  const std::size_t found = text_.find(end, at_);
  if (found == std::string_view::npos) fail(missing);
  const std::string_view part = text_.substr(at_, found - at_);
  at_ = found + end.size();
  return part;
}

MDSTREAM_INLINE bool xml_reader::skip_aside() {
  if (take("<!--")) {
    (void)take_through("-->", "a comment has no end");
    return true;
  }
  if (take("<?")) {
    (void)take_through("?>", "a processing instruction has no end");
    return true;
  }
  if (text_.substr(at_).starts_with("<!DOCTYPE")) fail("document types are not taken");
  return false;
}

MDSTREAM_INLINE void xml_reader::skip_between() {
  if (at_ == 0) (void)take("\xEF\xBB\xBF");
  do skip_space();
  while (skip_aside());
}

MDSTREAM_INLINE std::string_view xml_reader::take_name() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_name(text_[at_])) ++at_;
  if (begin == at_) fail("a name is expected");
  return text_.substr(begin, at_ - begin);
}

MDSTREAM_INLINE bool xml_reader::take_start() {
  if (at_ + 1 >= text_.size() || text_[at_] != '<' || !is_name(text_[at_ + 1])) return false;
  ++at_;
  if (open_.size() == max_depth) fail("elements are nested too deeply");
  open_.push_back(take_name());
  attributes_.clear();
  while (true) {
    skip_space();
    if (take(">")) return true;
    if (take("/>")) {
      empty_ = true;
      return true;
    }
    take_attribute();
  }
}

MDSTREAM_INLINE void xml_reader::take_attribute() {
  const std::string_view name = take_name();
  skip_space();
  if (!take("=")) fail("an attribute has no value");
  skip_space();
  const char quote = peek();
  if (quote != '"' && quote != '\'') fail("an attribute's value is not quoted");
  ++at_;
  const std::string_view value = take_through({&quote, 1}, "an attribute has no end");
  if (value.find('<') != std::string_view::npos) fail("an attribute's value holds an element");
  attributes_.emplace_back(name, value);
}

MDSTREAM_INLINE bool xml_reader::take_empty_end() noexcept {
  if (!std::exchange(empty_, false)) return false;
  close();
  return true;
}

MDSTREAM_INLINE bool xml_reader::take_end() {
  if (open_.empty()) fail("there is no open element");
  if (!take("</")) return false;
  if (take_name() != open_.back()) fail("an end tag is not that of its element");
  skip_space();
  if (!take(">")) fail("an end tag has no end");
  close();
  return true;
}

MDSTREAM_INLINE void xml_reader::close() noexcept {
  open_.pop_back();
  done_ = open_.empty();
}

MDSTREAM_INLINE void xml_reader::append_plain(std::string& out) {
  const std::size_t end = std::min(text_.find_first_of("<&", at_), text_.size());
  if (end == at_) fail("markup that is not known");
  out += text_.substr(at_, end - at_);
  at_ = end;
  (void)peek();
}

MDSTREAM_INLINE void xml_reader::append_reference(std::string& out) {
  static constexpr std::pair<std::string_view, char> names[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
  for (const auto& [name, character] : names) {
    if (take(name)) {
      out += character;
      return;
    }
  }
  if (!take("&#")) fail("an entity that is not known");
  append_number(out, take("x") ? 16 : 10);
}

MDSTREAM_INLINE void xml_reader::append_number(std::string& out, int base) {
  std::uint32_t value = 0;
  const char* const begin = text_.data() + at_;
  const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), value, base);
  at_ += static_cast<std::size_t>(end - begin);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (failure != std::errc() || value == 0 || value > 0x10FFFF || surrogate || !take(";")) {
    fail("a character reference is none");
  }
  mdstream::detail::append_utf8(out, static_cast<char32_t>(value));
}

}  // namespace mdstream::inline v0::net
