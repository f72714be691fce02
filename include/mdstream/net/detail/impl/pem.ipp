#pragma once

#include <mdstream/net/pem.hpp>
#include <mdstream/version.hpp>

#include <cstddef>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::optional<std::string> pem_fault(std::string_view text) {
  constexpr std::string_view begin = "-----BEGIN ", end = "-----END ", dashes = "-----";
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  const auto fault = [](std::size_t line, const char* why) {
    return "line " + std::to_string(line) + ' ' + why;
  };
  std::size_t number = 0, begun_at = 0;
  std::string_view label;
  bool in_headers = false, any = false;
  while (!text.empty()) {
    ++number;
    const std::size_t size = text.find('\n');
    std::string_view line = text.substr(0, size);
    text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
    const std::size_t last = line.find_last_not_of(" \t\r");
    line = line.substr(0, last == std::string_view::npos ? 0 : last + 1);
    if (line.starts_with(begin)) {
      if (begun_at != 0) return fault(number, "begins another before the last has ended");
      label = line.substr(begin.size());
      if (!label.ends_with(dashes)) return fault(number, "does not end with -----");
      begun_at = number;
      in_headers = any = true;
    } else if (begun_at == 0) {
      continue;
    } else if (line.starts_with(end)) {
      if (line.substr(end.size()) != label) return fault(number, "ends another than has begun");
      begun_at = 0;
    } else if (in_headers && line.find(':') != std::string_view::npos) {
      continue;
    } else {
      in_headers = false;
      if (line.find_first_not_of(letters) != std::string_view::npos) {
        return fault(number, "is no base64");
      }
    }
  }
  if (begun_at != 0) return fault(begun_at, "begins what no line ends with -----END");
  if (!any) return "no line begins with -----BEGIN";
  return std::nullopt;
}

}  // namespace mdstream::inline v0::net
