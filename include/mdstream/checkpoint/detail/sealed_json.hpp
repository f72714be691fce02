#pragma once

/// The small objects of a run: JSON text that carries its own checksum, so that one of their bytes
/// changed, missing or added never passes for what was written. Any JSON reader takes them.

#include <mdstream/core/crc32c.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

/// Eight hexadecimal digits.
[[nodiscard]] inline std::string crc_text(std::uint32_t value) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  const auto count = static_cast<std::size_t>(end - digits.data());
  return std::string(8 - count, '0').append(digits.data(), count);
}

inline constexpr std::string_view seal_front = "{\"crc32c\": \"";
inline constexpr std::size_t sealed_from = seal_front.size() + 8;  ///< what the checksum covers
inline constexpr std::string_view seal_kind = "\"mdstream\": \"";

/// The beginning of a sealed text of this kind, to which further members are added, each with `, `
/// in front; `seal` ends it.
[[nodiscard]] inline std::string begin_sealed(std::string_view kind) {
  return std::string(seal_front) + "00000000\", " + std::string(seal_kind) + std::string(kind) +
         "\"";
}

/// Ends a sealed text and sets its checksum: CRC-32C of all that follows it.
inline void seal(std::string& text) {
  text += "}\n";
  const std::string crc =
      crc_text(mdstream::crc32c(as_bytes(std::string_view(text).substr(sealed_from))));
  text.replace(seal_front.size(), 8, crc);
}

/// Throws `errc::corrupt` unless `text` is a sealed text of this kind, to the byte.
inline void require_sealed(std::string_view text, std::string_view kind,
                           const diagnostics& where = {}) {
  const auto refuse = [&](std::string why) {
    diagnostics about = where;
    about.what = "the " + std::string(kind) + " is damaged: " + std::move(why);
    throw error(errc::corrupt, std::move(about));
  };
  const std::string front = begin_sealed(kind);
  if (text.size() < front.size() + 2 || text.substr(0, seal_front.size()) != seal_front ||
      text.substr(sealed_from, front.size() - sealed_from) !=
          std::string_view(front).substr(sealed_from))
    refuse("it does not begin as one");
  const std::string crc = crc_text(mdstream::crc32c(as_bytes(text.substr(sealed_from))));
  if (text.substr(seal_front.size(), 8) != crc) refuse("its checksum is another one");
}

/// A small text as a tree: its members besides the checksum are those of `members`.
[[nodiscard]] inline std::string write_sealed(std::string_view kind, const json::object& members) {
  std::string out = begin_sealed(kind);
  for (const auto& [key, value] : members) {
    out += ", ";
    json::append_string(out, key);
    out += ": ";
    json::append_value(out, value);
  }
  seal(out);
  return out;
}

/// Reads one back through `parse(tree)`. What that throws names the object, too.
template <class Parse>
[[nodiscard]] auto read_sealed(std::string_view text, std::string_view kind,
                               const diagnostics& where, Parse parse) {
  require_sealed(text, kind, where);
  try {
    return parse(json::parse(text, where));
  } catch (const error& e) {
    diagnostics about = e.where();
    if (about.url.empty()) about.url = where.url;
    about.what = "the " + std::string(kind) + " can not be right: " + about.what;
    throw error(e.code(), std::move(about));
  }
}

}  // namespace mdstream::inline v0::detail
