#pragma once

/// A pull reader over JSON text: the caller asks for what it expects next.

#include <mdstream/core/error.hpp>
#include <mdstream/core/json/number.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::json {

/// What a JSON value is.
enum class kind : std::uint8_t { null, boolean, integer, real, string, array, object };

/// The name for messages, with its article: "an integer".
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
  [[nodiscard]] kind peek();

  void begin_object() { begin('{', "an object"); }
  void begin_array() { begin('[', "an array"); }

  /// Within an object: the next key, whose value comes next; nothing at its end, which is read.
  /// The view is valid until the next call of `next_key`.
  [[nodiscard]] std::optional<std::string_view> next_key();

  /// Within an array: whether another value comes; at its end, which is read, false.
  [[nodiscard]] bool next_item() { return next(']'); }

  /// A string in UTF-8, where a lone surrogate escape is three bytes. The view is valid until the
  /// next string is read.
  [[nodiscard]] std::string_view string();

  /// A number as it is written, `NaN` and `Infinity` included.
  [[nodiscard]] std::string_view number_text();

  /// A number as the nearest double, infinity beyond the largest.
  [[nodiscard]] double number() { return to_double(number_text()); }

  /// An integer that fits. Anything else is an error.
  [[nodiscard]] std::uint64_t unsigned_integer();

  [[nodiscard]] bool boolean();

  /// Reads a null if one comes next.
  [[nodiscard]] bool take_null();

  /// Reads any value and returns its text.
  std::string_view skip();

  /// Checks that nothing follows.
  void finish();

  /// The byte that is read next.
  [[nodiscard]] std::size_t offset() const noexcept { return at_; }

  /// Goes on at `offset` on the same level. For readers that know from elsewhere what lies between.
  void advance_to(std::size_t offset) noexcept { at_ = offset; }

  [[noreturn]] void fail(std::string what) const { fail_at(at_, std::move(what)); }

  [[noreturn]] void fail_at(std::size_t byte, std::string what) const;

 private:
  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

  void skip_space() noexcept;

  bool take(std::string_view word) noexcept;

  void expect(char c, const char* what);

  void begin(char bracket, const char* what);

  bool next(char close);

  void skip_value();

  /// Offset of the next quote, backslash or control character at or after `from`.
  [[nodiscard]] std::size_t end_of_plain(std::size_t from) const noexcept;

  std::string_view read_string(std::string& scratch);

  void read_escape(std::string& out);

  char32_t read_code_point();

  char32_t read_hex4();

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  bool first_ = false;
  diagnostics where_;
  std::string scratch_;
  std::string key_scratch_;
};

}  // namespace mdstream::inline v0::json

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/json/reader.ipp>
#endif
