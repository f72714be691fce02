#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/detail/blocks.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/version.hpp>

#include <openssl/evp.h>
#include <array>
#include <cstddef>
#include <memory>

namespace mdstream::inline v0::detail::cloud {

MDSTREAM_INLINE std::string crc32c_text(std::uint32_t crc) {
  std::array<std::byte, 4> out{};
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<std::byte>(crc >> (24 - 8 * i) & 0xFF);
  return to_base64(out);
}

MDSTREAM_INLINE std::string crc32c_text(bytes_view bytes, const was_read& told) {
  std::uint32_t crc = 0;
  for_blocks(bytes, [&](bytes_view block) {
    crc = mdstream::detail::crc32c(block, crc);
    if (told) told(block);
  });
  return crc32c_text(crc);
}

MDSTREAM_INLINE net::http_header content_md5(bytes_view bytes, const was_read& told) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   &EVP_MD_CTX_free);
  bool good = context && EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr) == 1;
  for_blocks(bytes, [&](bytes_view block) {
    good = good && EVP_DigestUpdate(context.get(), block.data(), block.size()) == 1;
    if (told) told(block);
  });
  std::array<std::byte, 16> digest{};
  good = good && EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()),
                                    nullptr) == 1;
  return {"Content-MD5", good ? to_base64(digest) : ""};
}

}  // namespace mdstream::inline v0::detail::cloud
