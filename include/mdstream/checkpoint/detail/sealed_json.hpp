#pragma once

/// The small objects of a run: JSON text that carries its own checksum, so that one of their bytes
/// changed, missing or added never passes for what was written. Any JSON reader takes them.

#include <mdstream/core/error.hpp>
#include <mdstream/core/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

/// Eight hexadecimal digits.
[[nodiscard]] std::string crc_text(std::uint32_t value);

inline constexpr std::string_view seal_front = "{\"crc32c\": \"";
inline constexpr std::size_t sealed_from = seal_front.size() + 8;  ///< what the checksum covers
inline constexpr std::string_view seal_kind = "\"mdstream\": \"";

/// The beginning of a sealed text of this kind, to which further members are added, each with `, `
/// in front; `seal` ends it.
[[nodiscard]] std::string begin_sealed(std::string_view kind);

/// Ends a sealed text and sets its checksum: CRC-32C of all that follows it.
void seal(std::string& text);

/// Whether a text that begins as a sealed one has its checksum.
[[nodiscard]] bool has_seal(std::string_view text);

/// Throws `errc::corrupt` unless `text` is a sealed text of this kind, to the byte.
void require_sealed(std::string_view text, std::string_view kind, const diagnostics& where = {});

/// A small text as a tree: its members besides the checksum are those of `members`.
[[nodiscard]] std::string write_sealed(std::string_view kind, const json::object& members);

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

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/sealed_json.ipp>
#endif
