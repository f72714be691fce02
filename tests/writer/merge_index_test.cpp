#include <mdstream/core/json/value.hpp>
#include <mdstream/writer/merge_index.hpp>

#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <string>
#include <vector>

#include "format/golden.hpp"
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
  const memory store;
  // the store of the URLs is local, as golden files are
  struct local_or_memory : memory {
    explicit local_or_memory(memory m) : memory(std::move(m)) {}
    static local_or_memory open(std::string_view url) {
      const mdstream::store::local directory{std::string(url)};
      memory copy;
      copy.write("index.json", mdstream::read_all(directory, "index.json"));
      return local_or_memory(copy);
    }
  };
  const std::vector<std::string> urls{golden + "0", golden + "1/index.json", golden + "10/",
                                      golden + "1", golden + "2"};
  CHECK(mdstream::merge_index(urls, local_or_memory(store)) == 4);
  CHECK(get(store, "index.json") == format_golden::read_text(golden + "index.json"));
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
