#include <mdstream/net/v4_chunked_body.hpp>

#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace v4_chunked_body_test {

using namespace mdstream::net;
using mdstream::as_bytes;

const wall_clock::time_point now{std::chrono::seconds(1369353600)};

v4_chunk_signer signer() {
  const aws_credentials keys{.access_key_id = "AKIAIOSFODNN7EXAMPLE",
                             .secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  return {v4_signing_key(keys, now, "us-east-1"), now, std::string(64, '0')};
}

/// The same, framed at once.
std::string framed(const std::string& body) {
  v4_chunk_signer chunks = signer();
  std::string out;
  for (std::size_t at = 0; at < body.size(); at += v4_chunked_body::chunk_bytes) {
    const std::string part = body.substr(at, v4_chunked_body::chunk_bytes);
    out += chunks.next(as_bytes(part)) + part + "\r\n";
  }
  return out + chunks.next({}) + "\r\n";
}

TEST_CASE("a body comes framed and signed, in pieces of any size", "[net][v4]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const std::size_t size : {0U, 1U, 65535U, 65536U, 65537U, 131072U, 200000U}) {
    std::string body(size, '\0');
    for (char& c : body) c = static_cast<char>(random());
    v4_chunked_body source(signer(), as_bytes(body));
    std::string out;
    while (true) {
      std::vector<std::byte> piece(1 + random() % (random() % 2 == 0 ? 7 : 100'000));
      const std::size_t got = source.pull(piece);
      out += mdstream::as_text(mdstream::bytes_view(piece).first(got));
      if (got < piece.size()) break;
    }
    CHECK(out == framed(body));
    CHECK(out.size() == v4_chunked_body::framed_size(size));
    std::vector<std::byte> more(10);
    CHECK(source.pull(more) == 0);
  }
}

}  // namespace v4_chunked_body_test
