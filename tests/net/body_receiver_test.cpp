#include <mdstream/net/body_receiver.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace body_receiver_test {

namespace mds = mdstream;
using mds::net::http_response;
using mds::net::http_sink;
using mds::net::detail::body_receiver;
using verdict = body_receiver::verdict;

constexpr std::size_t piece = 16 << 10;  // what libcurl gives at a time

std::string letters(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i / 1000 % 26);
  return text;
}

// Gives the receiver a text in pieces until it wants no more; the last verdict.
verdict give(body_receiver& receiver, const std::string& text, http_response& answer) {
  verdict last = verdict::more;
  for (std::size_t at = 0; at < text.size() && last == verdict::more; at += piece) {
    last = receiver.put(mds::as_bytes(text).subspan(at, std::min(piece, text.size() - at)), true,
                        answer);
  }
  return last;
}

struct taken {
  std::vector<std::size_t> sizes{};
  std::string text{};

  [[nodiscard]] http_sink sink(std::uint64_t most) {
    return {.take =
                [this](mds::bytes_view bytes) {
                  sizes.push_back(bytes.size());
                  text += mds::as_text(bytes);
                },
            .most = most};
  }
};

TEST_CASE("what is taken comes in blocks, what is left of it when it ends", "[net]") {
  taken got;
  body_receiver receiver(got.sink(1 << 30), 0);
  http_response answer;
  const std::string text = letters(2 * body_receiver::block_bytes + 5000);
  CHECK(give(receiver, text, answer) == verdict::more);
  CHECK(answer.received == text.size());
  CHECK(got.sizes == std::vector<std::size_t>(2, body_receiver::block_bytes));
  receiver.flush();
  receiver.flush();
  CHECK(got.sizes.size() == 3);
  CHECK(got.text == text);
}

TEST_CASE("a block is no larger than what is expected, and no piece is split for it", "[net]") {
  taken got;
  body_receiver receiver(got.sink(40'000), 0);
  http_response answer;
  const std::string text = letters(40'000);
  CHECK(give(receiver, text, answer) == verdict::more);
  CHECK(got.sizes == std::vector<std::size_t>{40'000});
  CHECK(give(receiver, "x", answer) == verdict::too_long);
  receiver.flush();
  CHECK(got.text == text);

  taken uneven;
  body_receiver other(uneven.sink(1 << 30), 0);
  const std::string large = letters(body_receiver::block_bytes - 10);
  CHECK(other.put(mds::as_bytes("some before it"), true, answer) == verdict::more);
  CHECK(other.put(mds::as_bytes(large), true, answer) == verdict::more);
  CHECK(uneven.sizes.size() == 1);
  other.flush();
  CHECK(uneven.sizes.size() == 2);
  CHECK(uneven.text == "some before it" + large);
}

TEST_CASE("what a taker throws is not given to it again", "[net]") {
  int calls = 0;
  body_receiver receiver(http_sink{.take = [&](mds::bytes_view) -> void {
                                     ++calls;
                                     throw std::runtime_error("the disk is full");
                                   },
                                   .most = 100'000},
                         0);
  http_response answer;
  CHECK(give(receiver, letters(50'000), answer) == verdict::more);
  CHECK_THROWS_WITH(receiver.flush(), "the disk is full");
  receiver.flush();
  CHECK(calls == 1);
}

TEST_CASE("memory takes what fits, behind what is skipped", "[net]") {
  std::array<std::byte, 10> into{};
  body_receiver receiver(http_sink{.into = into, .skip = 3, .until_full = true}, 0);
  http_response answer;
  CHECK(receiver.put(mds::as_bytes("012345"), true, answer) == verdict::more);
  CHECK(receiver.put(mds::as_bytes("6789abcdef"), true, answer) == verdict::full);
  CHECK(mds::as_text(into) == "3456789abc");
  CHECK(answer.received == 10);
}

}  // namespace body_receiver_test
