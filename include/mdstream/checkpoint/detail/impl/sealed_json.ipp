#pragma once

#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/version.hpp>

#include <array>
#include <charconv>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string crc_text(std::uint32_t value) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  const auto count = static_cast<std::size_t>(end - digits.data());
  return std::string(8 - count, '0').append(digits.data(), count);
}

MDSTREAM_INLINE std::string begin_sealed(std::string_view kind) {
  return std::string(seal_front) + "00000000\", " + std::string(seal_kind) + std::string(kind) +
         "\"";
}

MDSTREAM_INLINE void seal(std::string& text) {
  text += "}\n";
  const std::string crc =
      crc_text(mdstream::detail::crc32c(as_bytes(std::string_view(text).substr(sealed_from))));
  text.replace(seal_front.size(), 8, crc);
}

MDSTREAM_INLINE bool has_seal(std::string_view text) {
  return text.size() >= sealed_from &&
         text.substr(seal_front.size(), 8) ==
             crc_text(mdstream::detail::crc32c(as_bytes(text.substr(sealed_from))));
}

MDSTREAM_INLINE void require_sealed(std::string_view text, std::string_view kind,
                                    const diagnostics& where) {
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
  if (!has_seal(text)) refuse("its checksum is another one");
  if (const std::size_t bad = first_invalid_utf8(text); bad != text.size())
    refuse("it is not UTF-8 at byte " + std::to_string(bad));
}

MDSTREAM_INLINE std::string write_sealed(std::string_view kind, const json::object& members) {
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

}  // namespace mdstream::inline v0::detail
