#include <mdstream/store/detail/sftp/key_file.hpp>

#include <mdstream/store/sftp.hpp>

#include <string>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_sftp_key_test {

namespace mds = mdstream;
using mds::errc;
using mds::detail::sftp::is_encrypted_key;
using support::expect_error;

/// What begins as a key file of OpenSSH does; the rest is none of a key.
std::string openssh_file(const std::string& begin) {
  return "-----BEGIN OPENSSH PRIVATE" + std::string(" KEY-----\n") + begin +
         "\n-----END OPENSSH PRIVATE KEY-----\n";
}

const std::string by_aes = "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAA";
const std::string by_none = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAA";

TEST_CASE("keys with a passphrase are recognised", "[clouds]") {
  CHECK(is_encrypted_key(openssh_file(by_aes)));
  CHECK(is_encrypted_key("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII="));
  CHECK(
      is_encrypted_key("-----BEGIN EC PRIVATE"
                       " KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x"));
  for (const std::string& text :
       {openssh_file(by_none), openssh_file(""), openssh_file("AAAA"), openssh_file("!!!!"),
        std::string(), std::string("ssh-ed25519 AAAA"),
        std::string("-----BEGIN OPENSSH PRIVATE") + " KEY-----"}) {
    INFO(text);
    CHECK_FALSE(is_encrypted_key(text));
  }
}

TEST_CASE("a key file with a passphrase is refused without it", "[clouds]") {
  const keys::home home("");
  home.write("key", openssh_file(by_aes));
  const auto open = [&](mds::store::sftp_options options) {
    options.key_file = home.path() + "/key";
    options.warn = nullptr;
    return mds::store::sftp("sftp://me@host.example/data", options);
  };
  expect_error([&] { (void)open({.variables = home.with()}); }, errc::permission_denied,
               {"encrypted", "COMPOSER_SFTP_KEY_PASSPHRASE", "ssh-add", "/key"});
  CHECK_NOTHROW(open({.variables = home.with({{"COMPOSER_SFTP_KEY_PASSPHRASE", "hush"}})}));
  CHECK_NOTHROW(open({.key_passphrase = "hush", .variables = home.with()}));
  home.write("key", openssh_file(by_none));
  CHECK_NOTHROW(open({.variables = home.with()}));
}

}  // namespace clouds_sftp_key_test
