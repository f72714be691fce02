#pragma once

/// MD5, SHA-1, SHA-2, SHA-3 and BLAKE2. Needs OpenSSL's libcrypto: link mdstream::openssl.

#if !__has_include(<openssl/evp.h>)
#error \
    "mdstream/hash/openssl.hpp needs <openssl/evp.h>: install OpenSSL's headers and link mdstream::openssl"
#endif

#include <mdstream/core/fixed_string.hpp>
#include <mdstream/hash/hash.hpp>

#include <openssl/evp.h>
#include <memory>
#include <new>

namespace mdstream::inline v0 {
namespace hash {

/// The hash of that name in the format, computed by OpenSSL's `Algorithm`. No key; BLAKE2 with its
/// longest digest.
template <fixed_string Name, const EVP_MD* (*Algorithm)()>
class openssl_hash {
 public:
  /// Throws errc::unsupported if this OpenSSL refuses the algorithm, as some set-ups do with MD5.
  openssl_hash() : context_(make_context()) {
    if (EVP_DigestInit_ex(context_.get(), Algorithm(), nullptr) != 1)
      throw error(errc::unsupported,
                  "OpenSSL does not compute \"" + std::string(Name.view()) + "\" here");
  }
  openssl_hash(const openssl_hash& other) : context_(other.copy()) {}
  openssl_hash& operator=(const openssl_hash& other) {
    context_ = other.copy();
    return *this;
  }
  openssl_hash(openssl_hash&&) noexcept = default;
  openssl_hash& operator=(openssl_hash&&) noexcept = default;
  ~openssl_hash() = default;

  [[nodiscard]] static bool serves(std::string_view name) noexcept { return name == Name.view(); }

  [[nodiscard]] static openssl_hash open(std::string_view name) {
    if (!serves(name)) mdstream::detail::fail_unknown_hash(name, Name.view());
    return {};
  }

  void update(bytes_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

  [[nodiscard]] std::string hex() const {
    const context done = copy();
    std::byte digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(done.get(), reinterpret_cast<unsigned char*>(digest), &size);
    return to_hex({digest, size});
  }

 private:
  struct release {
    void operator()(EVP_MD_CTX* each) const noexcept { EVP_MD_CTX_free(each); }
  };
  using context = std::unique_ptr<EVP_MD_CTX, release>;

  static context make_context() {
    context made(EVP_MD_CTX_new());
    if (!made) throw std::bad_alloc();
    return made;
  }

  [[nodiscard]] context copy() const {
    context made = make_context();
    if (EVP_MD_CTX_copy_ex(made.get(), context_.get()) != 1) throw std::bad_alloc();
    return made;
  }

  context context_;
};

using blake2b = openssl_hash<"blake2b", &EVP_blake2b512>;
using blake2s = openssl_hash<"blake2s", &EVP_blake2s256>;
using md5 = openssl_hash<"md5", &EVP_md5>;
using sha1 = openssl_hash<"sha1", &EVP_sha1>;
using sha224 = openssl_hash<"sha224", &EVP_sha224>;
using sha256 = openssl_hash<"sha256", &EVP_sha256>;
using sha384 = openssl_hash<"sha384", &EVP_sha384>;
using sha512 = openssl_hash<"sha512", &EVP_sha512>;
using sha3_224 = openssl_hash<"sha3_224", &EVP_sha3_224>;
using sha3_256 = openssl_hash<"sha3_256", &EVP_sha3_256>;
using sha3_384 = openssl_hash<"sha3_384", &EVP_sha3_384>;
using sha3_512 = openssl_hash<"sha3_512", &EVP_sha3_512>;

static_assert(hash_policy<sha1>);

}  // namespace hash

/// All hashes of this header by name. To add others, name them all in one `any_hash`.
using any_openssl_hash = any_hash<hash::blake2b, hash::blake2s, hash::md5, hash::sha1, hash::sha224,
                                  hash::sha256, hash::sha384, hash::sha512, hash::sha3_224,
                                  hash::sha3_256, hash::sha3_384, hash::sha3_512>;

}  // namespace mdstream::inline v0
