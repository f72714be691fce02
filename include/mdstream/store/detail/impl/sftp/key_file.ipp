#pragma once

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/base64.hpp>
#include <mdstream/store/detail/sftp/key_file.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <string>

namespace mdstream::inline v0::detail::sftp {

MDSTREAM_INLINE bool is_encrypted_key(std::string_view text) {
  if (text.find("-----BEGIN ENCRYPTED PRIVATE KEY-----") != text.npos ||
      text.find("Proc-Type: 4,ENCRYPTED") != text.npos) {
    return true;
  }
  constexpr std::string_view begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
  const std::size_t at = text.find(begin);
  if (at == text.npos) return false;
  // The name, then the cipher's with its length before it: `none` if there is no passphrase.
  constexpr std::string_view name("openssh-key-v1\0", 15);
  std::string digits;
  for (const char c : text.substr(at + begin.size())) {
    if (digits.size() == 32 || c == '-') break;
    if (c != '\r' && c != '\n') digits += c;
  }
  const auto head = from_base64(digits);  // 24 bytes of it
  if (!head || head->size() < 23) return false;
  const std::string_view bytes = as_text(*head);
  return bytes.starts_with(name) &&
         bytes.substr(name.size(), 8) != std::string_view("\0\0\0\4none", 8);
}

}  // namespace mdstream::inline v0::detail::sftp
