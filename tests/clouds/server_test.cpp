// A cloud's store against the server that tests/servers/with.sh started, whatever the scheme.

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/full.hpp>

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_server_test {

namespace mds = mdstream;
using mds::errc;
using mds::full_store;
using support::expect_error;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What is beneath it no other test has; new and empty.
std::string new_place() {
  static std::atomic<int> number{0};
  return variable("MDSTREAM_TEST_URL") + "/p" + std::to_string(::getpid()) + '-' +
         std::to_string(number++);
}

/// But for SFTP and the file system of Databricks, which have no rename over a file that is there:
/// while it is replaced, there is none.
void check_store(const full_store& store) {
  const std::string url = variable("MDSTREAM_TEST_URL");
  const bool replaces =
      !url.starts_with("sftp:") && (!url.starts_with("dbfs:") || url.starts_with("dbfs:/Volumes/"));
  conformance::check_calls(store);
  if (replaces) conformance::check_replacing(store);
}

TEST_CASE("the store of a cloud conforms", "[clouds][server][sftp]") {
  mds::runtime threads(2);
  check_store(full_store::open(new_place(), threads));
  check_store(full_store::open(new_place() + "/a prefix/ü+%2F=", threads));
}

TEST_CASE("keys with every kind of character are written, listed and read",
          "[clouds][server][sftp]") {
  mds::runtime threads(2);
  const full_store store = full_store::open(new_place(), threads);
  std::vector<std::string> keys = {"year=2024/month=01/a+b",
                                   "sp ace",
                                   "(1)!*'@:;,&$",
                                   "ümläut/漢字",
                                   "a%2Fb%20",
                                   "tilde~-_.x",
                                   "q?u#e[r]y",
                                   "😀"};
  for (const std::string& key : keys) store.write(key, mds::as_bytes(key));
  std::sort(keys.begin(), keys.end());
  CHECK(conformance::keys_of(store, "") == keys);
  for (const std::string& key : keys) {
    INFO(key);
    CHECK(mds::as_text(mds::read_all(store, key)) == key);
    store.remove(key);
    CHECK_FALSE(mds::exists(store, key));
  }
}

TEST_CASE("keys of as many bytes as clouds take", "[clouds][server][sftp]") {
  mds::runtime threads(2);
  const std::string url = new_place();
  const std::size_t before = url.size() - url.find('/', url.find(':') + 3);
  conformance::check_long_key(full_store::open(url, threads), 1024 - before);
}

bool create(const mds::any_async_store& store, const std::string& key, mds::bytes_view bytes) {
  return mds::detail::wait_for<bool>([&](mds::diagnostics& where, auto done) {
    store.async_create(key, bytes, {}, where, std::move(done));
  });
}

TEST_CASE("an object is created once, however many try", "[clouds][server][sftp]") {
  mds::runtime threads(2);
  const full_store store = full_store::open(new_place(), threads);
  const mds::any_async_store async = store.on(threads);
  const std::string server = variable("MDSTREAM_TEST_SERVER");
  const bool expected = server != "sshd" && server != "dbfs_files" && server != "hub";
  REQUIRE(async.creates() == expected);
  if (!expected) {
    expect_error([&] { (void)create(async, "x", mds::as_bytes("1")); }, errc::unsupported, {"x"});
    return;
  }
  CHECK(create(async, "deep/er/x", mds::as_bytes("one")));
  CHECK_FALSE(create(async, "deep/er/x", mds::as_bytes("two")));
  CHECK(mds::as_text(mds::read_all(store, "deep/er/x")) == "one");
  store.write("deep/er/x", mds::as_bytes("three"));  // which needs no condition
  CHECK_FALSE(create(async, "deep/er/x", mds::as_bytes("two")));
  CHECK(mds::as_text(mds::read_all(store, "deep/er/x")) == "three");
  store.remove("deep/er/x");
  CHECK(create(async, "deep/er/x", {}));
  CHECK_FALSE(create(async, "deep/er/x", mds::as_bytes("two")));
  CHECK(store.size("deep/er/x") == 0);
  std::atomic<int> made{0};
  std::vector<std::thread> many;
  for (int i = 0; i < 8; ++i)
    many.emplace_back([&, i] {
      if (create(async, "y", mds::as_bytes("by " + std::to_string(i)))) made += 10 + i;
    });
  for (std::thread& each : many) each.join();
  CHECK(made >= 10);
  CHECK(made < 20);
  CHECK(mds::as_text(mds::read_all(store, "y")) == "by " + std::to_string(made - 10));
}

/// Whose first answer to each creation is lost.
class losing {
 public:
  losing(full_store inner, mds::any_async_store async, std::atomic<int>& lost)
      : inner_(std::move(inner)), async_(std::move(async)), lost_(&lost) {}
  [[nodiscard]] std::uint64_t size(std::string_view key) const { return inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t from, mds::mutable_bytes into) const {
    return inner_.read(key, from, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const { inner_.write(key, bytes); }
  [[nodiscard]] bool create(std::string_view key, mds::bytes_view bytes) const {
    const bool made = clouds_server_test::create(async_, std::string(key), bytes);
    if (!made) return false;
    ++*lost_;
    throw mds::error(errc::unavailable, "the answer was lost");
  }
  [[nodiscard]] std::vector<mds::object_info> list(std::string_view prefix) const {
    return inner_.list(prefix);
  }
  void remove(std::string_view key) const { inner_.remove(key); }
  [[nodiscard]] std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  full_store inner_;
  mds::any_async_store async_;
  std::atomic<int>* lost_;
};

TEST_CASE("a checkpoint whose creation was not answered for is found by reading",
          "[clouds][server][sftp]") {
  mds::runtime threads(2);
  const full_store store = full_store::open(new_place(), threads);
  const mds::any_async_store async = store.on(threads);
  std::vector<float> w(1000, 1.5F);
  mds::tensor_list list;
  list.add("w", mds::tensor_type::f32, {1000}, w.data());
  std::atomic<int> lost{0};
  const auto save = [&](const mds::opened_store& run, std::uint64_t step) {
    mds::checkpoint_saver saver({.run = run});
    (void)saver.resume_point();
    w[0] = static_cast<float>(step);
    saver.save(step, list);
    saver.finish();
  };
  if (async.creates())
    save(losing(store, async, lost), 1);
  else
    save(store, 1);  // by a write
  save(store, 2);
  CHECK(lost == (async.creates() ? 1 : 0));
  const auto found = mds::checkpoint::list(store);
  REQUIRE(found.size() == 2);
  CHECK(found[1].parent == found[0].name);
  CHECK(mds::checkpoint::open(store, "1").verify().empty());
  mds::checkpoint::open(store).load(list);
  CHECK(w[0] == 2.0F);
}

TEST_CASE("a large object goes up in parts and comes back whole", "[clouds][server]") {
  mds::runtime threads(2);
  const full_store store = full_store::open(new_place(), threads);
  const std::vector<std::byte> bytes = conformance::noise((40 << 20) + 12'345, 7);
  store.write("large", bytes);
  CHECK(store.size("large") == bytes.size());
  CHECK(mds::read_all(store, "large") == bytes);
  const mds::any_async_store async = store.on(threads);
  if (!async.streams()) {
    SUCCEED("this store does not stream");
    return;
  }
  std::vector<std::byte> came;
  const auto found =
      mds::detail::wait_for<mds::object_version>([&](mds::diagnostics& where, auto done) {
        async.async_stream(
            "large", {}, 0, bytes.size() + 1,
            [&](const mds::object_version&, mds::bytes_view some) {
              came.insert(came.end(), some.begin(), some.end());
            },
            {}, where, std::move(done));
      });
  CHECK(found.bytes == bytes.size());
  CHECK(came == bytes);
}

TEST_CASE("reads hold on to a version", "[clouds][server]") {
  mds::runtime threads(2);
  const full_store store = full_store::open(new_place(), threads);
  const mds::any_async_store async = store.on(threads);
  store.write("x", mds::as_bytes("one"));
  const auto version =
      mds::detail::wait_for<mds::object_version>([&](mds::diagnostics& where, auto done) {
        async.async_version("x", {}, where, std::move(done));
      });
  CHECK(version.bytes == 3);
  std::vector<std::byte> into(3);
  const auto read = [&] {
    return mds::detail::wait_for<std::size_t>([&](mds::diagnostics& where, auto done) {
      async.async_read_version("x", version, 0, into, {}, where, std::move(done));
    });
  };
  CHECK(read() == 3);
  CHECK(mds::as_text(into) == "one");
  if (version.tag.empty()) {
    SUCCEED("this store knows sizes alone");
    return;
  }
  store.write("x", mds::as_bytes("two"));
  if (variable("MDSTREAM_TEST_KEEPS_VERSIONS").empty()) {
    expect_error([&] { read(); }, errc::corrupt, {"changed", "/x"});
  } else {
    CHECK(read() == 3);
    CHECK(mds::as_text(into) == "one");
  }
}

/// How many requests the server was sent until now. The Hub notes each line of a commit; its header
/// is the first.
std::ptrdiff_t requests() {
  std::ifstream noted(variable("MDSTREAM_TEST_REQUESTS"));
  std::ptrdiff_t out = 0;
  for (std::string line; std::getline(noted, line);)
    if (line.find("/commit/") == std::string::npos || line.find(" header{") != std::string::npos)
      ++out;
  return out;
}

TEST_CASE("calls cost as many requests as the pages on stores say", "[clouds][server]") {
  struct cost {
    std::ptrdiff_t size, read, list, write, large;  // `large` is a write of 17 MiB
  };
  const std::map<std::string, cost> documented = {
      {"azurite", {1, 1, 1, 1, 3}},   {"testbench", {1, 1, 1, 1, 3}},
      {"seaweedfs", {1, 1, 1, 1, 4}}, {"hub", {2, 2, 1, 2, 9}},  // the large one is in Git LFS
      {"oci", {1, 1, 1, 1, 5}},                                  // a part is refused once
      {"dbfs", {1, 1, 1, 1, 1}},      {"dbfs_files", {1, 1, 1, 2, 21}}};
  const std::string server = variable("MDSTREAM_TEST_SERVER");
  if (server == "sshd") {
    SUCCEED("what SFTP sends is encrypted, and sshd tells no counts");
    return;
  }
  if (server == "gs_hmac") {
    SUCCEED("with these keys the requests are those of S3, which seaweedfs is sent");
    return;
  }
  const auto at = documented.find(server);
  REQUIRE(at != documented.end());  // every page has a table
  REQUIRE(!variable("MDSTREAM_TEST_REQUESTS").empty());
  mds::runtime threads(2);
  const full_store store = full_store::open(new_place(), threads);
  store.write("first", mds::as_bytes("1"));  // what is asked once is known, and the directory there
  const auto costs = [](auto&& call) {
    const std::ptrdiff_t before = requests();
    call();
    return requests() - before;
  };
  std::vector<std::byte> into(5);
  const std::vector<std::byte> large(17 << 20);
  CHECK(costs([&] { store.write("x", mds::as_bytes("12345")); }) == at->second.write);
  CHECK(costs([&] { CHECK(store.size("x") == 5); }) == at->second.size);
  CHECK(costs([&] { CHECK(store.read("x", 0, into) == 5); }) == at->second.read);
  CHECK(costs([&] { CHECK(store.list("").size() == 2); }) == at->second.list);
  CHECK(costs([&] { store.write("large", large); }) == at->second.large);
  if (server == "dbfs")  // whose directories have to be made
    CHECK(costs([&] { store.write("new/x", mds::as_bytes("1")); }) == at->second.write + 2);
  if (server == "dbfs_files") {  // whose requests hold a MiB
    std::vector<std::byte> back(large.size());
    CHECK(costs([&] { CHECK(store.read("large", 0, back) == back.size()); }) == 17 + 2);
    CHECK(costs([&] { store.write("large", large); }) == at->second.large + 3);
  }
  CHECK(costs([&] { store.remove("large"); }) == 1);
}

TEST_CASE("a place that is not there is not found", "[clouds][server]") {
  if (variable("MDSTREAM_TEST_ABSENT_URL").empty()) {
    SUCCEED("this server has no such place");
    return;
  }
  mds::runtime threads(2);
  const full_store store = full_store::open(variable("MDSTREAM_TEST_ABSENT_URL"), threads);
  expect_error([&] { (void)store.list(""); }, errc::not_found, {"absent"});
  expect_error([&] { (void)mds::read_all(store, "x"); }, errc::not_found, {"absent"});
}

TEST_CASE("a write to SFTP that fails leaves no file", "[clouds][server][sftp]") {
  const std::string url = new_place();
  if (!url.starts_with("sftp:")) {
    SUCCEED("of SFTP alone");
    return;
  }
  mds::runtime threads(2);
  const full_store store = full_store::open(url, threads);
  store.write("directory/one", mds::as_bytes("1"));
  expect_error([&] { store.write("directory", mds::as_bytes("2")); }, errc::io_error,
               {".mdstream-", "rename"});
  const std::string root = url.substr(url.find('/', url.find("://") + 3));
  const std::filesystem::directory_iterator files(root);
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("a listing of SFTP follows links", "[clouds][server][sftp]") {
  namespace fs = std::filesystem;
  const std::string url = new_place();
  if (!url.starts_with("sftp:")) {
    SUCCEED("of SFTP alone");
    return;
  }
  mds::runtime threads(2);
  const full_store store = full_store::open(url, threads);
  store.write("real/one", mds::as_bytes("1"));
  store.write("real/zero", {});
  const fs::path root = url.substr(url.find('/', url.find("://") + 3));
  fs::create_symlink("real", root / "directory");
  fs::create_symlink("real/one", root / "file");
  fs::create_symlink("real/zero", root / "empty");
  fs::create_symlink("nowhere", root / "broken");
  CHECK(conformance::keys_of(store, "") ==
        std::vector<std::string>{"directory/one", "directory/zero", "empty", "file", "real/one",
                                 "real/zero"});
  CHECK(conformance::keys_of(store, "f") == std::vector<std::string>{"file"});
  for (const mds::object_info& each : store.list("")) {
    INFO(each.key);
    CHECK(each.bytes == (each.key.ends_with("one") || each.key == "file" ? 1 : 0));
    CHECK(store.size(each.key) == each.bytes);
  }
  for (const char* directory : {"real", "directory"}) {
    expect_error([&] { (void)store.size(directory); }, mds::errc::not_found, {directory});
  }
  fs::create_symlink(".", root / "loop");
  expect_error([&] { (void)store.list(""); }, mds::errc::unsupported, {"loop/loop", "lead back"});
}

TEST_CASE("a stopped upload leaves nothing behind", "[clouds][server]") {
  // A blocking store's call that has begun goes on to its end.
  if (variable("MDSTREAM_TEST_URL").starts_with("sftp:")) {
    SUCCEED("a call of SFTP goes on to its end");
    return;
  }
  mds::runtime threads(2);
  const full_store store = full_store::open(new_place(), threads);
  const std::vector<std::byte> bytes = conformance::noise(40 << 20, 8);
  std::stop_source stop;
  mds::diagnostics where;
  mds::detail::one_time_event over;
  std::error_code code;
  store.on(threads).async_write("large", bytes, stop.get_token(), where, [&](std::error_code c) {
    code = c;
    over.set();
  });
  stop.request_stop();
  over.wait();
  CHECK(code == errc::canceled);
  CHECK_FALSE(mds::exists(store, "large"));
}

}  // namespace clouds_server_test
