#pragma once

#include <mdstream/codec/codec.hpp>
#include <mdstream/version.hpp>

#include <charconv>

namespace mdstream::inline v0 {

MDSTREAM_INLINE compression_name parse_compression(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, std::nullopt};
  const std::string_view digits = text.substr(colon + 1);
  int level = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (digits.empty() || digits.front() == '-' || failure != std::errc{} ||
      end != digits.data() + digits.size())
    throw error(errc::invalid_argument, "compression \"" + std::string(text) +
                                            "\": the level is not a plain decimal number");
  return {text.substr(0, colon), level};
}

}  // namespace mdstream::inline v0

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE int checked_level(const compression_name& parsed, int least, int most, int normal) {
  if (!parsed.level) return normal;
  if (*parsed.level < least || *parsed.level > most)
    throw error(errc::invalid_argument, "compression \"" + std::string(parsed.name) + ':' +
                                            std::to_string(*parsed.level) + "\": levels are " +
                                            std::to_string(least) + " to " + std::to_string(most));
  return *parsed.level;
}

/// How to get the codec of that name into a program, or that there is none.
MDSTREAM_INLINE std::string codec_advice(std::string_view name) {
  for (const std::string_view known : {"zstd", "gz", "bz2", "br", "snappy"})
    if (name == known)
      return "include <mdstream/codec/" + std::string(name) +
             ".hpp>, name mdstream::codec::" + std::string(name) +
             " in the policies and link mdstream::" + std::string(name);
  return "there is no codec of that name";
}

MDSTREAM_INLINE void fail_unknown_codec(std::string_view text, std::string_view served) {
  const std::string_view name = text.substr(0, text.find(':'));
  throw error(errc::unsupported, "compression \"" + std::string(text) +
                                     "\" is not served by the policies' codec (" +
                                     (served.empty() ? "which serves none" : std::string(served)) +
                                     "): " + codec_advice(name));
}

MDSTREAM_INLINE std::error_code corrupt_stream(diagnostics& where, std::string what) {
  where.what = std::move(what);
  return errc::corrupt;
}

MDSTREAM_INLINE std::error_code wrong_raw_size(diagnostics& where, std::string_view codec,
                                               std::string found, std::size_t expected) {
  return corrupt_stream(where, "the " + std::string(codec) + " data hold " + std::move(found) +
                                   " bytes, the index says " + std::to_string(expected));
}

}  // namespace mdstream::inline v0::detail
