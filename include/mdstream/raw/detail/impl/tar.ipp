#pragma once

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/tar.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::optional<tar_member> tar_reader::read(const window& in, std::uint64_t at) {
  tar_reader reader(in, at);
  return reader.read();
}

MDSTREAM_INLINE std::optional<tar_member> tar_reader::read() {
  while (true) {
    if (at_ >= in_.bytes.size() && in_.last) return end();
    if (in_.bytes.size() - std::min<std::uint64_t>(at_, in_.bytes.size()) < tar_block)
      return short_of("a header");
    const std::byte* const header = in_.bytes.data() + at_;
    if (std::all_of(header, header + tar_block, [](std::byte b) { return b == std::byte{}; }))
      return end();
    check_sum(header);
    std::uint64_t size = number(header + 124, 12, "a size");
    const char type = static_cast<char>(header[156]);
    const bool extends = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    if (extends) {
      if (size > most_header_bytes) fail(at_, "a header that extends others is above 1 MiB");
      const std::uint64_t padded = (size + tar_block - 1) / tar_block * tar_block;
      if (in_.bytes.size() - at_ - tar_block < padded) return short_of("a header's text");
      const std::string_view text = in_.text().substr(static_cast<std::size_t>(at_ + tar_block),
                                                      static_cast<std::size_t>(size));
      if (type == 'L') long_name_ = text.substr(0, text.find('\0'));
      if (type == 'x') read_pax(text);
      at_ += tar_block + padded;
      continue;
    }
    if (pax_size_) size = *pax_size_;
    return finish(header, type, size);
  }
}

MDSTREAM_INLINE std::optional<tar_member> tar_reader::finish(const std::byte* header, char type,
                                                             std::uint64_t size) {
  const std::string_view all = as_text({header, static_cast<std::size_t>(tar_block)});
  const auto text = [&](std::size_t begin, std::size_t count) {
    const std::string_view field = all.substr(begin, count);
    return field.substr(0, field.find('\0'));
  };
  member_.name = text(0, 100);
  if (all.substr(257, 6) == std::string_view("ustar\0", 6) && !text(345, 155).empty())
    member_.name = std::string(text(345, 155)) + '/' + member_.name;
  if (!long_name_.empty()) member_.name = long_name_;
  if (!pax_path_.empty()) member_.name = pax_path_;
  const bool is_plain = type == '0' || type == '\0' || type == '7';
  member_.is_file = is_plain && !(type == '\0' && member_.name.ends_with('/'));
  if (type == 'S' || is_sparse_)
    refuse("the member \"" + member_.name + "\" is sparse: write the archive without --sparse");
  if (type == '1')
    refuse("the member \"" + member_.name +
           "\" is a hard link: write the archive with --hard-dereference");
  if (type == 'M' || type == 'V' || type == 'D')
    refuse("the archive spans several volumes or is a dump (type " + std::string(1, type) + ")");
  // links, directories and devices have no data, whatever size they show
  const bool has_data = is_plain || !(type >= '2' && type <= '6');
  member_.data = in_.offset + at_ + tar_block;
  member_.size = has_data ? size : 0;
  std::uint64_t padded = 0;
  if (__builtin_add_overflow(member_.size, tar_block - 1, &padded) ||
      __builtin_add_overflow(member_.data, padded / tar_block * tar_block, &member_.end) ||
      member_.end > std::uint64_t{1} << 62)
    fail(at_ + 124, "a member's size is beyond 62 bits");
  const std::uint64_t known_end =
      in_.last ? in_.offset + in_.bytes.size()
               : in_.object_bytes.value_or(std::numeric_limits<std::uint64_t>::max());
  if (member_.data + member_.size > known_end)
    fail(at_ + 124, "the member \"" + member_.name + "\" has " + std::to_string(member_.size) +
                        " bytes, which reach beyond the archive's end: it is cut short");
  member_.end = std::min(member_.end, known_end);
  return std::move(member_);
}

MDSTREAM_INLINE std::optional<tar_member> tar_reader::end() {
  if (member_.begin != in_.offset + at_) fail(at_, "the archive ends behind a member's headers");
  member_.is_end = true;
  return std::move(member_);
}

MDSTREAM_INLINE std::optional<tar_member> tar_reader::short_of(const char* what) const {
  if (in_.last) fail(at_, "the archive ends within " + std::string(what) + ": it is cut short");
  return std::nullopt;
}

MDSTREAM_INLINE void tar_reader::check_sum(const std::byte* header) const {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(header[i]); };
  std::uint32_t sum = 0, negative = 0;
  for (std::size_t i = 0; i < tar_block; ++i) {  // without a branch: compilers make vectors of it
    sum += byte(i);
    negative += byte(i) >> 7;
  }
  for (std::size_t i = 148; i < 156; ++i) {  // the sum's own place counts as spaces
    sum += ' ' - byte(i);
    negative -= byte(i) >> 7;
  }
  const std::int64_t signed_sum = std::int64_t{sum} - 256 * std::int64_t{negative};
  const std::uint64_t found = number(header + 148, 8, "a checksum");
  if (found != sum && found != static_cast<std::uint64_t>(signed_sum))
    fail(at_, "this is no header of a tar archive: its checksum is wrong");
}

MDSTREAM_INLINE std::uint64_t tar_reader::number(const std::byte* at, std::size_t count,
                                                 const char* what) const {
  const auto byte = static_cast<std::uint64_t>(at - in_.bytes.data());
  std::uint64_t out = 0;
  if ((std::to_integer<unsigned>(at[0]) & 0x80) != 0) {
    if ((std::to_integer<unsigned>(at[0]) & 0x7F) != 0)
      fail(byte, std::string(what) + " is negative or too large");
    for (std::size_t i = 1; i < count; ++i) {
      if (out >> 56 != 0) fail(byte, std::string(what) + " is too large");
      out = out << 8 | std::to_integer<std::uint64_t>(at[i]);
    }
    return out;
  }
  std::string_view text(reinterpret_cast<const char*>(at), count);
  text = text.substr(0, text.find('\0'));
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return 0;
  text = text.substr(first, text.find_last_not_of(' ') + 1 - first);
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out, 8);
  if (failure != std::errc{} || end != text.data() + text.size())
    fail(byte, std::string(what) + " is not an octal number");
  return out;
}

MDSTREAM_INLINE void tar_reader::read_pax(std::string_view text) {
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [space, failure] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(space - text.data());
    if (failure != std::errc{} || length < digits + 2 || length > text.size() ||
        text[digits] != ' ' || text[length - 1] != '\n')
      fail(at_ + tar_block, "a pax record is not a length, a key and a value");
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos)
      fail(at_ + tar_block, "a pax record is not a length, a key and a value");
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") pax_path_ = value;
    if (key.starts_with("GNU.sparse.")) is_sparse_ = true;
    if (key == "size") {
      std::uint64_t size = 0;
      const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (bad != std::errc{} || end != value.data() + value.size())
        fail(at_ + tar_block, "a pax record's size is not a number");
      pax_size_ = size;
    }
    text.remove_prefix(length);
  }
}

MDSTREAM_INLINE void tar_reader::fail(std::uint64_t byte, std::string what) const {
  throw error(errc::corrupt, diagnostics{.what = std::move(what), .byte = in_.offset + byte});
}

MDSTREAM_INLINE void tar_reader::refuse(std::string what) const {
  throw error(errc::unsupported, diagnostics{.what = std::move(what), .byte = in_.offset + at_});
}

}  // namespace mdstream::inline v0::raw::detail
