#pragma once

/// Signatures by an RSA key (RSASSA-PKCS1-v1_5 with SHA-256) and JSON web tokens signed so (RFC
/// 7515, RS256). Needs OpenSSL's libcrypto: link mdstream::openssl.

#include <mdstream/core/base64.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/writer.hpp>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <climits>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::net {

/// A private key. Copies share it; thread-safe.
class rsa_key {
 public:
  /// Reads PEM, PKCS#1 or PKCS#8, encrypted or not. `place` is for messages, which quote nothing.
  /// Throws `errc::invalid_argument` for anything else, a wrong pass phrase among it.
  [[nodiscard]] static rsa_key from_pem(std::string_view pem, const std::string& place,
                                        std::string pass_phrase = {}) {
    if (pem.size() > INT_MAX) throw broken(place, "it is too long");
    if (pem.find("-----BEGIN ") == std::string_view::npos) {
      throw broken(place, "no line begins with -----BEGIN");
    }
    const std::unique_ptr<BIO, decltype(&BIO_free)> in(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
    rsa_key out;
    if (in) {
      out.key_.reset(PEM_read_bio_PrivateKey(in.get(), nullptr, &give_pass_phrase, &pass_phrase),
                     &EVP_PKEY_free);
    }
    if (!out.key_) throw broken(place, "it is damaged, or its pass phrase is another");
    if (EVP_PKEY_get_base_id(out.key_.get()) != EVP_PKEY_RSA) throw broken(place, "it is not RSA");
    return out;
  }

  /// The signature's bytes. Throws `errc::unsupported` if this OpenSSL refuses.
  [[nodiscard]] std::vector<std::byte> sign(std::string_view text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    const bool begun =
        context &&
        EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
        EVP_DigestSign(context.get(), nullptr, &size, data, text.size()) == 1;
    std::vector<std::byte> out(size);
    if (!begun || EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                                 data, text.size()) != 1) {
      throw error(errc::unsupported, "OpenSSL does not sign with this RSA key");
    }
    out.resize(size);
    return out;
  }

 private:
  [[nodiscard]] static error broken(const std::string& place, const std::string& why) {
    return {errc::invalid_argument,
            {.what = "this is no private RSA key in PEM: " + why, .url = place}};
  }

  /// Also where there is none, or OpenSSL would ask the terminal.
  static int give_pass_phrase(char* into, int size, int, void* phrase) {
    const auto& text = *static_cast<const std::string*>(phrase);
    if (text.size() > static_cast<std::size_t>(size)) return -1;
    std::memcpy(into, text.data(), text.size());
    return static_cast<int>(text.size());
  }

  std::shared_ptr<EVP_PKEY> key_;
};

/// The token of these claims; `key_id` goes into its head unless it is empty.
[[nodiscard]] inline std::string signed_web_token(const json::value& claims, const rsa_key& key,
                                                  const std::string& key_id) {
  json::object head{{"alg", "RS256"}, {"typ", "JWT"}};
  if (!key_id.empty()) head.emplace_back("kid", key_id);
  const std::string text = to_base64_url(as_bytes(json::dump(json::value(std::move(head))))) + '.' +
                           to_base64_url(as_bytes(json::dump(claims)));
  return text + '.' + to_base64_url(key.sign(text));
}

}  // namespace mdstream::inline v0::net
