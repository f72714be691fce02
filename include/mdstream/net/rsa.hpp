#pragma once

/// Signatures by an RSA key with SHA-256, and JSON web tokens signed so (RFC 7515). Needs OpenSSL's
/// libcrypto: link mdstream::openssl.

#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;

namespace mdstream::inline v0::net {

namespace detail {

/// What one of OpenSSL's `i2d` functions writes.
template <class T>
[[nodiscard]] std::vector<std::byte> to_der(int (*write)(const T*, unsigned char**),
                                            const T* what) {
  std::vector<std::byte> out(static_cast<std::size_t>(std::max(write(what, nullptr), 0)));
  auto* into = reinterpret_cast<unsigned char*>(out.data());
  if (out.empty() || write(what, &into) < 0) {
    throw error(errc::unsupported, "OpenSSL does not write this as DER");
  }
  return out;
}

}  // namespace detail

/// RSASSA-PKCS1-v1_5, or RSASSA-PSS with 32 bytes of salt: RS256 and PS256 of RFC 7518.
enum class rsa_form { pkcs1, pss };

/// A private key. Copies share it; thread-safe.
class rsa_key {
 public:
  /// Reads PEM, PKCS#1 or PKCS#8, encrypted or not. `place` is for messages, which quote nothing.
  /// Throws `errc::invalid_argument` for anything else, a wrong pass phrase among it.
  [[nodiscard]] static rsa_key from_pem(std::string_view pem, const std::string& place,
                                        std::string pass_phrase = {});

  /// A new key of 2,048 bits, which takes about 0.1 s. Throws `errc::unsupported` if this OpenSSL
  /// refuses.
  [[nodiscard]] static rsa_key generate();

  /// The public half, as DER's SubjectPublicKeyInfo (RFC 5280).
  [[nodiscard]] std::vector<std::byte> public_der() const;

  /// The signature's bytes. Throws `errc::unsupported` if this OpenSSL refuses.
  [[nodiscard]] std::vector<std::byte> sign(std::string_view text,
                                            rsa_form form = rsa_form::pkcs1) const;

 private:
  [[nodiscard]] static error broken(const std::string& place, const std::string& why);

  /// Also where there is none, or OpenSSL would ask the terminal.
  static int give_pass_phrase(char* into, int size, int, void* phrase);

  std::shared_ptr<evp_pkey_st> key_;
};

/// The token of these claims. `head` is what its head has beside `alg` and `typ`.
[[nodiscard]] std::string signed_web_token(json::object head, const json::value& claims,
                                           const rsa_key& key, rsa_form form = rsa_form::pkcs1);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/rsa.ipp>
#endif
