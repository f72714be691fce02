#pragma once

#include <mdstream/cache/detail/registered_streams.hpp>
#include <mdstream/cache/detail/stream_origin.hpp>
#include <mdstream/hash/xxh64.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint64_t index_version(bytes_view index) {
  hash::xxh64 hash;
  hash.update(index);
  return std::max<std::uint64_t>(hash.value(), 1);
}

MDSTREAM_INLINE std::int64_t file_clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

MDSTREAM_INLINE std::string text_of_origin(const stream_origin& origin) {
  const auto line = [](std::string_view name, std::string value) {
    std::ranges::replace_if(value, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return std::string(name) + ' ' + value + '\n';
  };
  return line("remote", origin.remote) + line("version", hex_digits(origin.version)) +
         line("tag", origin.tag) + line("bytes", std::to_string(origin.tagged_bytes)) +
         line("adopted", std::to_string(origin.adopted)) + "end\n";
}

MDSTREAM_INLINE std::optional<stream_origin> parse_origin(std::string_view text) {
  bool good = true;
  const auto line = [&](std::string_view name) {
    const std::size_t end = text.find('\n');
    const std::string_view found = text.substr(0, end);
    good = good && end != std::string_view::npos && found.starts_with(name) &&
           found.substr(name.size()).starts_with(' ');
    if (!good) return std::string_view();
    text.remove_prefix(end + 1);
    return found.substr(name.size() + 1);
  };
  const auto number = [&](std::string_view digits, auto& into, int base) {
    const char* const last = digits.data() + digits.size();
    const auto [end, failure] = std::from_chars(digits.data(), last, into, base);
    good = good && failure == std::errc() && end == last;
  };
  stream_origin out;
  out.remote = line("remote");
  number(line("version"), out.version, 16);
  out.tag = line("tag");
  number(line("bytes"), out.tagged_bytes, 10);
  number(line("adopted"), out.adopted, 10);
  return good && text == "end\n" ? std::optional(std::move(out)) : std::nullopt;
}

MDSTREAM_INLINE std::optional<stream_origin> read_origin(const std::string& directory) {
  return parse_origin(read_text(origin_path(directory)));
}

MDSTREAM_INLINE void write_origin(const std::string& directory, const stream_origin& origin) {
  replace_file(origin_path(directory), as_bytes(text_of_origin(origin)), durability::flushed);
}

}  // namespace mdstream::inline v0::detail
