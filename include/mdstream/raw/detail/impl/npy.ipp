#pragma once

#include <mdstream/raw/detail/npy.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mdstream::inline v0::raw::detail {

/// What stands behind `'key':` in a header's dictionary.
MDSTREAM_INLINE std::string_view npy_entry(std::string_view header, std::string_view key) {
  const std::string quoted = '\'' + std::string(key) + '\'';
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) fail_npy("has a header without dtype, order or shape");
  std::string_view out = header.substr(at + quoted.size());
  const std::size_t colon = out.find_first_not_of(" ");
  if (colon == std::string_view::npos || out[colon] != ':') fail_npy("has a damaged header");
  out.remove_prefix(colon + 1);
  return out.substr(std::min(out.find_first_not_of(' '), out.size()));
}

MDSTREAM_INLINE dtype npy_dtype(std::string_view text) {
  if (text.size() < 5 || text[0] != '\'' || text[4] != '\'') fail_npy("has elements of no number");
  const char order = text[1];
  const std::string_view kind = text.substr(2, 2);
  if (order == '>') fail_npy("is big-endian, which cannot be stored");
  if (kind == "b1") return dtype::uint8;
  for (const dtype each : all_dtypes) {
    const char letter = is_floating(each) ? 'f' : mdstream::to_string(each)[0] == 'u' ? 'u' : 'i';
    if (kind[0] == letter && kind[1] == static_cast<char>('0' + size_of(each))) return each;
  }
  fail_npy("has elements whose type is not one of the eleven number types");
}

MDSTREAM_INLINE npy_array parse_npy(bytes_view file) {
  const std::string_view all = as_text(file);
  if (all.size() < 10 || all.substr(0, 6) != "\x93NUMPY")
    fail_npy("does not begin with \\x93NUMPY");
  const bool is_first = all[6] == '\1';
  if (all[6] < '\1' || all[6] > '\3') fail_npy("has an unknown version");
  const std::size_t begin = is_first ? 10 : 12;
  if (all.size() < begin) fail_npy("is cut short");
  const std::size_t length =
      is_first ? load<std::uint16_t>(file.data() + 8) : load<std::uint32_t>(file.data() + 8);
  if (all.size() - begin < length) fail_npy("is cut short");
  const std::string_view header = all.substr(begin, length);
  npy_array out{.type = npy_dtype(npy_entry(header, "descr"))};
  std::string_view shape = npy_entry(header, "shape");
  if (shape.empty() || shape.front() != '(') fail_npy("has a damaged shape");
  shape.remove_prefix(1);
  while (true) {
    shape.remove_prefix(std::min(shape.find_first_not_of(" ,"), shape.size()));
    if (shape.empty()) fail_npy("has a damaged shape");
    if (shape.front() == ')') break;
    std::uint64_t extent = 0;
    const auto [end, failure] = std::from_chars(shape.data(), shape.data() + shape.size(), extent);
    if (failure != std::errc{} || out.shape.rank() == 63) fail_npy("has a damaged shape");
    out.shape.push_back(extent);
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
  }
  if (npy_entry(header, "fortran_order").starts_with("True") && out.shape.rank() > 1)
    fail_npy("is in Fortran's order: write numpy.ascontiguousarray(array)");
  out.values = file.subspan(begin + length);
  const std::uint64_t elements = out.shape.elements();
  if (out.values.size() % size_of(out.type) != 0 ||
      out.values.size() / size_of(out.type) != elements)
    fail_npy("has another number of bytes than its shape says");
  return out;
}

}  // namespace mdstream::inline v0::raw::detail
