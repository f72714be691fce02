#pragma once

#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <tuple>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint64_t safetensors_head_bytes(bytes_view first, std::uint64_t file_bytes,
                                                     diagnostics where) {
  where.byte = 0;
  const auto refuse = [&](std::string why) {
    where.what = "the file is not in the safetensors format: " + std::move(why);
    throw error(errc::corrupt, std::move(where));
  };
  if (file_bytes < 8 || first.size() < 8) refuse("it is shorter than 8 bytes");
  const auto text = load<std::uint64_t>(first.data());
  if (text > safetensors_most_text)
    refuse("its header would have " + std::to_string(text) + " bytes, more than 100,000,000");
  if (text > file_bytes - 8)
    refuse("its header would have " + std::to_string(text) + " bytes, the file has " +
           std::to_string(file_bytes));
  return 8 + text;
}

MDSTREAM_INLINE safetensors_head safetensors_reader::read() {
  safetensors_head out;
  bool has_metadata = false;
  in_.begin_object();
  while (const auto key = in_.next_key()) {
    if (*key != "__metadata__") {
      out.tensors.push_back(read_entry(checked(*key)));
    } else if (std::exchange(has_metadata, true)) {
      in_.fail("__metadata__ stands there twice");
    } else if (!in_.take_null()) {
      read_metadata(out);
    }
  }
  in_.finish();
  return out;
}

MDSTREAM_INLINE std::string safetensors_reader::checked(std::string_view text) {
  if (first_invalid_utf8(text) != text.size()) in_.fail("a text is not Unicode");
  return std::string(text);
}

MDSTREAM_INLINE void safetensors_reader::read_metadata(safetensors_head& out) {
  in_.begin_object();
  while (const auto key = in_.next_key()) {
    std::string name = checked(*key);
    out.metadata.emplace_back(std::move(name), checked(in_.string()));
  }
  std::sort(out.metadata.begin(), out.metadata.end());
  const auto twice =
      std::adjacent_find(out.metadata.begin(), out.metadata.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != out.metadata.end())
    in_.fail("\"" + twice->first + "\" stands twice in __metadata__");
}

MDSTREAM_INLINE safetensors_entry safetensors_reader::read_entry(std::string name) {
  safetensors_entry out{.name = std::move(name)};
  enum : unsigned { dtype = 1, shape = 2, offsets = 4 };
  unsigned seen = 0;
  const auto first = [&](unsigned member) {
    if ((seen & member) != 0) fail(out.name, "a member stands there twice");
    seen |= member;
  };
  in_.begin_object();
  while (const auto key = in_.next_key()) {
    if (*key == "dtype") {
      first(dtype);
      const std::string_view type = in_.string();
      const std::optional<tensor_type> found = find_tensor_type(type);
      if (!found) fail(out.name, "there is no type \"" + std::string(type) + '"');
      out.type = *found;
    } else if (*key == "shape") {
      first(shape);
      in_.begin_array();
      while (in_.next_item()) out.shape.push_back(in_.unsigned_integer());
    } else if (*key == "data_offsets") {
      first(offsets);
      in_.begin_array();
      for (std::uint64_t* each : {&out.begin, &out.end}) {
        if (!in_.next_item()) fail(out.name, "data_offsets are not two");
        *each = in_.unsigned_integer();
      }
      if (in_.next_item()) fail(out.name, "data_offsets are not two");
    } else {
      fail(out.name, "the format has no member \"" + std::string(*key) + '"');
    }
  }
  if (seen != (dtype | shape | offsets)) fail(out.name, "dtype, shape or data_offsets are missing");
  return out;
}

MDSTREAM_INLINE safetensors_head read_safetensors(bytes_view head, std::uint64_t file_bytes,
                                                  const diagnostics& where) {
  const std::uint64_t size = safetensors_head_bytes(head, file_bytes, where);
  const std::string_view text = as_text(head);
  const auto refuse = [&](std::string why) {
    diagnostics about = where;
    about.what = "the file contradicts itself: " + std::move(why);
    throw error(errc::corrupt, std::move(about));
  };
  if (text.size() != size) refuse("of its header only " + std::to_string(text.size()) + " bytes");
  if (const std::size_t bad = 8 + first_invalid_utf8(text.substr(8)); bad != text.size()) {
    diagnostics about = where;
    about.what = "the header is not UTF-8";
    about.byte = bad;
    throw error(errc::corrupt, std::move(about));
  }
  safetensors_head out = safetensors_reader(text, where).read();
  out.data_at = size;
  std::sort(out.tensors.begin(), out.tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  for (const safetensors_entry& each : out.tensors) {
    const auto wants = tensor_bytes(each.type, each.shape);
    if (each.begin != out.data_bytes || each.end < each.begin)
      refuse("tensor \"" + each.name + "\" lies at " + std::to_string(each.begin) + " to " +
             std::to_string(each.end) + ", the one before it ends at " +
             std::to_string(out.data_bytes));
    if (!wants || *wants != each.end - each.begin)
      refuse("tensor \"" + each.name + "\" of " + std::string(mdstream::to_string(each.type)) +
             ' ' + to_string(extents(each.shape)) + " can not have " +
             std::to_string(each.end - each.begin) + " bytes");
    out.data_bytes = each.end;
  }
  if (out.data_bytes != file_bytes - size)
    refuse("its tensors have " + std::to_string(out.data_bytes) + " bytes, behind the header are " +
           std::to_string(file_bytes - size));
  std::vector<const std::string*> names;
  for (const safetensors_entry& each : out.tensors) names.push_back(&each.name);
  std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a < *b; });
  const auto twice = std::adjacent_find(names.begin(), names.end(),
                                        [](const auto* a, const auto* b) { return *a == *b; });
  if (twice != names.end()) refuse("two tensors are named \"" + **twice + '"');
  return out;
}

MDSTREAM_INLINE std::string write_safetensors(
    std::span<safetensors_entry> tensors,
    std::span<const std::pair<std::string, std::string>> metadata) {
  std::sort(tensors.begin(), tensors.end(), safetensors_before);
  std::string out(8, '\0');
  out += '{';
  const auto separate = [&out] {
    if (out.back() != '{') out += ',';
  };
  if (!metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      separate();
      json::append_string(out, key);
      out += ':';
      json::append_string(out, value);
    }
    out += '}';
  }
  std::uint64_t at = 0;
  for (safetensors_entry& each : tensors) {
    each.begin = at;
    at += *tensor_bytes(each.type, each.shape);
    each.end = at;
    separate();
    json::append_string(out, each.name);
    out.append(":{\"dtype\":\"").append(mdstream::to_string(each.type)).append("\",\"shape\":[");
    for (std::size_t d = 0; d < each.shape.size(); ++d)
      out.append(d == 0 ? "" : ",").append(std::to_string(each.shape[d]));
    out.append("],\"data_offsets\":[").append(std::to_string(each.begin));
    out.append(",").append(std::to_string(each.end)).append("]}");
  }
  out += '}';
  out.append((8 - out.size() % 8) % 8, ' ');
  const std::uint64_t text = out.size() - 8;
  if (text > safetensors_most_text)
    throw error(errc::unsupported, "a file of " + std::to_string(tensors.size()) +
                                       " tensors needs a header of " + std::to_string(text) +
                                       " bytes; readers take 100,000,000: write smaller files");
  store_to(reinterpret_cast<std::byte*>(out.data()), text);
  return out;
}

}  // namespace mdstream::inline v0::detail
