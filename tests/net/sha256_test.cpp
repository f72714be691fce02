#include <mdstream/core/detail/hex.hpp>
#include <mdstream/net/sha256.hpp>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string>

#include "support/catch.hpp"

namespace sha256_test {

using namespace mdstream::net;
using mdstream::as_bytes;
using mdstream::detail::to_hex;

// FIPS 180-2, appendix B, and RFC 4231, cases 1, 2 and 6.
TEST_CASE("SHA-256 and its HMAC give the published digests", "[net]") {
  CHECK(sha256_hex({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex(as_bytes("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(to_hex(hmac_sha256(as_bytes(std::string(20, '\x0b')), as_bytes("Hi There"))) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(to_hex(hmac_sha256(as_bytes("Jefe"), as_bytes("what do ya want for nothing?"))) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(to_hex(hmac_sha256(as_bytes(std::string(131, '\xaa')),
                           as_bytes("Test Using Larger Than Block-Size Key - Hash Key First"))) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace sha256_test
