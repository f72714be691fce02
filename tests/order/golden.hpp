#pragma once

/// Reading the golden vectors: see tests/golden/README.md for their form.

#include <mdstream/core/fnv.hpp>

#include <nlohmann/json.hpp>

#include <bit>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "support/golden_file.hpp"

namespace golden {

using json = nlohmann::json;

inline json load(const std::string& name) {
  std::ifstream file(support::golden_file(name + ".json"));
  return json::parse(file);
}

/// Integers of 53 bits and more are decimal strings.
inline std::uint64_t number(const json& value) {
  return value.is_string() ? std::stoull(value.get<std::string>()) : value.get<std::uint64_t>();
}
inline std::int64_t integer(const json& value) {
  return value.is_string() ? std::stoll(value.get<std::string>()) : value.get<std::int64_t>();
}
inline std::uint64_t hex(const json& value) {
  return std::stoull(value.get<std::string>(), nullptr, 16);
}
inline double real(const json& value) { return std::bit_cast<double>(hex(value)); }

/// Doubles are equal when their bits are, or when both are NaN.
inline bool same_double(double got, const json& expected) {
  const std::uint64_t a = std::bit_cast<std::uint64_t>(got), b = hex(expected);
  const auto nan = [](std::uint64_t bits) { return (bits & ~(1ULL << 63)) > 0x7ffULL << 52; };
  return a == b || (nan(a) && nan(b));
}

template <class T>
std::string hash(std::span<const T> values) {
  static_assert(sizeof(T) == 8);
  mdstream::fnv1a h;
  for (const T& v : values) h.add(v);
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[h.value() >> shift & 15];
  return out;
}

/// Whether ids are those of a case, given in full, or by number, hash and head.
inline bool same_ids(const json& expected, const std::vector<std::int64_t>& got,
                     const char* size_key = "n") {
  if (expected.contains("ids")) return expected["ids"].get<std::vector<std::int64_t>>() == got;
  const auto head = expected["head"].get<std::vector<std::int64_t>>();
  return expected[size_key].get<std::size_t>() == got.size() &&
         std::equal(head.begin(), head.end(), got.begin()) &&
         expected["hash"] == hash(std::span<const std::int64_t>(got));
}

/// Sizes, plain or as [[size, count], ...].
inline std::vector<std::uint64_t> sizes(const json& value, bool run_lengths) {
  if (!run_lengths) return value.get<std::vector<std::uint64_t>>();
  std::vector<std::uint64_t> out;
  for (const json& run : value)
    out.insert(out.end(), run[1].get<std::size_t>(), run[0].get<std::uint64_t>());
  return out;
}

}  // namespace golden
