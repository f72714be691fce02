#include <mdstream/net/fetch.hpp>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace fetch_test {

using namespace service;
using mds::errc;

/// The status that a request ends with when the server answers these one after another; 0 is none.
std::pair<std::error_code, int> end_of(std::vector<int> statuses, std::size_t& requests,
                                       decltype(&net::fetcher::send) how = &net::fetcher::send) {
  mds::runtime threads(1);
  std::atomic<std::size_t> next{0};
  const support::scripted_server web([&](auto& to, const scripted_request&) {
    const int status = statuses[std::min(next++, statuses.size() - 1)];
    if (status == 0) return to.close();
    to.answer(std::to_string(status) + " X", "");
  });
  mds::diagnostics where;
  mds::detail::one_time_event over;
  std::pair<std::error_code, int> out;
  (fetcher_for(threads).*how)([&] { return net::http_request{.url = web.url() + "/"}; }, {}, where,
                              [&](std::error_code code, const net::http_response& answer) {
                                out = {code, answer.status};
                                over.set();
                              });
  over.wait();
  requests = web.requests().size();
  return out;
}

TEST_CASE("what may pass is asked three times, an answer once", "[net][fetch]") {
  std::size_t requests = 0;
  CHECK(end_of({500, 503, 200}, requests) == std::pair{std::error_code(), 200});
  CHECK(requests == 3);
  CHECK(end_of({429, 200}, requests) == std::pair{std::error_code(), 200});
  CHECK(requests == 2);
  CHECK(end_of({503}, requests).first == errc::unavailable);
  CHECK(requests == 3);
  CHECK(end_of({403}, requests) == std::pair{std::error_code(), 403});
  CHECK(requests == 1);
}

TEST_CASE("a service that may not be there is asked three times", "[net][fetch]") {
  std::size_t requests = 0;
  const auto probed = [&](std::vector<int> statuses) {
    return end_of(std::move(statuses), requests, &net::fetcher::probe);
  };
  CHECK(probed({0}) == std::pair{std::error_code(errc::not_found), 0});
  CHECK(requests == 3);
  CHECK(probed({0, 0, 200}) == std::pair{std::error_code(), 200});  // two packets were lost
  CHECK(probed({404}) == std::pair{std::error_code(), 404});
  CHECK(requests == 1);
  CHECK(probed({503, 0, 200}) == std::pair{std::error_code(), 200});
  CHECK(requests == 3);
  CHECK(probed({429}).first == errc::unavailable);
  CHECK(requests == 3);
  CHECK(probed({503, 0}).first == errc::unavailable);
}

TEST_CASE("a request that says when it was made is made again by the service's clock, once",
          "[net][fetch]") {
  mds::runtime threads(1);
  const auto ahead = std::chrono::hours(3);
  const auto end_with = [&](std::string date, int refusal) {
    std::vector<net::wall_clock::time_point> made;
    const server web([&](const scripted_request& asked) {
      return reply{asked.target == "/right" ? 200 : refusal, "", "Date: " + date + "\r\n"};
    });
    mds::diagnostics where;
    mds::detail::one_time_event over;
    std::error_code code;
    int status = 0;
    fetcher_for(threads).send_dated(
        [&](net::wall_clock::time_point now) {
          made.push_back(now);
          const bool right = now > net::wall_clock::now() + std::chrono::hours(2);
          return net::http_request{.url = web.url() + (right ? "/right" : "/wrong")};
        },
        {}, where,
        [&](std::error_code c, const net::http_response& answer) {
          code = c;
          status = answer.status;
          over.set();
        });
    over.wait();
    CHECK_FALSE(code);
    return std::pair{made.size(), status};
  };
  const std::string there = net::http_date(net::wall_clock::now() + ahead);
  const std::string present = net::http_date(net::wall_clock::now());
  const std::string far = net::http_date(net::wall_clock::now() - ahead);
  for (const int refusal : {400, 401, 403}) CHECK(end_with(there, refusal) == std::pair{2ul, 200});
  CHECK(end_with(present, 403) == std::pair{1ul, 403});  // the time was right
  CHECK(end_with(far, 403) == std::pair{2ul, 403});      // and that is not all that is wrong
  CHECK(end_with(there, 404) == std::pair{1ul, 404});
}

TEST_CASE("what makes a request may throw, which is its failure", "[net][fetch]") {
  mds::runtime threads(1);
  mds::diagnostics where;
  std::error_code code;
  fetcher_for(threads).send(
      []() -> net::http_request { throw mds::error(errc::unsupported, "no such key"); }, {}, where,
      [&](std::error_code c, const net::http_response&) { code = c; });
  CHECK(code == errc::unsupported);
  CHECK(where.what == "no such key");
}

}  // namespace fetch_test
