#pragma once

/// A pull reader over JSON text: the caller asks for what it expects next.

#include <mdstream/core/error.hpp>
#include <mdstream/core/json/number.hpp>
#include <mdstream/core/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::json {

enum class kind : std::uint8_t { null, boolean, integer, real, string, array, object };

[[nodiscard]] constexpr std::string_view to_string(kind type) noexcept {
  switch (type) {
    case kind::null: return "null";
    case kind::boolean: return "a boolean";
    case kind::integer: return "an integer";
    case kind::real: return "a number with fraction or exponent";
    case kind::string: return "a string";
    case kind::array: return "an array";
    case kind::object: return "an object";
  }
  return "";
}

/// Reads one JSON text from front to back. Accepts what Python's json.loads accepts, down to 512
/// levels. Every function throws errc::corrupt, naming the byte, where the text is not JSON or not
/// what was asked for. Owns nothing but a little scratch: the text must outlive the reader.
///
///     reader in(text);
///     in.begin_object();
///     while (auto key = in.next_key()) {
///       if (*key == "samples") samples = in.unsigned_integer();
///       else in.skip();
///     }
///     in.finish();
class reader {
 public:
  static constexpr unsigned max_depth = 512;

  /// `where` is what errors say about the text besides the byte.
  explicit reader(std::string_view text, diagnostics where = {})
      : text_(text), where_(std::move(where)) {}

  /// The kind of the next value.
  [[nodiscard]] kind peek() {
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

  void begin_object() { begin('{', "an object"); }
  void begin_array() { begin('[', "an array"); }

  /// Within an object: the next key, whose value comes next; nothing at its end, which is read.
  /// The view is valid until the next call of `next_key`.
  [[nodiscard]] std::optional<std::string_view> next_key() {
    if (!next('}')) return std::nullopt;
    skip_space();
    const std::string_view key = read_string(key_scratch_);
    skip_space();
    expect(':', "a colon after the key");
    return key;
  }

  /// Within an array: whether another value comes; at its end, which is read, false.
  [[nodiscard]] bool next_item() { return next(']'); }

  /// A string in UTF-8, where a lone surrogate escape is three bytes. The view is valid until the
  /// next string is read.
  [[nodiscard]] std::string_view string() {
    skip_space();
    return read_string(scratch_);
  }

  /// A number as it is written, `NaN` and `Infinity` included.
  [[nodiscard]] std::string_view number_text() {
    skip_space();
    const number_scan found = scan_number(text_.substr(at_));
    if (found.size == 0) fail("a number is expected");
    at_ += found.size;
    return text_.substr(at_ - found.size, found.size);
  }

  /// A number as the nearest double, infinity beyond the largest.
  [[nodiscard]] double number() { return to_double(number_text()); }

  /// An integer that fits. Anything else is an error.
  [[nodiscard]] std::uint64_t unsigned_integer() {
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

  [[nodiscard]] bool boolean() {
    skip_space();
    if (take("true")) return true;
    if (take("false")) return false;
    fail("true or false is expected");
  }

  /// Reads a null if one comes next.
  [[nodiscard]] bool take_null() {
    skip_space();
    return take("null");
  }

  /// Reads any value and returns its text.
  std::string_view skip() {
    skip_space();
    const std::size_t begin = at_;
    skip_value();
    return text_.substr(begin, at_ - begin);
  }

  /// Checks that nothing follows.
  void finish() {
    skip_space();
    if (at_ != text_.size()) fail("text follows the JSON value");
  }

  /// The byte that is read next.
  [[nodiscard]] std::size_t offset() const noexcept { return at_; }

  /// Goes on at `offset` on the same level. For readers that know from elsewhere what lies between.
  void advance_to(std::size_t offset) noexcept { at_ = offset; }

  [[noreturn]] void fail(std::string what) const { fail_at(at_, std::move(what)); }

  [[noreturn]] void fail_at(std::size_t byte, std::string what) const {
    diagnostics where = where_;
    where.what = std::move(what);
    if (byte >= text_.size()) where.what += ", but the JSON text ends";
    where.byte = byte;
    throw error(errc::corrupt, std::move(where));
  }

 private:
  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

  void skip_space() noexcept {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }

  bool take(std::string_view word) noexcept {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  void expect(char c, const char* what) {
    if (at_ >= text_.size() || text_[at_] != c) fail(std::string(what) + " is expected");
    ++at_;
  }

  void begin(char bracket, const char* what) {
    skip_space();
    expect(bracket, what);
    if (++depth_ > max_depth) fail_at(at_ - 1, "the JSON text nests too deeply");
    first_ = true;
  }

  bool next(char close) {
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

  void skip_value() {
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

  /// Offset of the next quote, backslash or control character at or after `from`.
  [[nodiscard]] std::size_t end_of_plain(std::size_t from) const noexcept {
    constexpr std::uint64_t ones = 0x0101'0101'0101'0101U;
    constexpr std::uint64_t tops = 0x8080'8080'8080'8080U;
    const auto zero_bytes = [](std::uint64_t v) { return (v - ones) & ~v & tops; };
    while (text_.size() - from >= 8) {
      std::uint64_t word;
      std::memcpy(&word, text_.data() + from, 8);
      const std::uint64_t special = zero_bytes(word ^ (ones * '"')) |
                                    zero_bytes(word ^ (ones * '\\')) |
                                    ((word - ones * 0x20) & ~word & tops);
      if (special != 0) return from + static_cast<std::size_t>(__builtin_ctzll(special)) / 8;
      from += 8;
    }
    while (from < text_.size() && text_[from] != '"' && text_[from] != '\\' &&
           static_cast<unsigned char>(text_[from]) >= 0x20)
      ++from;
    return from;
  }

  std::string_view read_string(std::string& scratch) {
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

  void read_escape(std::string& out) {
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
      case 'u': append_utf8(out, read_code_point()); return;
      default: fail_at(at_ - 1, "unknown escape in a string");
    }
  }

  char32_t read_code_point() {
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

  char32_t read_hex4() {
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

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  bool first_ = false;
  diagnostics where_;
  std::string scratch_;
  std::string key_scratch_;
};

}  // namespace mdstream::inline v0::json
