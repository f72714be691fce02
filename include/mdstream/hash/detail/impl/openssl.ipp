#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/hash/openssl.hpp>
#include <mdstream/version.hpp>

#include <openssl/evp.h>
#include <new>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE openssl_digest::openssl_digest(std::string_view name, std::string_view algorithm)
    : context_(make_context()) {
  const EVP_MD* const known = EVP_get_digestbyname(std::string(algorithm).c_str());
  if (known == nullptr || EVP_DigestInit_ex(context_.get(), known, nullptr) != 1)
    throw error(errc::unsupported, "OpenSSL does not compute \"" + std::string(name) + "\" here");
}

MDSTREAM_INLINE openssl_digest::openssl_digest(const openssl_digest& other)
    : context_(other.copy()) {}

MDSTREAM_INLINE openssl_digest& openssl_digest::operator=(const openssl_digest& other) {
  context_ = other.copy();
  return *this;
}

MDSTREAM_INLINE void openssl_digest::update(bytes_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

MDSTREAM_INLINE std::string openssl_digest::hex() const {
  const context done = copy();
  std::byte digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(done.get(), reinterpret_cast<unsigned char*>(digest), &size);
  return to_hex({digest, size});
}

MDSTREAM_INLINE void openssl_digest::release::operator()(evp_md_ctx_st* each) const noexcept {
  EVP_MD_CTX_free(each);
}

MDSTREAM_INLINE openssl_digest::context openssl_digest::make_context() {
  context made(EVP_MD_CTX_new());
  if (!made) throw std::bad_alloc();
  return made;
}

MDSTREAM_INLINE openssl_digest::context openssl_digest::copy() const {
  context made = make_context();
  if (EVP_MD_CTX_copy_ex(made.get(), context_.get()) != 1) throw std::bad_alloc();
  return made;
}

}  // namespace mdstream::inline v0::detail
