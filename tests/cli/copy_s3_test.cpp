// mdstream copy to and from an S3 that checks every signature.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/copying.hpp"
#include "s3/fake_s3.hpp"
#include "support/catch.hpp"
#include "support/nginx.hpp"

namespace copy_s3_test {

using namespace copying;

outcome copy(const fake_s3::server& fake, const std::vector<std::string>& words) {
  return process(environment(fake), words).wait();
}

// By the program without a sanitizer, which would have memory of its own.
outcome copy_plainly(const fake_s3::server& fake, const std::vector<std::string>& words) {
  return process(environment(fake), words, -1, "copy", MDSTREAM_CLI_PLAIN).wait();
}

// Requests so far that list.
long listings(const fake_s3::server& fake) {
  return std::ranges::count_if(fake.requests(), [](const auto& each) {
    return each.target.find("list-type") != std::string::npos;
  });
}

std::optional<fake_s3::answer> refuse_listings(const fake_s3::question& asked) {
  if (asked.query.count("list-type") == 0) return std::nullopt;
  return fake_s3::refusal(403, "AccessDenied");
}

TEST_CASE("files larger than memory shall hold go up out of the page cache", "[cli]") {
  fake_s3::server fake;
  const scratch from, to;
  constexpr int count = 6;
  for (int i = 0; i < count; ++i) write(from / std::to_string(i), noise(48 * mib, 1 + i));
  write(from / "small", "text");
  const outcome up = copy_plainly(fake, {from.path(), fake.s3_url("d")});
  INFO(up.err);
  CHECK(up.status == 0);
  CHECK(fake.uploads() == 0);
  const auto stored = fake.objects();
  CHECK(stored.size() == count + 1);
  CHECK(stored.at("d/small") == "text");
  for (int i = 0; i < count; ++i) {
    CHECK((stored.at("d/" + std::to_string(i)) == text_of(from / std::to_string(i))));
  }
  CHECK(up.resident > 0);
  CHECK(up.resident < 96 * mib);  // of 288
  const outcome again = copy(fake, {from.path(), fake.s3_url("d")});
  CHECK(nlohmann::json::parse(again.out)["skipped"] == count + 1);
}

TEST_CASE("a large object of unknown size goes from a web server to S3", "[cli]") {
  fake_s3::server fake;
  const scratch from, state, lists;
  const std::string large = noise(40 * mib + 12'348, 7);
  write(from / "large", large);
  const support::nginx server(from.path(), state.path());
  write(lists / "list", server.url() + "/large\n");
  const outcome up = copy(fake, {"--list", lists / "list", fake.s3_url("d")});
  INFO(up.err);
  CHECK(up.status == 0);
  CHECK((fake.objects().at("d/large") == large));
  CHECK(nlohmann::json::parse(up.out)["bytes"] == large.size());
  const outcome down = copy(fake, {fake.s3_url("d/large"), lists / "back"});
  INFO(down.err);
  CHECK(down.status == 0);
  CHECK((text_of(lists / "back") == large));
}

TEST_CASE("a large object is copied though its server refuses every other request", "[cli]") {
  fake_s3::server fake;
  const scratch to;
  const std::string large = noise(33 * mib, 8);
  fake.put("large", large);
  std::atomic<int> asked_of_it = 0;
  fake.instead = [&](const fake_s3::question& asked) -> std::optional<fake_s3::answer> {
    if (asked.key != "large" || ++asked_of_it % 2 == 0) return std::nullopt;
    return fake_s3::refusal(503, "SlowDown");
  };
  const outcome down = copy(fake, {fake.s3_url("large"), to / "large"});
  INFO(down.err);
  CHECK(down.status == 0);
  CHECK(asked_of_it >= 2 * 7);  // two looks at the object, and five ranges
  CHECK((text_of(to / "large") == large));
}

// The objects of which bytes are asked for meanwhile.
template <class F>
std::set<std::string> keys_read(const fake_s3::server& fake, F meanwhile) {
  const std::size_t before = fake.requests().size();
  meanwhile();
  const auto requests = fake.requests();
  const std::string objects = '/' + fake.bucket + '/';
  std::set<std::string> keys;
  for (std::size_t i = before; i < requests.size(); ++i) {
    const std::string target = requests[i].target.substr(0, requests[i].target.find('?'));
    const bool is_object = target.starts_with(objects) && target.size() > objects.size();
    if (requests[i].method == "GET" && is_object) keys.insert(target.substr(objects.size()));
  }
  return keys;
}

TEST_CASE("what S3 tells of its objects' bytes decides what is copied, up and down", "[cli]") {
  fake_s3::server fake;
  const scratch from, to;
  std::string large = noise(20 * mib, 9);  // goes up in parts
  write(from / "large", large);
  write(from / "small", "one");
  write(from / "same", "same");
  const auto counts = [](const outcome& of) {
    INFO(of.err);
    REQUIRE(of.status == 0);
    const auto said = nlohmann::json::parse(of.out);
    return std::pair<int, int>{said["copied"], said["skipped"]};
  };
  using pair = std::pair<int, int>;
  CHECK(counts(copy(fake, {from.path(), fake.s3_url("d")})) == pair{3, 0});
  CHECK(counts(copy(fake, {from.path(), fake.s3_url("d")})) == pair{0, 3});
  large.back() ^= 1;
  write(from / "large", large);
  write(from / "small", "two");
  CHECK(counts(copy(fake, {from.path(), fake.s3_url("d"), "--compare", "size"})) == pair{0, 3});
  CHECK(counts(copy(fake, {from.path(), fake.s3_url("d")})) == pair{2, 1});
  CHECK((fake.objects().at("d/large") == large));
  CHECK(fake.objects().at("d/small") == "two");
  CHECK(counts(copy(fake, {from / "small", fake.s3_url("d/small")})) == pair{0, 1});

  CHECK(counts(copy(fake, {fake.s3_url("d"), to.path()})) == pair{3, 0});
  CHECK(counts(copy(fake, {fake.s3_url("d"), to.path()})) == pair{0, 3});
  write(to / "small", "owt");
  large.front() ^= 1;
  write(to / "large", large);
  CHECK(counts(copy(fake, {fake.s3_url("d"), to.path()})) == pair{2, 1});
  CHECK(text_of(to / "small") == "two");
  CHECK((text_of(to / "large") == fake.objects().at("d/large")));

  // From store to store both tell, and nothing is read to compare.
  const auto from_d_to_e = [&] { return copy(fake, {fake.s3_url("d"), fake.s3_url("e")}); };
  CHECK(counts(from_d_to_e()) == pair{3, 0});
  CHECK(keys_read(fake, [&] { CHECK(counts(from_d_to_e()) == pair{0, 3}); }).empty());
  fake.put("d/small", "six");
  CHECK(keys_read(fake, [&] { CHECK(counts(from_d_to_e()) == pair{1, 2}); }) ==
        std::set<std::string>{"d/small"});
  CHECK(fake.objects().at("e/small") == "six");
  write(from / "large", large);  // it differs in its first byte, in as many parts
  CHECK(counts(copy(fake, {from.path(), fake.s3_url("d")})) == pair{2, 1});
  CHECK(counts(copy(fake, {fake.s3_url("d"), fake.s3_url("e")})) == pair{2, 1});
  CHECK((fake.objects().at("e/large") == large));
  write(to / "list", fake.s3_url("d/small") + "\n");
  CHECK(counts(copy(fake, {"--list", to / "list", fake.s3_url("l")})) == pair{1, 0});
  fake.put("d/small", "ten");
  CHECK(counts(copy(fake, {"--list", to / "list", fake.s3_url("l")})) == pair{1, 0});
  CHECK(counts(copy(fake, {"--list", to / "list", fake.s3_url("l")})) == pair{0, 1});
}

TEST_CASE("one object goes up, down and across with keys that may not list", "[cli]") {
  fake_s3::server fake;
  fake.instead = refuse_listings;
  const scratch from, to;
  write(from / "x", "text");
  const auto works = [&](const outcome& of) {
    INFO(of.err);
    CHECK(of.status == 0);
  };
  works(copy(fake, {from / "x", fake.s3_url("d/x")}));
  works(copy(fake, {fake.s3_url("d/x"), to.path()}));
  works(copy(fake, {fake.s3_url("d/x"), fake.s3_url("e/x")}));
  CHECK(text_of(to / "x") == "text");
  CHECK(fake.objects().at("e/x") == "text");
  CHECK(listings(fake) == 0);
  for (int i = 0; i < 40; ++i) write(from / std::to_string(i), "many");
  works(copy(fake, {from.path(), fake.s3_url("many")}));
  CHECK(fake.objects().size() == 2 + 41);
  CHECK(copy(fake, {fake.s3_url("many/"), to.path()}).status == 1);

  fake.instead = [](const fake_s3::question& asked) -> std::optional<fake_s3::answer> {
    if (asked.raw.method == "PUT") return std::nullopt;
    return fake_s3::refusal(403, "AccessDenied");
  };
  works(copy(fake, {from / "x", fake.s3_url("written")}));
  CHECK(fake.objects().at("written") == "text");
}

TEST_CASE("a destination is asked for a few objects one by one, and listed for many", "[cli]") {
  fake_s3::server fake;
  const scratch few, many;
  for (int i = 0; i < 3; ++i) write(few / std::to_string(i), "few");
  for (int i = 0; i < 40; ++i) write(many / std::to_string(i), "many");
  const auto looks = [&] {
    return std::ranges::count(fake.requests(), "HEAD", &support::scripted_request::method);
  };
  CHECK(copy(fake, {few.path(), fake.s3_url("few")}).status == 0);
  CHECK(listings(fake) == 0);
  CHECK(looks() == 3);
  CHECK(copy(fake, {many.path(), fake.s3_url("many")}).status == 0);
  CHECK(listings(fake) == 1);
  CHECK(looks() == 3);
  CHECK(copy(fake, {few.path(), fake.s3_url("few")}).json()["skipped"] == 3);
}

TEST_CASE("a terminal shows how many objects were listed so far", "[cli]") {
  std::atomic<bool> holds = true;
  fake_s3::server fake;
  const scratch to;
  fake.page = 2;
  for (int i = 0; i < 5; ++i) fake.put("d/" + std::to_string(i), "text");
  int pages = 0;
  fake.instead = [&](const fake_s3::question& asked) {
    if (asked.query.count("list-type") != 0 && ++pages == 3) {
      while (holds) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::optional<fake_s3::answer>();
  };
  terminal screen;
  process down(environment(fake), {fake.s3_url("d"), to.path()}, screen.inside());
  CHECK(screen.shows("4 objects listed"));
  holds = false;
  CHECK(down.wait().status == 0);
  CHECK(tree(to.path()).size() == 5);
}

TEST_CASE("objects of a few MiB take no buffers of their size, up or across", "[cli]") {
  fake_s3::server fake;
  const scratch from;
  constexpr int count = 16;
  for (int i = 0; i < count; ++i) write(from / std::to_string(i), noise(15 * mib, 20 + i));
  const outcome up = copy_plainly(fake, {from.path(), fake.s3_url("d")});
  INFO(up.err);
  CHECK(up.status == 0);
  CHECK(up.resident < 96 * mib);  // of 240
  const outcome across = copy_plainly(fake, {fake.s3_url("d"), fake.s3_url("e")});
  INFO(across.err);
  CHECK(across.status == 0);
  CHECK(across.resident < 96 * mib);
  const auto stored = fake.objects();
  for (int i = 0; i < count; ++i) {
    CHECK((stored.at("e/" + std::to_string(i)) == text_of(from / std::to_string(i))));
  }
}

TEST_CASE("what goes from store to store lies in no file that others could open", "[cli]") {
  fake_s3::server fake;
  const scratch temporary;
  const std::string large = noise(20 * mib, 40);
  fake.put("large", large);
  std::atomic<int> parts = 0, names = 0;
  fake.instead = [&](const fake_s3::question& asked) -> std::optional<fake_s3::answer> {
    if (asked.query.count("partNumber") == 0) return std::nullopt;
    ++parts;
    names += fs::is_empty(temporary.path()) ? 0 : 1;
    return std::nullopt;
  };
  auto words = environment(fake);
  words.push_back("TMPDIR=" + temporary.path());
  const outcome across = process(words, {fake.s3_url("large"), fake.s3_url("to")}).wait();
  INFO(across.err);
  CHECK(across.status == 0);
  CHECK(parts == 2);
  CHECK(names == 0);
  CHECK((fake.objects().at("to") == large));
}

TEST_CASE("a signal stops an upload, of which nothing stays", "[cli]") {
  for (const int signal : {SIGINT, SIGTERM}) {
    fake_s3::server fake;
    const scratch from;
    write(from / "large", noise(40 * mib, 41));
    std::atomic<bool> waits = false;
    fake.instead = [&](const fake_s3::question& asked) -> std::optional<fake_s3::answer> {
      if (asked.query.count("partNumber") == 0) return std::nullopt;
      waits = true;
      return fake_s3::refusal(503, "SlowDown", "", "Retry-After: 50\r\n");
    };
    process up(environment(fake), {from / "large", fake.s3_url("large")});
    CHECK(soon([&] { return waits.load(); }));
    CHECK(fake.uploads() == 1);
    up.signal(signal);
    const outcome ended = up.wait();
    CHECK(ended.status == 128 + signal);
    CHECK(ended.err.find("stopped by a signal") != std::string::npos);
    CHECK(fake.uploads() == 0);
  }
}

TEST_CASE("a second signal ends a copy that is stopping", "[cli]") {
  std::atomic<bool> waits = false, aborts = false, holds = true;
  fake_s3::server fake;
  const scratch from;
  write(from / "large", noise(40 * mib, 41));
  fake.instead = [&](const fake_s3::question& asked) -> std::optional<fake_s3::answer> {
    if (asked.raw.method == "DELETE") {
      aborts = true;
      while (holds) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (asked.query.count("partNumber") == 0) return std::nullopt;
    waits = true;
    return fake_s3::refusal(503, "SlowDown", "", "Retry-After: 50\r\n");
  };
  process up(environment(fake), {from / "large", fake.s3_url("large")});
  CHECK(soon([&] { return waits.load(); }));
  up.signal(SIGINT);
  CHECK(soon([&] { return aborts.load(); }));
  up.signal(SIGTERM);
  CHECK(up.wait().status == -1);
  holds = false;
}

// Puts other bytes in the place of an object when its first ones are asked for, so many times.
class changing_source {
 public:
  changing_source(fake_s3::server& fake, std::string key, std::size_t size, int changes)
      : fake_(fake), key_(std::move(key)), size_(size), left_(changes) {
    fake_.put(key_, noise(size_, 50));
    fake_.instead = [this](const fake_s3::question& asked) {
      change(asked);
      return std::optional<fake_s3::answer>();
    };
  }
  // Of the object that stays.
  [[nodiscard]] std::string last() const { return bytes_; }

 private:
  void change(const fake_s3::question& asked) {
    const bool is_first = asked.raw.header("range").starts_with("bytes=0-");
    if (asked.key != key_ || asked.raw.method != "GET" || !is_first || left_ == 0) return;
    --left_;
    bytes_ = noise(size_ -= 1000, ++seed_);
    fake_.changed(key_, bytes_);
  }

  fake_s3::server& fake_;
  std::string key_, bytes_;
  std::size_t size_;
  unsigned seed_ = 50;
  int left_;
};

TEST_CASE("an object that changes while it is copied is begun anew", "[cli]") {
  const std::pair<const char*, std::size_t> sizes[] = {{"in memory or one request", 100'000},
                                                       {"in ranges", 40 * mib}};
  for (const auto& [name, size] : sizes) {
    INFO(name);
    fake_s3::server fake;
    const scratch to;
    changing_source source(fake, "d/object", size, 2);
    const outcome down = copy(fake, {fake.s3_url("d"), to.path()});
    INFO(down.err);
    CHECK(down.status == 0);
    CHECK((tree(to.path()) == std::map<std::string, std::string>{{"object", source.last()}}));
    CHECK(down.json()["copied"] == 1);
    CHECK(down.json()["bytes"] == source.last().size());

    changing_source again(fake, "d/object", size, 2);
    const outcome across = copy(fake, {fake.s3_url("d"), fake.s3_url("e")});
    INFO(across.err);
    CHECK(across.status == 0);
    CHECK((fake.objects().at("e/object") == again.last()));
  }
}

TEST_CASE("an object that goes on changing is an error, and all others are copied", "[cli]") {
  fake_s3::server fake;
  const scratch to;
  changing_source source(fake, "d/b", 40 * mib, 1000);
  fake.put("d/a", "first");
  fake.put("d/c", "last");
  const outcome down = copy(fake, {fake.s3_url("d"), to.path(), "--jobs", "1"});
  INFO(down.err);
  CHECK(down.status == 1);
  CHECK(down.err.find("changed while it was read, each of 3 times") != std::string::npos);
  CHECK(down.err.find("s3://bucket/d/b") != std::string::npos);
  CHECK(tree(to.path()) == std::map<std::string, std::string>{{"a", "first"}, {"c", "last"}});
}

TEST_CASE("a copy that is stopped tells what had failed before", "[cli]") {
  fake_s3::server fake;
  const scratch to;
  changing_source source(fake, "d/a", 100'000, 1000);
  fake.put("d/b", "waits");
  std::atomic<bool> waits = false;
  fake.instead = [&, changes = fake.instead](const fake_s3::question& asked) {
    if (asked.key != "d/b" || asked.raw.method != "GET") return changes(asked);
    waits = true;
    return std::optional(fake_s3::refusal(503, "SlowDown", "", "Retry-After: 50\r\n"));
  };
  process down(environment(fake), {fake.s3_url("d"), to.path(), "--jobs", "1"});
  CHECK(soon([&] { return waits.load(); }));
  down.signal(SIGINT);
  const outcome ended = down.wait();
  INFO(ended.err);
  CHECK(ended.status == 128 + SIGINT);
  const std::size_t before =
      ended.err.find("stopped by a signal; started again, it goes on; before that: ");
  CHECK(before != std::string::npos);
  CHECK(ended.err.find("s3://bucket/d/a", before) != std::string::npos);
}

TEST_CASE("a large file that is changed while it is sent is begun anew, and no mixture shows",
          "[cli]") {
  fake_s3::server fake;
  const scratch from;
  const std::string path = from / "large", before = noise(90 * mib, 1), after = noise(90 * mib, 2);
  write(path, before);
  std::atomic<int> begun{0};
  int most = 1, changed = 0;
  bool cuts = false;
  std::mutex mutex;
  fake.instead = [&](const fake_s3::question& asked) {
    const std::lock_guard lock(mutex);
    if (asked.query.count("uploads") != 0) ++begun;
    // Once for each upload: parts of one that was given up may still come when the next is
    // prepared.
    if (asked.query.count("partNumber") != 0 && begun <= most && changed < begun) {
      changed = begun;
      if (cuts) {
        fs::resize_file(path, 20 * mib + 5);
      } else {
        std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << after;
      }
    }
    return std::optional<fake_s3::answer>();
  };
  SECTION("overwritten") {
    const outcome up = copy(fake, {path, fake.s3_url("d")});
    INFO(up.err);
    CHECK(up.status == 0);
    CHECK((fake.objects().at("d") == after));
    CHECK(begun == 2);
  }
  SECTION("cut short") {
    cuts = true;
    const outcome up = copy(fake, {path, fake.s3_url("d")});
    INFO(up.err);
    CHECK(up.status == 0);
    CHECK((fake.objects().at("d") == before.substr(0, 20 * mib + 5)));
  }
  SECTION("each time") {
    most = 1000;
    const outcome up = copy(fake, {path, fake.s3_url("d")});
    CHECK(up.status == 1);
    CHECK(up.err.find("changed while it was read, each of 3 times") != std::string::npos);
    CHECK(up.err.find(path) != std::string::npos);
    CHECK(fake.objects().empty());
  }
  CHECK(fake.uploads() == 0);
}

TEST_CASE("objects whose keys lead out of a directory are named, and all others are copied",
          "[cli]") {
  fake_s3::server fake;
  const scratch to;
  for (const char* key : {"d/a", "d/trav/..", "d/x//y", "d/z"}) fake.put(key, "text");
  const outcome down = copy(fake, {fake.s3_url("d"), to / "in/here", "--jobs", "1"});
  INFO(down.err);
  CHECK(down.status == 1);
  CHECK(down.err.find("the key \"trav/..\" leaves the store") != std::string::npos);
  CHECK(down.err.find("1 other object was not copied either") != std::string::npos);
  CHECK(tree(to.path()) ==
        std::map<std::string, std::string>{{"in/here/a", "text"}, {"in/here/z", "text"}});
}

TEST_CASE("a file that grows while it is copied is begun anew", "[cli]") {
  fake_s3::server fake;
  const scratch from;
  write(from / "a", "waits");
  write(from / "b", "short");
  fake.instead = [&](const fake_s3::question& asked) {
    if (asked.key == "d/a" && asked.raw.method == "PUT") write(from / "b", "longer");
    return std::optional<fake_s3::answer>();
  };
  const outcome up = copy(fake, {from.path(), fake.s3_url("d"), "--jobs", "1"});
  INFO(up.err);
  CHECK(up.status == 0);
  CHECK(fake.objects().at("d/b") == "longer");
}

TEST_CASE("--verify compares what was copied with what its store tells of it", "[cli]") {
  fake_s3::server fake;
  const scratch to;
  fake.put("small", "text");
  fake.put("large", noise(33 * mib, 42));  // comes in ranges
  fake.afterwards = [&](const fake_s3::question& asked, fake_s3::answer& out) {
    if (asked.raw.method == "GET" && asked.query.empty()) out.body.back() ^= 1;
  };
  for (const std::string name : {"small", "large"}) {
    CHECK(copy(fake, {fake.s3_url(name), to / name}).status == 0);
    fs::remove(to / name);
    const outcome verified = copy(fake, {fake.s3_url(name), to / name, "--verify"});
    CHECK(verified.status == 1);
    CHECK(verified.err.find("other bytes than its source") != std::string::npos);
    CHECK(verified.err.find(to / name) != std::string::npos);
  }
  fake.afterwards = {};
  for (const std::string name : {"small", "large"}) {
    CHECK(copy(fake, {fake.s3_url(name), to / name, "--verify"}).status == 0);
    CHECK(copy(fake, {to / name, fake.s3_url("up/" + name), "--verify"}).status == 0);
  }
}

}  // namespace copy_s3_test
