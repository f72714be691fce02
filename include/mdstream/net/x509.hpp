#pragma once

/// Certificates (X.509, RFC 5280). Needs OpenSSL's libcrypto: link mdstream::openssl.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct x509_st;

namespace mdstream::inline v0::net {

/// A certificate; whether it is to be trusted is not looked at. Copies share it; thread-safe.
class certificate {
 public:
  /// The first certificate of a PEM text. Throws `errc::invalid_argument` for anything else;
  /// `place` is for messages.
  [[nodiscard]] static certificate from_pem(std::string_view pem, const std::string& place);

  /// All certificates of a PEM text, in its order, at least one. Throws as `from_pem`.
  [[nodiscard]] static std::vector<certificate> all_from_pem(std::string_view pem,
                                                             const std::string& place);

  [[nodiscard]] std::vector<std::byte> der() const;

  /// The key that it certifies, as `rsa_key::public_der` has it.
  [[nodiscard]] std::vector<std::byte> public_der() const;

  /// The SHA-1 of `der()`, as certificates are named by: `AB:CD:…`.
  [[nodiscard]] std::string fingerprint() const;

  /// What follows `prefix` in the first of the subject's values that begins with it: any bytes.
  [[nodiscard]] std::optional<std::string> subject_after(std::string_view prefix) const;

 private:
  /// A certificate is no secret. For one that is encrypted OpenSSL would ask the terminal.
  static int no_pass_phrase(char*, int, int, void*);

  std::shared_ptr<x509_st> held_;
};

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/x509.ipp>
#endif
