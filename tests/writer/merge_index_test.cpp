#include <mdstream/core/json/value.hpp>
#include <mdstream/writer/merge_index.hpp>

#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "format/golden.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace merge_index_test {

using memory = mdstream::store::memory;

const std::string golden = format_golden::root() + "mds/merged/data/";

void put(const memory& store, const std::string& key, const std::string& text) {
  store.write(key, mdstream::as_bytes(text));
}

std::string get(const memory& store, const std::string& key) {
  return std::string(mdstream::as_text(mdstream::read_all(store, key)));
}

memory with_parts() {
  memory store;
  for (const std::string part : {"0", "1", "10", "2"})
    put(store, part + "/index.json", format_golden::read_text(golden + part + "/index.json"));
  return store;
}

}  // namespace merge_index_test

TEST_CASE("a root's indexes are merged to the reference's text", "[merge_index]") {
  using namespace merge_index_test;
  const memory store = with_parts();
  put(store, "0/shard.00000.json", "not an index");
  CHECK(mdstream::merge_index(store) == 4);
  CHECK(get(store, "index.json") == format_golden::read_text(golden + "index.json"));
  const auto index = mdstream::dataset_index::parse(get(store, "index.json"));
  CHECK(index.raw(0).name == "0/shard.00000.mds");
  CHECK(index.shards() == 15);
  support::expect_error([&] { mdstream::merge_index(store); }, mdstream::errc::invalid_argument,
                        {"already", "index.json"});
}

TEST_CASE("a list of URLs is merged in its order, each once", "[merge_index]") {
  using namespace merge_index_test;
  using local = mdstream::store::local;
  const scratch_directory::scratch files;
  const std::string root = files / "all/";
  const local out{root};
  for (const std::string part : {"0", "1", "10", "2"})
    out.write(part + "/index.json",
              mdstream::as_bytes(format_golden::read_text(golden + part + "/index.json")));
  const std::vector<std::string> urls{root + "0", root + "1/index.json", root + "10/", root + "1",
                                      root + "2/../2"};
  CHECK(mdstream::merge_index(urls, out) == 4);
  CHECK(std::string(mdstream::as_text(mdstream::read_all(out, "index.json"))) ==
        format_golden::read_text(golden + "index.json"));
}

TEST_CASE("shards of datasets in directories of directories keep their paths", "[merge_index]") {
  using namespace merge_index_test;
  using local = mdstream::store::local;
  const scratch_directory::scratch files;
  const local out{files / "all"};
  const std::string text = format_golden::read_text(golden + "0/index.json");
  for (const char* key : {"a/000/index.json", "a/001/index.json", "b/000/index.json"})
    out.write(key, mdstream::as_bytes(text));
  const auto names = [&] {
    const auto bytes = mdstream::read_all(out, "index.json");
    const auto index = mdstream::dataset_index::parse(mdstream::as_text(bytes));
    std::vector<std::string> found;
    for (std::size_t i = 0; i < index.shards(); ++i) {
      const std::string name = index.raw(i).name;
      found.push_back(name.substr(0, name.rfind('/')));
    }
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  CHECK(mdstream::merge_index(out) == 3);
  CHECK(names() == std::vector<std::string>{"a/000", "a/001", "b/000"});
  out.remove("index.json");
  const std::vector<std::string> urls{files / "all/b/000", files / "all/a/001/index.json"};
  CHECK(mdstream::merge_index(urls, out) == 2);
  CHECK(names() == std::vector<std::string>{"b/000", "a/001"});
  out.remove("index.json");
  for (const std::string& url : {files / "other", files / "all", files / "all2/x", files.path()})
    support::expect_error([&] { (void)mdstream::merge_index(std::vector{url}, out); },
                          mdstream::errc::invalid_argument, {"does not lie below", files / "all"});
  CHECK_FALSE(mdstream::exists(out, "index.json"));
}

TEST_CASE("a directory is seen from the one above, whichever way its URL is written",
          "[merge_index]") {
  using mdstream::detail::directory_below;
  CHECK(directory_below("s3://bucket/c4", "s3://bucket/c4/a/b") == "a/b");
  CHECK(directory_below("s3://bucket/c4/", "s3://bucket/c4/a/") == "a");
  CHECK(directory_below("all", "./all/x/../a") == "a");
  CHECK(directory_below("/", "/a/b") == "a/b");
  for (const auto& [root, url] :
       {std::pair{"s3://bucket/c4", "s3://bucket/c40/a"},
        std::pair{"s3://bucket/c4", "s3://other/c4/a"},
        std::pair{"s3://bucket/c4", "s3://bucket/c4"}, std::pair{"all", "s3://bucket/all/a"}})
    support::expect_error([&] { (void)directory_below(root, url); },
                          mdstream::errc::invalid_argument, {"does not lie below", url});
}

TEST_CASE("merging nothing writes nothing, and bad parts are refused", "[merge_index]") {
  using namespace merge_index_test;
  const memory empty;
  CHECK(mdstream::merge_index(empty) == 0);
  CHECK_FALSE(mdstream::exists(empty, "index.json"));
  memory store = with_parts();
  put(store, "3/index.json", "{\"version\": 2, \"shards\": [{}]}");
  support::expect_error([&] { mdstream::merge_index(store); }, mdstream::errc::corrupt,
                        {"3/index.json", "shard 0"});
  CHECK_FALSE(mdstream::exists(store, "index.json"));
  const std::vector<mdstream::index_part> outside{{"../x", "{\"version\": 2, \"shards\": []}"}};
  support::expect_error([&] { (void)mdstream::merge_indexes(outside); },
                        mdstream::errc::invalid_argument, {"../x"});
}
