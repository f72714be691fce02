#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/json/reader.hpp>
#include <mdstream/version.hpp>

#include <cstring>
#include <limits>

namespace mdstream::inline v0::json {

MDSTREAM_INLINE kind reader::peek() {
  skip_space();
  switch (at_ < text_.size() ? text_[at_] : '\0') {
    case '{': return kind::object;
    case '[': return kind::array;
    case '"': return kind::string;
    case 't':
    case 'f': return kind::boolean;
    case 'n': return kind::null;
    default: return scan_number(text_.substr(at_)).real ? kind::real : kind::integer;
  }
}

MDSTREAM_INLINE std::optional<std::string_view> reader::next_key() {
  if (!next('}')) return std::nullopt;
  skip_space();
  const std::string_view key = read_string(key_scratch_);
  skip_space();
  expect(':', "a colon after the key");
  return key;
}

MDSTREAM_INLINE std::string_view reader::string() {
  skip_space();
  return read_string(scratch_);
}

MDSTREAM_INLINE std::string_view reader::number_text() {
  skip_space();
  const number_scan found = scan_number(text_.substr(at_));
  if (found.size == 0) fail("a number is expected");
  at_ += found.size;
  return text_.substr(at_ - found.size, found.size);
}

MDSTREAM_INLINE std::uint64_t reader::unsigned_integer() {
  skip_space();
  const std::size_t begin = at_;
  std::uint64_t value = 0;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
    const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
    if (value > (most - digit) / 10) fail_at(begin, "the integer is too large");
    value = value * 10 + digit;
  }
  if (at_ == begin) fail("an integer of at least 0 is expected");
  if (at_ - begin > 1 && text_[begin] == '0') fail_at(begin, "an integer begins with 0");
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E'))
    fail_at(begin, "an integer is expected");
  return value;
}

MDSTREAM_INLINE bool reader::boolean() {
  skip_space();
  if (take("true")) return true;
  if (take("false")) return false;
  fail("true or false is expected");
}

MDSTREAM_INLINE bool reader::take_null() {
  skip_space();
  return take("null");
}

MDSTREAM_INLINE std::string_view reader::skip() {
  skip_space();
  const std::size_t begin = at_;
  skip_value();
  return text_.substr(begin, at_ - begin);
}

MDSTREAM_INLINE void reader::finish() {
  skip_space();
  if (at_ != text_.size()) fail("text follows the JSON value");
}

MDSTREAM_INLINE void reader::fail_at(std::size_t byte, std::string what) const {
  diagnostics where = where_;
  where.what = std::move(what);
  if (byte >= text_.size()) where.what += ", but the JSON text ends";
  where.byte = byte;
  throw error(errc::corrupt, std::move(where));
}

MDSTREAM_INLINE void reader::skip_space() noexcept {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
    ++at_;
}

MDSTREAM_INLINE bool reader::take(std::string_view word) noexcept {
  if (text_.compare(at_, word.size(), word) != 0) return false;
  at_ += word.size();
  return true;
}

MDSTREAM_INLINE void reader::expect(char c, const char* what) {
  if (at_ >= text_.size() || text_[at_] != c) fail(std::string(what) + " is expected");
  ++at_;
}

MDSTREAM_INLINE void reader::begin(char bracket, const char* what) {
  skip_space();
  expect(bracket, what);
  if (++depth_ > max_depth) fail_at(at_ - 1, "the JSON text nests too deeply");
  first_ = true;
}

MDSTREAM_INLINE bool reader::next(char close) {
  skip_space();
  const bool first = std::exchange(first_, false);
  if (at_ < text_.size() && text_[at_] == close) {
    ++at_;
    --depth_;
    return false;
  }
  if (!first) {
    if (at_ >= text_.size() || text_[at_] != ',')
      fail(std::string("a comma or ") + close + " is expected");
    ++at_;
  }
  return true;
}

MDSTREAM_INLINE void reader::skip_value() {
  switch (peek()) {
    case kind::null:
      if (!take("null")) fail("a value is expected");
      break;
    case kind::boolean: (void)boolean(); break;
    case kind::integer:
    case kind::real: (void)number_text(); break;
    case kind::string: (void)string(); break;
    case kind::array:
      begin_array();
      while (next_item()) skip_value();
      break;
    case kind::object:
      begin_object();
      while (next_key()) skip_value();
      break;
  }
}

MDSTREAM_INLINE std::size_t reader::end_of_plain(std::size_t from) const noexcept {
  const auto first_of = [](std::uint64_t found) {
    return static_cast<std::size_t>(__builtin_ctzll(found)) / 8;
  };
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101U;
  constexpr std::uint64_t tops = 0x8080'8080'8080'8080U;
  const auto zero_bytes = [](std::uint64_t v) { return (v - ones) & ~v & tops; };
  // Most strings are short: what makes long ones faster would make these slower.
  for (const std::size_t end = from + 32; from != end && text_.size() - from >= 8; from += 8) {
    std::uint64_t word;
    std::memcpy(&word, text_.data() + from, 8);
    const std::uint64_t special = zero_bytes(word ^ (ones * '"')) |
                                  zero_bytes(word ^ (ones * '\\')) |
                                  ((word - ones * 0x20) & ~word & tops);
    if (special != 0) return from + first_of(special);
  }
  constexpr std::size_t block = 16;
  for (; text_.size() - from >= block; from += block) {
    unsigned char special[block];  // 1 for what ends it; compilers make vectors of this
    for (std::size_t i = 0; i < block; ++i) {
      const auto c = static_cast<unsigned char>(text_[from + i]);
      special[i] = (c == '"') | (c == '\\') | (c < 0x20);
    }
    std::uint64_t words[block / 8];
    std::memcpy(words, special, block);
    if (words[0] != 0) return from + first_of(words[0]);
    if (words[1] != 0) return from + 8 + first_of(words[1]);
  }
  while (from < text_.size() && text_[from] != '"' && text_[from] != '\\' &&
         static_cast<unsigned char>(text_[from]) >= 0x20)
    ++from;
  return from;
}

MDSTREAM_INLINE std::string_view reader::read_string(std::string& scratch) {
  expect('"', "a string");
  const std::size_t begin = at_;
  at_ = end_of_plain(begin);
  if (at_ < text_.size() && text_[at_] == '"') return text_.substr(begin, at_++ - begin);
  scratch.assign(text_, begin, at_ - begin);
  while (true) {
    if (at_ >= text_.size()) fail("the end of a string is expected");
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return scratch;
    }
    if (c != '\\') fail("a string holds a control character");
    read_escape(scratch);
    const std::size_t plain = at_;
    at_ = end_of_plain(plain);
    scratch.append(text_, plain, at_ - plain);
  }
}

MDSTREAM_INLINE void reader::read_escape(std::string& out) {
  ++at_;
  if (at_ >= text_.size()) fail("an escape is expected");
  switch (text_[at_++]) {
    case '"': out += '"'; return;
    case '\\': out += '\\'; return;
    case '/': out += '/'; return;
    case 'b': out += '\b'; return;
    case 'f': out += '\f'; return;
    case 'n': out += '\n'; return;
    case 'r': out += '\r'; return;
    case 't': out += '\t'; return;
    case 'u': mdstream::detail::append_utf8(out, read_code_point()); return;
    default: fail_at(at_ - 1, "unknown escape in a string");
  }
}

MDSTREAM_INLINE char32_t reader::read_code_point() {
  const char32_t first = read_hex4();
  if (first < 0xD800 || first > 0xDBFF || text_.compare(at_, 2, "\\u") != 0) return first;
  const std::size_t before = at_;
  at_ += 2;
  const char32_t second = read_hex4();
  if (second >= 0xDC00 && second <= 0xDFFF)
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  at_ = before;
  return first;
}

MDSTREAM_INLINE char32_t reader::read_hex4() {
  char32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    value <<= 4;
    if (c >= '0' && c <= '9')
      value |= static_cast<char32_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value |= static_cast<char32_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F')
      value |= static_cast<char32_t>(c - 'A' + 10);
    else
      fail("four hexadecimal digits are expected");
  }
  return value;
}

}  // namespace mdstream::inline v0::json
