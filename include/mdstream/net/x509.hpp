#pragma once

/// Certificates (X.509, RFC 5280). Needs OpenSSL's libcrypto: link mdstream::openssl.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/pem.hpp>
#include <mdstream/net/rsa.hpp>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <array>
#include <climits>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::net {

/// A certificate; whether it is to be trusted is not looked at. Copies share it; thread-safe.
class certificate {
 public:
  /// The first certificate of a PEM text. Throws `errc::invalid_argument` for anything else;
  /// `place` is for messages.
  [[nodiscard]] static certificate from_pem(std::string_view pem, const std::string& place) {
    certificate out;
    if (pem.size() <= INT_MAX) {
      const std::unique_ptr<BIO, decltype(&BIO_free)> in(
          BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
      if (in) {
        out.held_.reset(PEM_read_bio_X509(in.get(), nullptr, &no_pass_phrase, nullptr), &X509_free);
      }
    }
    if (!out.held_) {
      throw error(errc::invalid_argument, {.what = "this is no certificate in PEM: " +
                                                   pem_fault(pem).value_or("it is damaged"),
                                           .url = place});
    }
    return out;
  }

  [[nodiscard]] std::vector<std::byte> der() const {
    return detail::to_der(&i2d_X509, held_.get());
  }

  /// The SHA-1 of `der()`, as certificates are named by: `AB:CD:…`.
  [[nodiscard]] std::string fingerprint() const {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (X509_digest(held_.get(), EVP_sha1(), digest.data(), &size) != 1) {
      throw error(errc::unsupported, "OpenSSL does not compute SHA-1 here");
    }
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
      if (i != 0) out += ':';
      out += digits[digest[i] >> 4];
      out += digits[digest[i] & 15];
    }
    return out;
  }

  /// What follows `prefix` in the first of the subject's values that begins with it: any bytes.
  [[nodiscard]] std::optional<std::string> subject_after(std::string_view prefix) const {
    const X509_NAME* const subject = X509_get_subject_name(held_.get());
    for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
      const ASN1_STRING* const value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i));
      const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                                  static_cast<std::size_t>(ASN1_STRING_length(value)));
      if (text.starts_with(prefix)) return std::string(text.substr(prefix.size()));
    }
    return std::nullopt;
  }

 private:
  /// A certificate is no secret. For one that is encrypted OpenSSL would ask the terminal.
  static int no_pass_phrase(char*, int, int, void*) { return -1; }

  std::shared_ptr<X509> held_;
};

}  // namespace mdstream::inline v0::net
