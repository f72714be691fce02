// What the Hub's store has that others have not, under `tests/servers/with.sh hub`.

#include <mdstream/store/hf.hpp>

#include <mdstream/async/detail/event.hpp>
#include <mdstream/store/full.hpp>

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_hub_server_test {

namespace mds = mdstream;
using mds::errc;

bool is_there() { return std::getenv("MDSTREAM_TEST_FILES") != nullptr; }

std::string new_place(const std::string& name) {
  return std::getenv("MDSTREAM_TEST_URL") + ("/" + name + std::to_string(::getpid()));
}

/// How many commits the server has made.
std::size_t commits() {
  std::ifstream requests(std::getenv("MDSTREAM_TEST_REQUESTS"));
  std::size_t out = 0;
  for (std::string line; std::getline(requests, line);)
    out += line.find(" header{") != std::string::npos;
  return out;
}

using object_list = std::vector<std::pair<std::string, std::vector<std::byte>>>;

/// Of both kinds: those that go into the commit itself, and those of Git LFS.
object_list some_objects(unsigned count) {
  object_list out;
  for (unsigned i = 0; i < count; ++i) {
    out.emplace_back(std::to_string(i), conformance::noise(i / 2 % 2 == 0 ? 50 : 5000, i));
  }
  return out;
}

/// Writes at the same time, in this order. `stop` is of every second one.
std::vector<std::error_code> write_all(const mds::any_async_store& store,
                                       const object_list& objects,
                                       std::stop_source* stop = nullptr) {
  struct one {
    mds::diagnostics where{};
    mds::detail::one_time_event over{};
    std::error_code code{};
  };
  std::deque<one> writes(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const bool stops = stop != nullptr && i % 2 == 1;
    store.async_write(objects[i].first, objects[i].second,
                      stops ? stop->get_token() : std::stop_token(), writes[i].where,
                      [&each = writes[i]](std::error_code code) {
                        each.code = code;
                        each.over.set();
                      });
  }
  if (stop != nullptr) {
    writes[0].over.wait();  // so that others are on all of their ways
    stop->request_stop();
  }
  std::vector<std::error_code> out;
  for (one& each : writes) {
    each.over.wait();
    out.push_back(each.code);
  }
  return out;
}

TEST_CASE("what is written to the Hub at the same time goes into few commits", "[clouds][server]") {
  if (!is_there()) {
    SUCCEED("of the Hub alone");
    return;
  }
  mds::runtime threads(2);
  const mds::full_store store = mds::full_store::open(new_place("together"), threads);
  object_list objects = some_objects(40);
  objects.emplace_back("no.ignored", conformance::noise(50, 1));
  const std::size_t before = commits();
  const auto codes = write_all(store.on(threads), objects);
  CHECK(commits() - before < 40);
  CHECK(codes.back() == errc::unsupported);
  CHECK(std::count(codes.begin(), codes.end(), std::error_code()) == 40);
  objects.pop_back();
  for (const auto& [key, bytes] : objects) CHECK(mds::read_all(store, key) == bytes);
}

TEST_CASE("what is removed from the Hub goes into commits with the rest", "[clouds][server]") {
  if (!is_there()) {
    SUCCEED("of the Hub alone");
    return;
  }
  mds::runtime threads(2);
  const mds::full_store store = mds::full_store::open(new_place("removed"), threads);
  const object_list objects = some_objects(20);
  write_all(store.on(threads), objects);
  const std::size_t before = commits();
  struct one {
    mds::diagnostics where{};
    mds::detail::one_time_event over{};
    std::error_code code{};
  };
  std::deque<one> removals(objects.size() + 1);
  for (std::size_t i = 0; i < removals.size(); ++i) {  // the last was never there
    store.on(threads).async_remove(std::to_string(i), {}, removals[i].where,
                                   [&each = removals[i]](std::error_code code) {
                                     each.code = code;
                                     each.over.set();
                                   });
  }
  for (one& each : removals) {
    each.over.wait();
    CHECK(!each.code);
  }
  CHECK(commits() - before < objects.size());
  CHECK(store.list("").empty());
}

TEST_CASE("a stopped write to the Hub stops no other", "[clouds][server]") {
  if (!is_there()) {
    SUCCEED("of the Hub alone");
    return;
  }
  mds::runtime threads(2);
  const mds::full_store store = mds::full_store::open(new_place("stopped"), threads);
  const object_list objects = some_objects(40);
  std::stop_source stop;
  const auto codes = write_all(store.on(threads), objects, &stop);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    INFO(i << ": " << codes[i].message());
    if (i % 2 == 1 && codes[i] == errc::canceled) continue;
    REQUIRE(!codes[i]);
    CHECK(mds::read_all(store, objects[i].first) == objects[i].second);
  }
}

TEST_CASE("a version of the Hub tells its hash, and bytes that are there are not sent again",
          "[clouds][server]") {
  if (!is_there()) {
    SUCCEED("of the Hub alone");
    return;
  }
  mds::runtime threads(2);
  const mds::full_store store = mds::full_store::open(new_place("same"), threads);
  const std::vector<std::byte> bytes = conformance::noise(5000, 1);
  store.write("one", bytes);
  store.write("two", bytes);
  store.write("small", mds::as_bytes("hello\n"));
  const auto digest = [&](const char* key) {
    return mds::detail::wait_for<mds::object_version>([&](mds::diagnostics& where, auto done) {
             store.on(threads).async_version(key, {}, where, std::move(done));
           })
        .digest;
  };
  CHECK(digest("one").starts_with("sha256:"));
  CHECK(digest("one") == digest("two"));
  CHECK(digest("one") == store.list("one").front().digest);
  CHECK(digest("small") == "git-sha1:ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST_CASE("a branch that is not there takes nothing", "[clouds][server]") {
  if (!is_there()) {
    SUCCEED("of the Hub alone");
    return;
  }
  mds::runtime threads(2);
  const mds::store::hf store(threads, "hf://datasets/test/data@none/x");
  support::expect_error([&] { mds::store_write(store, "y", {}); }, errc::not_found,
                        {"RevisionNotFound", "@none/x/y"});
  support::expect_error([&] { mds::store_remove(store, "y"); }, errc::not_found,
                        {"RevisionNotFound", "@none/x/y"});
}

}  // namespace clouds_hub_server_test
