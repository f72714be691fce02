#include "quickstart/tcp_exchange.hpp"

#include "support/catch.hpp"
#include "support/free_port.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tcp_exchange_test {

using quickstart::groups;
using quickstart::tcp_exchange;

/// A port of this machine that nobody has.
inline std::string meeting() { return "127.0.0.1:" + std::to_string(support::free_port()); }

/// Runs `one(exchange)` on a thread for each rank; what each of them threw, or nothing.
template <class F>
std::vector<std::string> on_ranks(std::size_t ranks, F one) {
  const std::string where = meeting();
  std::vector<std::string> failures(ranks);
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          tcp_exchange exchange(where, rank, ranks);
          one(exchange);
        } catch (const std::exception& e) {
          failures[rank] = e.what();
        }
      });
  }
  return failures;
}

}  // namespace tcp_exchange_test

using namespace tcp_exchange_test;

TEST_CASE("ranks that meet by TCP end up with the groups of all", "[quickstart]") {
  constexpr std::size_t block = 20'000;  // more than a socket holds
  for (const std::size_t ranks : {1U, 2U, 3U, 4U, 12U}) {
    INFO(ranks << " ranks");
    std::vector<std::vector<std::uint64_t>> all(ranks,
                                                std::vector<std::uint64_t>(groups * block, 7));
    std::vector<std::string> texts(ranks);
    const auto failures = on_ranks(ranks, [&](tcp_exchange& exchange) {
      auto& mine = all[exchange.rank()];
      for (std::size_t i = 0; i < mine.size(); ++i)
        if (i / block % ranks == exchange.rank()) mine[i] = i;
      exchange.share(std::span(mine));
      std::string& text = texts[exchange.rank()];
      if (exchange.rank() == 0) text = std::string(100'000, 'x') + "end";
      exchange.broadcast(text);
    });
    CHECK(failures == std::vector<std::string>(ranks));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < all[rank].size(); ++i) wrong += all[rank][i] != i;
      CHECK(wrong == 0);
      CHECK(texts[rank] == texts[0]);
    }
  }
}

TEST_CASE("a rank that ends makes the others throw", "[quickstart]") {
  const auto failures = on_ranks(3, [](tcp_exchange& exchange) {
    if (exchange.rank() == 1) return;
    std::vector<double> values(groups);
    exchange.share(std::span(values));
  });
  CHECK(failures[0] == "another rank has ended");
  CHECK(failures[1].empty());
  CHECK_FALSE(failures[2].empty());
}
