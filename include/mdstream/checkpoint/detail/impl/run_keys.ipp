#pragma once

#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <array>
#include <charconv>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string padded(std::uint64_t value, std::size_t width) {
  const std::string text = std::to_string(value);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

MDSTREAM_INLINE std::optional<std::uint64_t> parse_padded(std::string_view text,
                                                          std::size_t width) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || padded(value, width) != text)
    return std::nullopt;
  return value;
}

MDSTREAM_INLINE std::string start_id::text() const {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), nonce, 16).ptr;
  const auto count = static_cast<std::size_t>(end - digits.data());
  return padded(number, 8) + '-' + std::string(16 - count, '0').append(digits.data(), count);
}

MDSTREAM_INLINE std::optional<start_id> start_id::parse(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = parse_padded(text.substr(0, dash), 8);
  start_id out{.number = number.value_or(0)};
  const std::string_view nonce = text.substr(dash + 1);
  const auto [end, failure] =
      std::from_chars(nonce.data(), nonce.data() + nonce.size(), out.nonce, 16);
  if (!number || failure != std::errc{} || end != nonce.data() + nonce.size() || out.text() != text)
    return std::nullopt;
  return out;
}

MDSTREAM_INLINE std::optional<save_id> save_id::parse(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto start = start_id::parse(text.substr(0, dash));
  const auto step = parse_padded(text.substr(dash + 1), 12);
  if (!start || !step) return std::nullopt;
  return save_id{*start, *step};
}

MDSTREAM_INLINE std::string data_file_name(std::uint64_t rank, std::uint64_t number) {
  return "r" + std::to_string(rank) + '-' + std::to_string(number) + ".safetensors";
}

MDSTREAM_INLINE std::string token_key(std::string_view token) {
  if (token.empty()) throw error(errc::invalid_argument, "the token of a start is empty");
  std::string out = "tokens/";
  for (const char c : token) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_';
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (plain)
      out += c;
    else
      out.append(".").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
  }
  return out + ".json";
}

MDSTREAM_INLINE std::optional<std::string_view> between(std::string_view key,
                                                        std::string_view front,
                                                        std::string_view back) noexcept {
  if (!key.starts_with(front)) return std::nullopt;
  key.remove_prefix(front.size());
  if (!key.ends_with(back)) return std::nullopt;
  key.remove_suffix(back.size());
  return key;
}

MDSTREAM_INLINE std::optional<save_id> save_of_manifest(std::string_view key) {
  const auto name = between(key, "manifest/", ".json");
  return name ? save_id::parse(*name) : std::nullopt;
}

MDSTREAM_INLINE std::optional<save_id> save_of_note(std::string_view key, std::string_view folder) {
  const auto rest = between(key, folder, "");
  return rest ? save_id::parse(rest->substr(0, rest->find('/'))) : std::nullopt;
}

MDSTREAM_INLINE std::optional<save_id> save_of_data(std::string_view key) {
  const auto rest = between(key, "data/", "");
  if (!rest) return std::nullopt;
  const std::size_t first = rest->find('/');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = rest->find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto start = start_id::parse(rest->substr(0, first));
  const auto step = parse_padded(rest->substr(first + 1, second - first - 1), 12);
  if (!start || !step) return std::nullopt;
  const std::string_view name = rest->substr(second + 1);
  if (name == "layout.json") return save_id{*start, *step};
  if (const auto rank = between(name, "r", ".json"); rank && parse_padded(*rank, 1))
    return save_id{*start, *step};
  if (const auto file = between(name, "r", ".safetensors")) {
    const std::size_t dash = file->find('-');
    if (dash != std::string_view::npos && parse_padded(file->substr(0, dash), 1) &&
        parse_padded(file->substr(dash + 1), 1))
      return save_id{*start, *step};
  }
  return std::nullopt;
}

}  // namespace mdstream::inline v0::detail
