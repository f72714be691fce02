#pragma once

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/pem.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/version.hpp>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <climits>
#include <cstring>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE rsa_key rsa_key::from_pem(std::string_view pem, const std::string& place,
                                          std::string pass_phrase) {
  if (pem.size() > INT_MAX) throw broken(place, "it is too long");
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  rsa_key out;
  if (in) {
    out.key_.reset(PEM_read_bio_PrivateKey(in.get(), nullptr, &give_pass_phrase, &pass_phrase),
                   &EVP_PKEY_free);
  }
  if (!out.key_) {
    throw broken(place, pem_fault(pem).value_or("it is damaged, or its pass phrase is another"));
  }
  if (EVP_PKEY_get_base_id(out.key_.get()) != EVP_PKEY_RSA) throw broken(place, "it is not RSA");
  return out;
}

MDSTREAM_INLINE rsa_key rsa_key::generate() {
  rsa_key out;
  out.key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048}), &EVP_PKEY_free);
  if (!out.key_) throw error(errc::unsupported, "OpenSSL makes no RSA key");
  return out;
}

MDSTREAM_INLINE std::vector<std::byte> rsa_key::public_der() const {
  return detail::to_der(&i2d_PUBKEY, key_.get());
}

MDSTREAM_INLINE std::vector<std::byte> rsa_key::sign(std::string_view text, rsa_form form) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  EVP_PKEY_CTX* how = nullptr;
  bool begun =
      context && EVP_DigestSignInit(context.get(), &how, EVP_sha256(), nullptr, key_.get()) == 1;
  if (begun && form == rsa_form::pss) {
    begun = EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
            EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  begun = begun && EVP_DigestSign(context.get(), nullptr, &size, data, text.size()) == 1;
  std::vector<std::byte> out(size);
  if (!begun || EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                               data, text.size()) != 1) {
    throw error(errc::unsupported, "OpenSSL does not sign with this RSA key");
  }
  out.resize(size);
  return out;
}

MDSTREAM_INLINE error rsa_key::broken(const std::string& place, const std::string& why) {
  return {errc::invalid_argument,
          {.what = "this is no private RSA key in PEM: " + why, .url = place}};
}

MDSTREAM_INLINE int rsa_key::give_pass_phrase(char* into, int size, int, void* phrase) {
  const auto& text = *static_cast<const std::string*>(phrase);
  if (text.size() > static_cast<std::size_t>(size)) return -1;
  std::memcpy(into, text.data(), text.size());
  return static_cast<int>(text.size());
}

MDSTREAM_INLINE std::string signed_web_token(json::object head, const json::value& claims,
                                             const rsa_key& key, rsa_form form) {
  head.insert(head.begin(), {{"alg", form == rsa_form::pss ? "PS256" : "RS256"}, {"typ", "JWT"}});
  const std::string text =
      mdstream::detail::to_base64_url(as_bytes(json::dump(json::value(std::move(head))))) + '.' +
      mdstream::detail::to_base64_url(as_bytes(json::dump(claims)));
  return text + '.' + mdstream::detail::to_base64_url(key.sign(text, form));
}

}  // namespace mdstream::inline v0::net
