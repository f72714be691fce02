#pragma once

// Reads the golden files of the formats: datasets that MosaicML Streaming wrote, and the typed
// values that its reader gave.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mdstream/core/bytes.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/golden_file.hpp"

namespace format_golden {

using ordered_json = nlohmann::ordered_json;

inline std::string root() { return support::golden_file(""); }

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline ordered_json read_json(const std::string& path) {
  return ordered_json::parse(read_text(path));
}

inline std::vector<std::string> dataset_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(root() + "mds"))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

inline std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

inline std::string from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  unsigned value = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string::npos) break;
    value = value << 6 | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(value >> bits & 0xFFU);
  }
  return out;
}

/// The bits of a float as golden files have them, most significant digit first, as an integer.
inline std::uint64_t bits_of(const ordered_json& value) {
  return std::stoull(value.at("bits").get<std::string>(), nullptr, 16);
}

inline double double_of(const ordered_json& value) {
  const std::uint64_t bits = bits_of(value);
  double out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

}  // namespace format_golden
