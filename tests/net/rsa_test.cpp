#include <mdstream/core/detail/base64.hpp>
#include <mdstream/net/rsa.hpp>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace rsa_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using mds::errc;
using pkey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

/// A private key as PEM, encrypted by the pass phrase unless that is empty.
std::string pem_of(EVP_PKEY* key, const std::string& pass_phrase = {}) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
  std::string phrase = pass_phrase;
  REQUIRE(PEM_write_bio_PrivateKey(out.get(), key, phrase.empty() ? nullptr : EVP_aes_256_cbc(),
                                   reinterpret_cast<unsigned char*>(phrase.data()),
                                   static_cast<int>(phrase.size()), nullptr, nullptr) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

/// Whether that is the signature of the text by the private half of this public key.
bool verifies(const std::vector<std::byte>& public_der, std::string_view text,
              const std::vector<std::byte>& signature, net::rsa_form form = net::rsa_form::pkcs1) {
  const auto* at = reinterpret_cast<const unsigned char*>(public_der.data());
  const pkey key(d2i_PUBKEY(nullptr, &at, static_cast<long>(public_der.size())), &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  EVP_PKEY_CTX* how = nullptr;
  REQUIRE(EVP_DigestVerifyInit(context.get(), &how, EVP_sha256(), nullptr, key.get()) == 1);
  if (form == net::rsa_form::pss) {
    REQUIRE(EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1);
    REQUIRE(EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1);
  }
  return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

}  // namespace rsa_test

TEST_CASE("an RSA key of PEM signs as its public half verifies", "[net]") {
  using namespace rsa_test;
  const pkey made(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048}), &EVP_PKEY_free);
  REQUIRE(made);
  const auto key = net::rsa_key::from_pem(pem_of(made.get()), "key.pem");
  const auto signature = key.sign("text");
  CHECK(signature.size() == 256);
  CHECK(verifies(key.public_der(), "text", signature));
  CHECK_FALSE(verifies(key.public_der(), "other text", signature));
  CHECK(key.sign("text") == signature);  // PKCS#1 v1.5 has no randomness

  const auto salted = key.sign("text", net::rsa_form::pss);
  CHECK(salted != key.sign("text", net::rsa_form::pss));
  CHECK_FALSE(verifies(key.public_der(), "text", salted));  // as PKCS#1 v1.5
  CHECK(verifies(key.public_der(), "text", salted, net::rsa_form::pss));
  CHECK_FALSE(verifies(key.public_der(), "other text", salted, net::rsa_form::pss));

  const std::string encrypted = pem_of(made.get(), "hush phrase");
  const auto same = net::rsa_key::from_pem(encrypted, "key.pem", "hush phrase");
  CHECK(same.public_der() == key.public_der());
  CHECK(verifies(key.public_der(), "", same.sign("")));
  for (const std::string& wrong :
       {std::string("hush other"), std::string(), std::string(5000, 'x')})
    support::expect_error([&] { (void)net::rsa_key::from_pem(encrypted, "key.pem", wrong); },
                          errc::invalid_argument, {"key.pem"});

  const auto another = net::rsa_key::generate();
  CHECK(another.public_der() != key.public_der());
  CHECK_FALSE(verifies(key.public_der(), "text", another.sign("text")));
}

TEST_CASE("what is no private RSA key is refused by its place, without its text", "[net]") {
  using namespace rsa_test;
  const pkey elliptic(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), &EVP_PKEY_free);
  REQUIRE(elliptic);
  support::expect_error([&] { (void)net::rsa_key::from_pem(pem_of(elliptic.get()), "key.pem"); },
                        errc::invalid_argument, {"key.pem", "not RSA"});
  for (const std::string& bad :
       {std::string(), std::string("hush"),
        std::string("-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n"),
        std::string("-----BEGIN PRIVATE KEY-----\n")})
    support::expect_error([&] { (void)net::rsa_key::from_pem(bad, "key.pem"); },
                          errc::invalid_argument, {"key.pem", "no private RSA key"});
}

TEST_CASE("a web token is head, claims and their signature", "[net]") {
  using namespace rsa_test;
  const auto key = net::rsa_key::generate();
  for (const char* const id : {"", "key 1"}) {
    mds::json::object more;
    if (*id != 0) more.emplace_back("kid", id);
    const std::string token =
        net::signed_web_token(more, mds::json::object{{"sub", "a\"b"}, {"exp", 17}}, key);
    const std::size_t first = token.find('.'), last = token.rfind('.');
    REQUIRE(first < last);
    const std::string head = R"({"alg": "RS256", "typ": "JWT")" +
                             (*id == 0 ? "}" : R"(, "kid": ")" + std::string(id) + "\"}");
    CHECK(token.substr(0, first) == mds::detail::to_base64_url(mds::as_bytes(head)));
    CHECK(token.substr(first + 1, last - first - 1) ==
          mds::detail::to_base64_url(mds::as_bytes(std::string(R"({"sub": "a\"b", "exp": 17})"))));
    CHECK(token.substr(last + 1) == mds::detail::to_base64_url(key.sign(token.substr(0, last))));
  }
}
