// Foreign files as streams: the rows that their index tells, in the cache as any shard.

#include <mdstream/mdstream.hpp>

#include <filesystem>
#include <set>

#include "source/sources.hpp"

using namespace source_test;
using namespace mds::literals;

namespace stream_test {

using policies = plain_policies;

using without_codecs = mds::policies<mds::raw::plain_formats>;
using dataset = mds::dataset<policies>;
using loader = mds::loader<policies>;

/// A source, and where its shards are cached.
struct streamed : indexed_source {
  scratch cache;

  [[nodiscard]] mds::dataset_options options(const raw::options& about) const {
    return {.streams = {{.remote = files.path(), .raw = about, .name = "rows"}},
            .local = cache.path(),
            .warn = [](const std::string&) {},
            .threads = 2};
  }
  [[nodiscard]] std::vector<std::string> streamed_rows(const raw::options& about) const {
    return rows_of(dataset(options(about)));
  }
  static std::vector<std::string> rows_of(const dataset& data) {
    std::vector<std::string> out;
    for (std::uint64_t i = 0; i < data.size(); ++i) out.emplace_back(mds::as_text(data[i].bytes()));
    return out;
  }
  /// Files of shards in the cache.
  [[nodiscard]] std::vector<std::string> shards() const {
    std::vector<std::string> out;
    for (const auto& each : std::filesystem::recursive_directory_iterator(cache.path()))
      if (each.path().extension() == ".mds") out.push_back(each.path().native());
    std::sort(out.begin(), out.end());
    return out;
  }
  void remove_files() const {
    for (const auto& each : std::filesystem::directory_iterator(files.path()))
      std::filesystem::remove_all(each.path());
  }
};

std::string numbers(int from, int to, std::size_t text = 3) {
  std::string out;
  for (int i = from; i < to; ++i)
    out += "{\"n\": " + std::to_string(i) + ", \"text\": \"" + std::string(text, 'x') + "\"}\n";
  return out;
}

std::int64_t number_of(const std::string& row) {  // columns n: int, text: str; sizes come first
  return mds::load<std::int64_t>(mds::as_bytes(row).data() + 4);
}

void flip(const std::string& path, std::size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 0x10));
}

TEST_CASE("a stream of foreign files has the rows of their index, and keeps them") {
  std::mt19937 random(support::test_seed());
  for (raw_test::random_source& each : raw_test::random_sources(random)) {
    CAPTURE(each.about.format, each.about.unit);
    each.about.shard_bytes = 16 + random() % 2000;
    const streamed at;
    at.put(each.objects);
    const std::vector<std::string> expected = at.rows(at.build(each.about).index);
    if (expected.empty()) continue;
    CHECK(at.streamed_rows(each.about) == expected);
    const dataset again(at.options(each.about));
    at.remove_files();
    CHECK(streamed::rows_of(again) == expected);
    CHECK(again.counters().shards_fetched == 0);
  }
}

TEST_CASE("compressed objects are streamed, and codecs that are lacking are named") {
  for (const std::string how : {".gz", ".zst"}) {
    const streamed at;
    const std::string first = numbers(0, 3000, 40), second = numbers(3000, 5000, 40);
    at.put("a.jsonl" + how, packed(first, how) + packed(second, how));
    raw::options about{.format = "jsonl"};
    about.shard_bytes = 10'000;
    const std::vector<std::string> rows = at.streamed_rows(about);
    REQUIRE(rows.size() == 5000);
    for (int i = 0; i < 5000; i += 7) CHECK(number_of(rows[static_cast<std::size_t>(i)]) == i);
    CHECK(at.shards().size() > 20);
  }
  const streamed at;
  at.put("a.jsonl.gz", packed(numbers(0, 5), ".gz"));
  support::expect_error([&] { mds::dataset<without_codecs>(at.options({.format = "jsonl"})); },
                        mds::errc::unsupported, {"a.jsonl.gz", "compressed"});
  support::expect_error([&] { mds::dataset<>(at.options({.format = "jsonl"})); },
                        mds::errc::unsupported, {"formats.hpp", "rows"});
}

TEST_CASE("small and large files are samples of one shard") {
  std::mt19937 random(support::test_seed());
  const streamed at;
  std::vector<std::string> files;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, (std::size_t{1} << 20) - 1,
                                  std::size_t{1} << 20, std::size_t{3} << 20, std::size_t{7}}) {
    std::string file(bytes, '\0');
    for (char& each : file) each = static_cast<char>(random());
    at.put(std::to_string(files.size()), file);
    files.push_back(std::move(file));
  }
  const dataset data(at.options({.format = "files"}));
  REQUIRE(data.size() == files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto sample = data[i];
    CHECK((mds::as_text(sample.get<mds::bytes_view>("file")) == files[i]));
    CHECK(sample.get<std::string_view>("path") == std::to_string(i));
  }
  CHECK(at.shards().size() == 1);
}

TEST_CASE("shards that were made stay beneath the cache's limit, and are checked") {
  const streamed at;
  at.put({{"a.jsonl", numbers(0, 2000)}, {"b.jsonl", numbers(2000, 4000)}});
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 4096;
  mds::dataset_options given = at.options(about);
  given.cache_limit = 40_KiB;
  const dataset data(given);
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t i = 0; i < data.size(); i += 3)
      CHECK(number_of(std::string(mds::as_text(data[i].bytes()))) == static_cast<std::int64_t>(i));
  CHECK(data.counters().shards_evicted > 10);
  std::uint64_t used = 0;
  for (const std::string& path : at.shards()) used += std::filesystem::file_size(path);
  CHECK(used <= 40'960);

  given.cache_limit = 1_KiB;
  support::expect_error([&] { dataset{given}; }, mds::errc::cache_too_small);
}

TEST_CASE("what is damaged in the cache is seen and made again") {
  std::mt19937 random(support::test_seed());
  const streamed at;
  at.put("a.jsonl", numbers(0, 500));
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 4096;
  const std::vector<std::string> expected = at.streamed_rows(about);
  for (const char* how : {"flip", "flip the seal", "cut", "longer", "empty"}) {
    CAPTURE(how);
    const std::vector<std::string> shards = at.shards();
    const std::string path = shards[random() % shards.size()];
    const auto size = std::filesystem::file_size(path);
    if (how == std::string("flip")) flip(path, random() % (size - 16));
    if (how == std::string("flip the seal")) flip(path, size - 1 - random() % 16);
    if (how == std::string("cut")) std::filesystem::resize_file(path, size - 1);
    if (how == std::string("longer")) std::filesystem::resize_file(path, size + 16);
    if (how == std::string("empty")) std::filesystem::resize_file(path, 0);
    const dataset data(at.options(about));
    CHECK(streamed::rows_of(data) == expected);
    CHECK(data.counters().shards_fetched == 1);
  }
}

TEST_CASE("an object that changes or goes after opening is named") {
  const streamed at;
  at.put({{"a.jsonl", numbers(0, 500)}, {"b.jsonl", numbers(500, 1000)}});
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 4096;
  const dataset data(at.options(about));
  (void)data[0];
  at.put("a.jsonl", numbers(1, 501));
  CHECK(number_of(std::string(mds::as_text(data[0].bytes()))) == 0);  // as it was
  support::expect_error([&] { (void)data[499]; }, mds::errc::corrupt,
                        {"a.jsonl", "has changed since it was indexed", "the tag"});
  at.store.remove("b.jsonl");
  support::expect_error([&] { (void)data[999]; }, mds::errc::not_found, {"b.jsonl"});

  // opened again, the change is found out, and of what is as it was nothing is fetched anew
  at.put("b.jsonl", numbers(500, 1000));
  CHECK(number_of(at.streamed_rows(about)[499]) == 500);
  at.put("c.jsonl", numbers(1000, 1100));
  const dataset more(at.options(about));
  CHECK(streamed::rows_of(more).size() == 1100);
  CHECK(more.counters().shards_fetched == 1);
}

TEST_CASE("an index that lies with the files is taken, if it is one of what is asked for") {
  const streamed at;
  at.put("a.jsonl", numbers(0, 100));
  raw::options about{.format = "jsonl"};
  about.columns = {{"n", "int", ""}};
  const mds::opened_store beside{mds::store::local(at.files.path() + "/.mdstream")};
  (void)raw::build_index(at.async, decoders, raw_test::format_of(about),
                         raw::list_source(at.async, ""), beside);
  const dataset data(at.options({.format = "jsonl"}));
  CHECK(data.layout().columns().size() == 1);
  about.columns = {{"text", "str", ""}};
  CHECK(dataset(at.options(about)).layout().columns().front().name == "text");
}

TEST_CASE("streams of one remote with other files keep their shards apart") {
  const streamed at;
  at.put("a.jsonl", numbers(0, 10));
  at.put("b.jsonl", numbers(10, 20));
  const auto number = [](const dataset& data, std::uint64_t i) {
    return number_of(std::string(mds::as_text(data[i].bytes())));
  };
  mds::dataset_options first = at.options({.format = "jsonl", .files = "a.jsonl"});
  const mds::dataset_options second = at.options({.format = "jsonl", .files = "b.jsonl"});
  {
    const dataset a(first), b(second);
    CHECK(number(a, 3) == 3);
    CHECK(number(b, 3) == 13);
  }
  const std::vector<std::string> made = at.shards();
  CHECK(made.size() == 2);
  first.streams.push_back(second.streams[0]);
  const dataset both(first);
  CHECK(number(both, 19) == 19);
  CHECK(at.shards() == made);
}

TEST_CASE("foreign files and datasets are mixed in one batch") {
  const streamed at;
  scratch plain;
  at.put("a.jsonl", numbers(0, 300));
  {
    mds::writer<> out({.out = plain.path(), .columns = {{"n", "int"}, {"text", "str"}}});
    for (std::int64_t i = 300; i < 600; ++i)
      out.write({{"n", i}, {"text", std::string_view("yyy")}});
    out.finish();
  }
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 1024;
  loader mixed({.streams = {{.remote = at.files.path(), .raw = about}, {.remote = plain.path()}},
                .local = at.cache.path(),
                .batch_size = 50,
                .validate_hash = "xxh64",
                .threads = 2});
  std::set<std::int64_t> seen;
  bool both = false;
  for (const auto& batch : mixed.epoch()) {
    std::size_t foreign = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto sample = batch.sample(i);
      const auto n = sample.template get<std::int64_t>("n");
      CHECK(sample.template get<std::string_view>("text") == (n < 300 ? "xxx" : "yyy"));
      foreign += n < 300 ? 1 : 0;
      seen.insert(n);
    }
    both = both || (foreign > 0 && foreign < batch.size());
  }
  CHECK(both);
  CHECK(seen.size() == 600);
}

TEST_CASE("a state belongs to the files that it was saved with") {
  const streamed at;
  at.put("a.jsonl", numbers(0, 300));
  const auto open = [&] {
    return loader({.streams = {{.remote = at.files.path(), .raw = {.format = "jsonl"}}},
                   .local = at.cache.path(),
                   .batch_size = 50,
                   .threads = 2});
  };
  std::string state;
  {
    loader run = open();
    auto epoch = run.epoch();
    (void)*epoch.begin();
    state = run.state();
  }
  open().load_state(state);
  std::string changed = numbers(0, 300);
  changed[changed.find("299") + 2] = '8';
  at.put("a.jsonl", changed);
  loader other = open();
  support::expect_error([&] { other.load_state(state); }, mds::errc::state_mismatch,
                        {"foreign files", "accept::dataset"});
}

TEST_CASE("streams of foreign files need a remote and a directory of their own") {
  const streamed at;
  at.put("a.jsonl", numbers(0, 10));
  mds::dataset_options given = at.options({.files = "*.jsonl"});  // the format is guessed
  CHECK(dataset(given).size() == 10);
  given.streams[0].local = at.files.path();
  support::expect_error([&] { dataset{given}; }, mds::errc::invalid_argument, {"rows"});
  given.streams[0] = {.local = at.files.path(), .raw = {.format = "jsonl"}};
  support::expect_error([&] { dataset{given}; }, mds::errc::invalid_argument);
  mds::dataset_options bad = at.options({.format = "parquet"});
  support::expect_error([&] { dataset{bad}; }, mds::errc::unsupported, {"parquet", "jsonl"});
  bad = at.options({.format = "jsonl", .files = "none/*"});
  support::expect_error([&] { dataset{bad}; }, mds::errc::not_found, {"none/*"});
}

TEST_CASE("what cannot be read is named by object and byte, at opening or when it is fetched") {
  const auto open = [](const std::string& key, const std::string& bytes, raw::options about) {
    const streamed at;
    at.put(key, bytes);
    return streamed::rows_of(dataset(at.options(about)));
  };
  const raw::options jsonl{.format = "jsonl"};
  support::expect_error([&] { open("a.jsonl", numbers(0, 3) + "[1]\n", jsonl); },
                        mds::errc::corrupt, {"a.jsonl"});
  support::expect_error([&] { open("a.jsonl", numbers(0, 3) + "{\"n\": ", jsonl); },
                        mds::errc::corrupt, {"a.jsonl"});
  // the column is an integer in all rows that are looked at, and a text in a later one
  const std::string late = numbers(0, 2000) + "{\"n\": \"x\", \"text\": \"y\"}\n";
  support::expect_error([&] { open("a.jsonl", late, jsonl); }, mds::errc::corrupt,
                        {"a.jsonl", "column \"n\"", "sample 2000", "byte"});
  raw::options skipping = jsonl;
  skipping.skip_bad = true;
  CHECK(open("a.jsonl", late, skipping).size() == 2000);
  support::expect_error([&] { open("a.csv", "a,b\n1,2\n3\n", {.format = "csv"}); },
                        mds::errc::corrupt, {"a.csv", "byte 8"});
  support::expect_error([&] { open("a.csv", "a,b\n1,\"2\n3\n", {.format = "csv"}); },
                        mds::errc::corrupt, {"a.csv"});
  const std::string tar = raw_test::tar_member("a.txt", std::string(2000, 'x'));
  support::expect_error([&] { open("a.tar", tar.substr(0, 1500), {.format = "webdataset"}); },
                        mds::errc::corrupt, {"a.tar"});
  support::expect_error(
      [&] { open("a.jsonl.gz", packed(numbers(0, 500), ".gz").substr(0, 100), jsonl); },
      mds::errc::corrupt, {"a.jsonl.gz", "cut short"});
  support::expect_error([&] { open("a.bin", std::string(1000, '\x01'), {.format = "tokens"}); },
                        mds::errc::unsupported, {"a.bin", "dtype"});
  support::expect_error([&] { open("a.jsonl", "", jsonl); }, mds::errc::invalid_argument);
}

}  // namespace stream_test
