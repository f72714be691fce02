#pragma once

/// MD5, SHA-1, SHA-2, SHA-3 and BLAKE2. Needs OpenSSL's libcrypto: link mdstream::openssl.

#if !__has_include(<openssl/evp.h>)
#error \
    "mdstream/hash/openssl.hpp needs <openssl/evp.h>: install OpenSSL's headers and link mdstream::openssl"
#endif

#include <mdstream/core/fixed_string.hpp>
#include <mdstream/hash/hash.hpp>

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace mdstream::inline v0 {

namespace detail {

/// What OpenSSL's algorithm of that name makes of bytes.
class openssl_digest {
 public:
  /// Throws errc::unsupported, naming the format's `name`, if this OpenSSL refuses the algorithm,
  /// as some set-ups do with MD5.
  openssl_digest(std::string_view name, std::string_view algorithm);
  openssl_digest(const openssl_digest& other);
  openssl_digest& operator=(const openssl_digest& other);
  openssl_digest(openssl_digest&&) noexcept = default;
  openssl_digest& operator=(openssl_digest&&) noexcept = default;
  ~openssl_digest() = default;

  void update(bytes_view bytes);

  [[nodiscard]] std::string hex() const;

 private:
  struct release {
    void operator()(evp_md_ctx_st* each) const noexcept;
  };
  using context = std::unique_ptr<evp_md_ctx_st, release>;

  static context make_context();

  [[nodiscard]] context copy() const;

  context context_;
};

}  // namespace detail

namespace hash {

/// The hash of that name in the format, computed by OpenSSL's algorithm. No key; BLAKE2 with its
/// longest digest.
template <fixed_string Name, fixed_string Algorithm = Name>
class openssl_hash {
 public:
  /// Throws errc::unsupported if this OpenSSL refuses the algorithm, as some set-ups do with MD5.
  openssl_hash() : digest_(Name.view(), Algorithm.view()) {}

  [[nodiscard]] static bool serves(std::string_view name) noexcept { return name == Name.view(); }

  [[nodiscard]] static openssl_hash open(std::string_view name) {
    if (!serves(name)) mdstream::detail::fail_unknown_hash(name, Name.view());
    return {};
  }

  void update(bytes_view bytes) { digest_.update(bytes); }

  [[nodiscard]] std::string hex() const { return digest_.hex(); }

 private:
  mdstream::detail::openssl_digest digest_;
};

using blake2b = openssl_hash<"blake2b", "blake2b512">;  ///< BLAKE2b, 64 bytes
using blake2s = openssl_hash<"blake2s", "blake2s256">;  ///< BLAKE2s, 32 bytes
using md5 = openssl_hash<"md5">;                        ///< MD5
using sha1 = openssl_hash<"sha1">;                      ///< SHA-1
using sha224 = openssl_hash<"sha224">;                  ///< SHA-224
using sha256 = openssl_hash<"sha256">;                  ///< SHA-256
using sha384 = openssl_hash<"sha384">;                  ///< SHA-384
using sha512 = openssl_hash<"sha512">;                  ///< SHA-512
using sha3_224 = openssl_hash<"sha3_224", "sha3-224">;  ///< SHA3-224
using sha3_256 = openssl_hash<"sha3_256", "sha3-256">;  ///< SHA3-256
using sha3_384 = openssl_hash<"sha3_384", "sha3-384">;  ///< SHA3-384
using sha3_512 = openssl_hash<"sha3_512", "sha3-512">;  ///< SHA3-512

static_assert(hash_policy<sha1>);

}  // namespace hash

/// All hashes of this header by name. To add others, name them all in one `any_hash`.
using any_openssl_hash = any_hash<hash::blake2b, hash::blake2s, hash::md5, hash::sha1, hash::sha224,
                                  hash::sha256, hash::sha384, hash::sha512, hash::sha3_224,
                                  hash::sha3_256, hash::sha3_384, hash::sha3_512>;

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/hash/detail/impl/openssl.ipp>
#endif
