// Names that do not resolve for a while and addresses that move, in a network of the test's own.

#include <mdstream/net/http_client.hpp>

#include <sys/mount.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "net/http_calls.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/nginx.hpp"
#include "support/own_network.hpp"
#include "support/scripted_server.hpp"

namespace own_network_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using http_calls::call;
using http_calls::get;
using http_calls::send;
using mds::errc;
using scratch_directory::scratch;
using support::own_network;
using support::scripted_request;
using support::scripted_server;
using connection = scripted_server::connection;
using namespace std::chrono_literals;

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

TEST_CASE("when an address is gone, all but its pending requests go where the name is now",
          "[net]") {
  own_network& network = own_network::enter();
  std::atomic<int> came = 0;  // of those that wait
  const auto answers = [&came](std::string text) {
    return [&came, text = std::move(text)](connection& to, const scripted_request& request) {
      // Eight wait for each other, so that each has a connection of its own.
      const int last = request.target == "/wait" ? (came++ / 8 + 1) * 8 : 0;
      while (came < last && to.wait(5ms)) {
      }
      to.answer("200 OK", text);
    };
  };
  network.add_address("10.9.0.2");
  scripted_server old_one(answers("old"), "10.9.0.2");
  network.set_names("10.9.0.2 bucket.test\n");
  mds::runtime threads(1);
  const net::http_client client(threads, {.time = {.connect = 20s, .window = 5s}});
  const std::string url = old_one.url("bucket.test");
  const auto send_eight = [&] {
    std::vector<call> calls;
    for (int i = 0; i < 8; ++i) calls.emplace_back(client, net::http_request{.url = url + "/wait"});
    std::multiset<std::string> texts;
    for (const call& each : calls) texts.insert(each.wait().answer.text);
    return texts;
  };
  CHECK(send_eight().count("old") == 8);
  REQUIRE(old_one.connections() == 8);

  network.add_address("10.9.0.3");
  scripted_server new_one(answers("new"), "10.9.0.3", old_one.port());
  network.set_names("10.9.0.3 bucket.test\n");
  network.take_address_away("10.9.0.2");
  const auto lost = get(client, url, 10);
  CHECK(lost.code == errc::unavailable);
  CHECK(send_eight().count("new") == 8);
  CHECK(old_one.connections() == 8);

  // Back again, while connections to the other are open.
  network.add_address("10.9.0.2");
  network.set_names("10.9.0.2 bucket.test\n");
  network.take_address_away("10.9.0.3");
  CHECK(get(client, url, 10).code == errc::unavailable);
  CHECK(send_eight().count("old") == 8);
}

TEST_CASE("a name that moves before anybody has connected is resolved anew", "[net]") {
  own_network& network = own_network::enter();
  network.set_names("127.0.0.2 bucket.test\n");
  scripted_server server([](connection& to, const scripted_request&) { to.answer("200 OK", "x"); },
                         "127.0.0.3");
  mds::runtime threads(1);
  const net::http_client client(threads);
  const std::string url = server.url("bucket.test");
  CHECK(get(client, url, 10).code == errc::unavailable);  // refused
  network.set_names("127.0.0.3 bucket.test\n");
  CHECK_FALSE(get(client, url, 10).code);
}

TEST_CASE("of a name's addresses, any is the first", "[net]") {
  own_network& network = own_network::enter();
  std::list<scripted_server> servers;
  std::string names;
  for (const std::string address : {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}) {
    servers.emplace_back(
        [address](connection& to, const scripted_request&) { to.answer("200 OK", address); },
        address, servers.empty() ? 0 : servers.front().port());
    names += address + " bucket.test\n";
  }
  network.set_names(names);
  std::set<std::string> seen;
  for (int i = 0; i < 1000 && seen.size() < 4; ++i) {
    mds::runtime threads(1);
    const net::http_client client(threads);
    seen.insert(send(client, {.url = servers.front().url("bucket.test")}).answer.text);
  }
  CHECK(seen.size() == 4);
}

// A directory of authorities as systems have it: a bundle, and a link by the hash of its name.
void fill_authorities(const std::string& directory, const std::string& certificate) {
  namespace fs = std::filesystem;
  fs::copy_file(certificate, directory + "/ca-certificates.crt",
                fs::copy_options::overwrite_existing);
  const std::string link = "ln -sf ca-certificates.crt " + directory +
                           "/$(openssl x509 -hash -noout -in " + certificate + ").0";
  REQUIRE(std::system(link.c_str()) == 0);
}

TEST_CASE("a file or directory of authorities takes the place of the system's", "[net]") {
  own_network::enter();
  const scratch data, state, other_state, system, others, empty;
  const support::nginx server(data.path(), state.path(), {.tls = true});
  const support::nginx other(data.path(), other_state.path(), {.tls = true});
  fill_authorities(system.path(), server.ca_file());
  fill_authorities(others.path(), other.ca_file());
  REQUIRE(::mount(system.path().c_str(), "/etc/ssl/certs", nullptr, MS_BIND, nullptr) == 0);
  mds::runtime threads(1);
  const auto is_trusted = [&](const support::nginx& whom, net::http_client_options options) {
    options.direct = true;
    const auto found =
        get(net::http_client(threads, std::move(options)), whom.url() + "/none", 1000);
    if (found.code) CHECK(found.code == errc::permission_denied);
    return !found.code;
  };
  CHECK(is_trusted(server, {}));
  CHECK_FALSE(is_trusted(other, {}));
  CHECK(is_trusted(other, {.ca_file = other.ca_file()}));
  CHECK(is_trusted(other, {.ca_directory = others.path()}));
  CHECK_FALSE(is_trusted(server, {.ca_file = other.ca_file()}));
  CHECK_FALSE(is_trusted(server, {.ca_directory = others.path()}));
  CHECK_FALSE(is_trusted(server, {.ca_directory = empty.path()}));
  CHECK(::umount2("/etc/ssl/certs", MNT_DETACH) == 0);
}

}  // namespace own_network_test
