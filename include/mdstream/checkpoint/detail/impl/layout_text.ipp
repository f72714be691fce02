#pragma once

#include <mdstream/checkpoint/detail/layout_text.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/checkpoint/detail/tiling.hpp>
#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/store/store.hpp>
#include <mdstream/version.hpp>

#include <charconv>
#include <cstddef>
#include <set>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void append_numbers(std::string& out, extents of) {
  char digits[20];
  out += '[';
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (i > 0) out += ',';
    out.append(digits, std::to_chars(digits, digits + sizeof digits, of[i]).ptr);
  }
  out += ']';
}

MDSTREAM_INLINE void append_layout(std::string& out, const data_layout& layout) {
  const auto separate = [&out] {
    if (out.back() != '[') out += ',';
  };
  out += ", \"files\": [";
  for (const data_file& each : layout.files) {
    separate();
    out += "\n[";
    json::append_string(out, each.name);
    out.append(", ").append(std::to_string(each.bytes)).append(", [");
    for (std::size_t i = 0; i < each.crcs.size(); ++i)
      out.append(i == 0 ? "\"" : ",\"").append(crc_text(each.crcs[i])).append("\"");
    out += "]]";
  }
  out += "],\n\"tensors\": [";
  for (const stored_tensor& each : layout.tensors) {
    separate();
    out += "\n[";
    json::append_string(out, each.name);
    out.append(", \"").append(mdstream::to_string(each.type)).append("\", ");
    append_numbers(out, each.shape);
    out += ", [";
    for (std::size_t i = 0; i < each.pieces.size(); ++i) {
      const box_view part = each.box_of(i);
      if (i > 0) out += ',';
      out.append("[").append(std::to_string(each.pieces[i].file)).append(",");
      out.append(std::to_string(each.pieces[i].at)).append(",");
      append_numbers(out, part.offset);
      out += ',';
      append_numbers(out, part.extent);
      out += ']';
    }
    out += "]]";
  }
  out += "]";
}

MDSTREAM_INLINE void layout_reader::read_files(data_layout& out) {
  std::set<std::string> names;
  std::uint64_t sum = 0;
  in_.begin_array();
  while (in_.next_item()) {
    data_file& each = out.files.emplace_back();
    begin_tuple();
    each.name = in_.string();
    if (!key_is_safe(each.name) || each.name.find('/') != std::string::npos)
      in_.fail("\"" + each.name + "\" is not a file's name");
    if (!names.insert(each.name).second) in_.fail("two files are named \"" + each.name + '"');
    item();
    each.bytes = in_.unsigned_integer();
    if (__builtin_add_overflow(sum, each.bytes, &sum))
      in_.fail("the files have more bytes than 64 bits count");
    item();
    in_.begin_array();
    while (in_.next_item()) each.crcs.push_back(checksum());
    end_tuple();
    const std::uint64_t blocks =
        each.bytes / checksum_block + (each.bytes % checksum_block != 0 ? 1 : 0);
    if (!each.crcs.empty() && each.crcs.size() != blocks)
      in_.fail("\"" + each.name + "\" has " + std::to_string(each.crcs.size()) + " checksums for " +
               std::to_string(blocks) + " blocks");
  }
}

MDSTREAM_INLINE void layout_reader::read_tensors(data_layout& out) {
  in_.begin_array();
  while (in_.next_item()) {
    stored_tensor& each = out.tensors.emplace_back();
    begin_tuple();
    each.name = in_.string();
    if (each.name.empty() || first_invalid_utf8(each.name) != each.name.size())
      in_.fail("a tensor's name is no text");
    if (out.tensors.size() > 1 && out.tensors[out.tensors.size() - 2].name >= each.name)
      in_.fail("tensor \"" + each.name + "\" is not in the order of names");
    item();
    const auto type = find_tensor_type(in_.string());
    if (!type) fail(each, "its type is not known");
    each.type = *type;
    item();
    read_numbers(each.shape);
    if (each.shape.size() > most_dimensions || !tensor_bytes(each.type, each.shape))
      fail(each, "it can not have the shape " + to_string(extents(each.shape)));
    item();
    in_.begin_array();
    while (in_.next_item()) read_piece(each, out.files);
    end_tuple();
  }
}

MDSTREAM_INLINE void layout_reader::begin_tuple() {
  in_.begin_array();
  item();
}

MDSTREAM_INLINE void layout_reader::read_numbers(std::vector<std::uint64_t>& into) {
  in_.begin_array();
  while (in_.next_item()) into.push_back(in_.unsigned_integer());
}

MDSTREAM_INLINE std::uint32_t layout_reader::checksum() {
  const std::string_view text = in_.string();
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (failure != std::errc{} || end != text.data() + text.size() || text.size() != 8)
    in_.fail("a checksum is eight hexadecimal digits");
  return value;
}

MDSTREAM_INLINE void layout_reader::read_piece(stored_tensor& into,
                                               const std::vector<data_file>& files) {
  begin_tuple();
  const std::uint64_t file = in_.unsigned_integer();
  if (file >= files.size()) fail(into, "there is no file " + std::to_string(file));
  item();
  const std::uint64_t at = in_.unsigned_integer();
  const std::size_t before = into.corners.size(), rank = into.shape.size();
  item();
  read_numbers(into.corners);
  const bool whole_offset = into.corners.size() == before + rank;
  item();
  read_numbers(into.corners);
  end_tuple();
  if (!whole_offset || into.corners.size() != before + 2 * rank)
    fail(into, "a box is not of its dimensions");
  into.pieces.push_back({static_cast<std::uint32_t>(file), at});
  const box_view part = into.box_of(into.pieces.size() - 1);
  if (!lies_within(part, into.shape)) fail(into, "a box lies outside");
  const auto bytes = tensor_bytes(into.type, part.extent);
  const data_file& holds = files[static_cast<std::size_t>(file)];
  if (!bytes || at > holds.bytes || *bytes > holds.bytes - at)
    fail(into, "a box does not lie within \"" + holds.name + '"');
}

MDSTREAM_INLINE std::string write_layout(const data_layout& layout) {
  std::string out = begin_sealed("layout");
  append_layout(out, layout);
  seal(out);
  return out;
}

MDSTREAM_INLINE data_layout read_layout(std::string_view text, const diagnostics& where) {
  require_sealed(text, "layout", where);
  data_layout out;
  json::reader in(text, where);
  layout_reader parts(in);
  bool has_tensors = false;
  in.begin_object();
  while (const auto key = in.next_key()) {
    if (*key == "files" && out.files.empty() && !has_tensors) {
      parts.read_files(out);
    } else if (*key == "tensors" && !has_tensors) {
      parts.read_tensors(out);
      has_tensors = true;
    } else {
      (void)in.skip();
    }
  }
  in.finish();
  if (!has_tensors) in.fail("\"tensors\" is missing");
  for (const stored_tensor& each : out.tensors) require_tiling(each, errc::corrupt, where);
  require_disjoint(out, where);
  return out;
}

}  // namespace mdstream::inline v0::detail
