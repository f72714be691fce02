#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/net/pem.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/x509.hpp>
#include <mdstream/version.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <array>
#include <climits>
#include <cstring>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE certificate certificate::from_pem(std::string_view pem, const std::string& place) {
  return all_from_pem(pem, place).front();
}

MDSTREAM_INLINE std::vector<certificate> certificate::all_from_pem(std::string_view pem,
                                                                   const std::string& place) {
  std::vector<certificate> out;
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      pem.size() <= INT_MAX ? BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())) : nullptr,
      &BIO_free);
  ERR_set_mark();  // the end of the text is an error to OpenSSL
  while (X509* const one =
             in ? PEM_read_bio_X509(in.get(), nullptr, &no_pass_phrase, nullptr) : nullptr) {
    out.emplace_back().held_.reset(one, &X509_free);
  }
  ERR_pop_to_mark();
  if (out.empty()) {
    throw error(errc::invalid_argument, {.what = "this is no certificate in PEM: " +
                                                 pem_fault(pem).value_or("it is damaged"),
                                         .url = place});
  }
  return out;
}

MDSTREAM_INLINE std::vector<std::byte> certificate::der() const {
  return detail::to_der(&i2d_X509, held_.get());
}

MDSTREAM_INLINE std::vector<std::byte> certificate::public_der() const {
  return detail::to_der(&i2d_PUBKEY, X509_get0_pubkey(held_.get()));
}

MDSTREAM_INLINE std::string certificate::fingerprint() const {
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

MDSTREAM_INLINE std::optional<std::string> certificate::subject_after(
    std::string_view prefix) const {
  const X509_NAME* const subject = X509_get_subject_name(held_.get());
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const ASN1_STRING* const value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i));
    const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                                static_cast<std::size_t>(ASN1_STRING_length(value)));
    if (text.starts_with(prefix)) return std::string(text.substr(prefix.size()));
  }
  return std::nullopt;
}

MDSTREAM_INLINE int certificate::no_pass_phrase(char*, int, int, void*) { return -1; }

}  // namespace mdstream::inline v0::net
