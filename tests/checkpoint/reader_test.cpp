#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/store/memory.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/launches.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

// What somebody reads of a run who trains nothing: what is not there, is damaged, or goes
// meanwhile.

namespace reader_test {

namespace mds = mdstream;
using launches::launch;
using mds::errc;
using support::expect_error;
using training::cut;

/// A store from which the checkpoints are removed as somebody pins one.
struct removed_meanwhile : mds::store::memory {
  explicit removed_meanwhile(const mds::store::memory& of) : memory(of) {}
  void write(std::string_view key, mds::bytes_view bytes) const {
    for (const auto& each : list("manifest/")) remove(each.key);
    memory::write(key, bytes);
  }
};

/// Changes the last byte.
void damage(const mds::opened_store& run, const std::string& key) {
  auto bytes = mds::read_all(run, key);
  bytes.back() ^= std::byte{1};
  run.write(key, bytes);
}

TEST_CASE("a run without checkpoints says so", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  CHECK(mds::checkpoint::list(run).empty());
  expect_error([&] { (void)mds::checkpoint::open(run); }, errc::not_found, {"has no checkpoint"});
  expect_error([&] { (void)mds::checkpoint::open(run, "7"); }, errc::not_found, {"\"7\""});
}

TEST_CASE("a part of a tensor is read into memory of its size", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  REQUIRE(launch(run, "a", 1, cut::rows, {}, {1}) == "");
  const auto last = mds::checkpoint::open(run);
  std::array<std::byte, 25> into{};
  expect_error([&] { last.read("few", mds::box::whole({2, 3}), into); }, errc::invalid_argument,
               {"\"few\"", "24 bytes", "25"});
}

TEST_CASE("all that is damaged is named, in the order of the files", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  REQUIRE(launch(run, "a", 3, cut::rows, {}, {1}) == "");
  const auto last = mds::checkpoint::open(run);
  std::vector<std::string> damaged;
  for (const auto& each : run.list("data/"))
    if (each.key.ends_with("-0.safetensors")) damaged.push_back(each.key);
  REQUIRE(damaged.size() == 3);
  for (const auto& key : damaged) damage(run, key);
  std::vector<std::string> found;
  for (const auto& each : last.verify(3)) found.push_back(each.file);
  CHECK(found ==
        std::vector<std::string>{"r0-0.safetensors", "r1-0.safetensors", "r2-0.safetensors"});
}

TEST_CASE("a list tells which record is damaged, and goes on", "[checkpoint]") {
  const mds::opened_store run = mds::store::memory();
  REQUIRE(launch(run, "a", 1, cut::rows, {}, {1, 2}) == "");
  std::vector<std::string> warnings;
  const mds::checkpoint_options options{
      .warn = [&](const std::string& text) { warnings.push_back(text); }};
  const auto manifests = run.list("manifest/");
  REQUIRE(manifests.size() == 2);
  damage(run, manifests[0].key);
  auto listed = mds::checkpoint::list(run, options);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].damaged);
  CHECK_FALSE(listed[1].damaged);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find(manifests[0].key) != std::string::npos);

  warnings.clear();
  const auto starts = run.list("starts/");
  REQUIRE(!starts.empty());
  for (const auto& each : starts)
    if (each.key.ends_with(".json")) damage(run, each.key);
  listed = mds::checkpoint::list(run, options);
  CHECK(listed.size() == 2);
  REQUIRE(warnings.size() == 2);  // of the start, and of the manifest as before
  CHECK(warnings[0].find("starts/") != std::string::npos);
}

TEST_CASE("a pin holds what is there, and has a checkpoint's name", "[checkpoint]") {
  const mds::store::memory run;
  REQUIRE(launch(run, "a", 1, cut::rows, {}, {1}) == "");
  expect_error([&] { mds::unpin_checkpoint(run, "1", "the paper"); }, errc::invalid_argument,
               {"\"1\"", "no checkpoint's name"});
  expect_error([&] { mds::pin_checkpoint(removed_meanwhile(run), "1", "the paper"); },
               errc::not_found, {"removed meanwhile", "manifest/"});
}

}  // namespace reader_test
