#include <mdstream/net/fetch.hpp>

#include <atomic>
#include <stop_token>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace fetch_test {

using namespace service;
using mds::errc;

/// The status that a request ends with when the server answers these one after another.
std::pair<std::error_code, int> end_of(std::vector<int> statuses, std::size_t& requests) {
  mds::runtime threads(1);
  std::atomic<std::size_t> next{0};
  const server web([&](const scripted_request&) {
    return reply{statuses[std::min(next++, statuses.size() - 1)]};
  });
  mds::diagnostics where;
  mds::one_time_event over;
  std::pair<std::error_code, int> out;
  fetcher_for(threads).send([&] { return net::http_request{.url = web.url() + "/"}; }, {}, where,
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
  CHECK(end_of({503}, requests).first == errc::unavailable);
  CHECK(requests == 3);
  CHECK(end_of({403}, requests) == std::pair{std::error_code(), 403});
  CHECK(requests == 1);
}

}  // namespace fetch_test
