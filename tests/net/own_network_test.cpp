// Names that do not resolve for a while and addresses that move, in a network of the test's own.

#include <mdstream/net/http_client.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "net/http_calls.hpp"
#include "support/catch.hpp"
#include "support/own_network.hpp"
#include "support/scripted_server.hpp"

namespace own_network_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using http_calls::get;
using mds::errc;
using support::own_network;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;

TEST_CASE("a name that does not resolve once does so the next time", "[net]") {
  own_network& network = own_network::enter();
  scripted_server server([](connection& to, const scripted_request&) { to.answer("200 OK", "x"); });
  mds::runtime threads(1);
  const net::http_client client(threads);
  for (const std::string name : {"a.test", "b.test", "c.test"}) {
    const std::string url = server.url(name) + "/shard";
    network.set_names("");
    for (int failure = 0; failure < 2; ++failure) {
      const auto lost = get(client, url, 1 << 20);
      CHECK(lost.code == errc::unavailable);
      INFO(lost.text());
      CHECK(lost.text().find(name) != std::string::npos);
      CHECK(lost.text().find("option") == std::string::npos);
    }
    network.set_names("127.0.0.1 " + name + "\n");
    for (const std::size_t room : {std::size_t{1} << 20, std::size_t{1}}) {
      const auto found = get(client, url, room);
      INFO(found.text());
      CHECK_FALSE(found.code);
    }
  }
}

}  // namespace own_network_test
