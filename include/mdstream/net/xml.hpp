#pragma once

/// XML as object stores answer it: elements and text. No document types, no entities but the five
/// and characters by number, so that no answer can grow while it is read.

#include <mdstream/core/error.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

/// Reads one document from front to back. Comments and processing instructions are passed over;
/// names come without their namespace prefix. Every function throws `errc::corrupt`,
/// naming the byte, where the text is not well-formed or not what was asked for. Owns nothing but
/// the names of the open elements: the text must outlive the reader.
///
///     xml_reader in(text);
///     in.begin("ListBucketResult");
///     while (auto name = in.next_child()) {
///       if (*name == "KeyCount") count = in.text();
///       else in.skip();
///     }
///     in.finish();
class xml_reader {
 public:
  static constexpr std::size_t max_depth = 64;

  /// `where` is what errors say about the text besides the byte.
  explicit xml_reader(std::string_view text, diagnostics where = {})
      : text_(text), where_(std::move(where)) {}

  /// Enters the document's element and returns its name.
  std::string_view begin();

  /// Enters the document's element, which has to have this name.
  void begin(std::string_view name);

  /// Within an element: enters its next child and returns the name; nothing at the element's end,
  /// which is read. Text between children has to be white space. A child that was entered has to be
  /// read to its end, with `text`, `skip` or this function.
  [[nodiscard]] std::optional<std::string_view> next_child();

  /// An attribute of the element that was entered last, as it is written; empty without one.
  [[nodiscard]] std::string_view attribute(std::string_view name) const noexcept;

  /// The text of the element, which has no children; reads its end.
  [[nodiscard]] std::string text();

  /// Reads the rest of the element, whatever is in it.
  void skip();

  /// After the document's element: there has to be nothing more.
  void finish();

 private:
  [[noreturn]] void fail(std::string what) const;

  [[nodiscard]] static bool is_space(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
  }
  [[nodiscard]] static bool is_name(char c) noexcept;
  [[nodiscard]] static std::string_view local_name(std::string_view name) noexcept;

  [[nodiscard]] char peek() const;
  [[nodiscard]] bool take(std::string_view wanted) noexcept;
  [[nodiscard]] std::string_view take_through(std::string_view end, const char* missing);
  void skip_space() noexcept {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  /// Comments, processing instructions and the XML declaration; refuses a document type.
  [[nodiscard]] bool skip_aside();

  void skip_between();

  std::string_view take_name();

  /// `<name attribute="…">`; of `<name/>`, too, whose end comes next then.
  [[nodiscard]] bool take_start();

  void take_attribute();

  /// The end that `<name/>` is to itself.
  [[nodiscard]] bool take_empty_end() noexcept;

  [[nodiscard]] bool take_end();

  void close() noexcept;

  void append_plain(std::string& out);

  void append_reference(std::string& out);

  void append_number(std::string& out, int base);

  std::string_view text_;
  diagnostics where_;
  std::size_t at_ = 0;
  std::vector<std::string_view> open_{};
  std::vector<std::pair<std::string_view, std::string_view>> attributes_{};  // of the last element
  bool empty_ = false;  // the element just entered was written <name/>
  bool done_ = false;
};

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/xml.ipp>
#endif
