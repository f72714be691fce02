// Copies on a local disk, progress, and parts that several processes write.

#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/writer/writer.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace places_test {

using mdstream::errc;
using mdstream::existing_dataset;
using memory = mdstream::store::memory;
using scratch = scratch_directory::scratch;

using policies =
    mdstream::policies<mdstream::dynamic_schema, memory,
                       mdstream::any_codec<mdstream::codec::none, mdstream::codec::zstd>,
                       mdstream::any_xxhash>;

using writer = mdstream::writer<policies>;
using objects = std::vector<std::pair<std::string, std::string>>;

template <class Store>
std::string text_of(const Store& store, std::string_view key) {
  return std::string(mdstream::as_text(mdstream::read_all(store, key)));
}

template <class Store>
objects objects_of(const Store& store) {
  objects out;
  for (const auto& each : store.list("")) out.emplace_back(each.key, text_of(store, each.key));
  return out;
}

mdstream::writer_options options(const memory& store) {
  return {.out = store, .columns = {{"n", "int"}}, .size_limit = 300};
}

void write(writer& out, int from, int to) {
  for (int i = from; i < to; ++i) out.write({{"n", i}});
}

/// Writes all and finishes.
void write_all(mdstream::writer_options opts, int from, int to) {
  writer out(std::move(opts));
  write(out, from + static_cast<int>(out.kept_samples()), to);
  out.finish();
}

std::vector<std::int64_t> values_of(const memory& store) {
  std::vector<std::int64_t> out;
  const auto index = mdstream::dataset_index::parse(text_of(store, "index.json"));
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const std::string bytes = text_of(store, index.raw(i).name);
    const mdstream::mds_shard_view shard(mdstream::as_bytes(bytes), index.shard_samples(i));
    for (std::size_t k = 0; k < shard.size(); ++k)
      out.push_back(mdstream::read_column(index.layout(i), shard[k], "n").as<std::int64_t>());
  }
  return out;
}

std::vector<std::int64_t> numbers(int to) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < to; ++i) out.push_back(i);
  return out;
}

mdstream::writer_options part(const memory& store, std::uint64_t number, std::uint64_t of,
                              existing_dataset mode = existing_dataset::error) {
  auto out = options(store);
  out.part = {number, of};
  out.existing = mode;
  return out;
}

/// Counts requests, of which an index is read by several.
class counting {
 public:
  explicit counting(memory inner) : inner_(std::move(inner)) {}

  std::uint64_t size(std::string_view key) const { return ++*asked_, inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mdstream::mutable_bytes into) const {
    return ++*asked_, inner_.read(key, at, into);
  }
  void write(std::string_view key, mdstream::bytes_view bytes) const {
    ++*written_;
    inner_.write(key, bytes);
  }
  std::vector<mdstream::object_info> list(std::string_view prefix) const {
    return ++*asked_, inner_.list(prefix);
  }
  void remove(std::string_view key) const { ++*written_, inner_.remove(key); }
  std::string url(std::string_view key) const { return inner_.url(key); }

  [[nodiscard]] int asked() const { return *asked_; }
  [[nodiscard]] int written() const { return *written_; }

 private:
  memory inner_;
  std::shared_ptr<std::atomic<int>> asked_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> written_ = std::make_shared<std::atomic<int>>(0);
};

/// Does something once, before it writes an object of this key.
class interrupted {
 public:
  interrupted(memory inner, std::string key, std::function<void()> action)
      : inner_(std::move(inner)),
        key_(std::move(key)),
        action_(std::make_shared<std::function<void()>>(std::move(action))) {}

  std::uint64_t size(std::string_view key) const { return inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mdstream::mutable_bytes into) const {
    return inner_.read(key, at, into);
  }
  void write(std::string_view key, mdstream::bytes_view bytes) const {
    if (const auto action = key == key_ ? std::exchange(*action_, nullptr) : nullptr) action();
    inner_.write(key, bytes);
  }
  std::vector<mdstream::object_info> list(std::string_view prefix) const {
    return inner_.list(prefix);
  }
  void remove(std::string_view key) const { inner_.remove(key); }
  std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  memory inner_;
  std::string key_;
  std::shared_ptr<std::function<void()>> action_;
};

}  // namespace places_test

TEST_CASE("a copy on a local disk has the files that the store has", "[writer]") {
  using namespace places_test;
  const memory store;
  const scratch files;
  const mdstream::store::local copy(files / "copy");
  auto first = options(store);
  first.compression = GENERATE("", "zstd");
  first.keep_local = files / "copy";
  write_all(first, 0, 90);
  CHECK(objects_of(store).size() > 4);
  CHECK((objects_of(copy) == objects_of(store)));

  auto again = first;
  support::expect_error([&] { writer out(again); }, errc::invalid_argument, {"already there"});
  again.out = memory();
  support::expect_error([&] { writer out(again); }, errc::invalid_argument,
                        {"already there", files / "copy"});
  again.out = store;
  again.existing = existing_dataset::append;
  write_all(again, 0, 120);
  CHECK((objects_of(copy) == objects_of(store)));
  copy.write("index.json", mdstream::as_bytes("{}"));
  support::expect_error([&] { writer out(again); }, errc::invalid_argument,
                        {"keep_local has no copy", files / "copy"});
  again.existing = existing_dataset::replace;
  write_all(again, 0, 30);
  CHECK((objects_of(copy) == objects_of(store)));
}

TEST_CASE("a writer that goes on completes its copy", "[writer][resume]") {
  using namespace places_test;
  const memory store;
  const scratch files;
  const mdstream::store::local copy(files / "copy");
  auto opts = options(store);
  opts.max_workers = GENERATE(0U, 2U);
  opts.keep_local = files / "copy";
  {
    auto first = opts;
    first.max_workers = 0;
    writer out(first);
    write(out, 0, 90);
  }
  REQUIRE(objects_of(store).size() > 3);
  SECTION("that has all") {}
  SECTION("that lacks a shard") { copy.remove("shard.00001.mds"); }
  SECTION("and a shard of the store is damaged") {
    store.write("shard.00001.mds", mdstream::as_bytes("damaged"));
    for (const char* key : {"shard.00001.mds", "shard.00002.mds"}) copy.remove(key);
    auto again = opts;
    again.existing = existing_dataset::resume;
    const writer killed(again);
    CHECK(copy.list("").size() == 1);
    CHECK(store.list("").size() == 1);
  }
  SECTION("that has other bytes") {
    const std::size_t size = text_of(store, "shard.00000.mds").size();
    copy.write("shard.00000.mds", mdstream::as_bytes(std::string(size, 'x')));
  }
  opts.existing = existing_dataset::resume;
  write_all(opts, 0, 90);
  CHECK((values_of(store) == numbers(90)));
  CHECK((objects_of(copy) == objects_of(store)));
}

TEST_CASE("a writer that goes on takes a copy whose index was written before the store's",
          "[writer][resume]") {
  using namespace places_test;
  const memory store;
  const scratch files;
  const mdstream::store::local copy(files / "copy");
  auto opts = options(store);
  opts.compression = GENERATE("", "zstd");
  opts.keep_local = files / "copy";
  const int samples = GENERATE(90, 150);
  const bool appends = GENERATE(false, true);
  if (appends) {
    write_all(opts, 0, 60);
    const std::string before = text_of(store, "index.json");
    auto more = opts;
    more.existing = existing_dataset::append;
    write_all(more, 0, 90);
    store.write("index.json", mdstream::as_bytes(before));
  } else {
    write_all(opts, 0, 90);
    store.remove("index.json");
  }
  opts.existing = existing_dataset::resume;
  {
    writer killed(opts);
    CHECK(killed.kept_samples() == 90);
    write(killed, 90, samples);
  }
  write_all(opts, 0, samples);
  CHECK(mdstream::dataset_index::parse(text_of(store, "index.json")).samples() ==
        std::uint64_t(samples));
  CHECK((objects_of(copy) == objects_of(store)));
}

TEST_CASE("a writer that goes on leaves another dataset in the place of its copy",
          "[writer][resume]") {
  using namespace places_test;
  const memory store;
  const scratch files;
  const mdstream::store::local copy(files / "copy");
  auto opts = options(store);
  opts.max_workers = GENERATE(0U, 2U);
  auto other = options(memory());
  other.out = copy;
  SECTION("complete, and the store is empty") { write_all(other, 0, 90); }
  SECTION("complete, and the store has shards of the same names") {
    write_all(other, 0, 90);
    auto first = opts;
    first.max_workers = 0;
    writer out(first);
    write(out, 1000, 1090);
  }
  SECTION("complete, and the store has a dataset of the same shards") {
    write_all(other, 0, 90);
    write_all(opts, 1000, 1090);
  }
  SECTION("shards that the store does not have") {
    copy.write("shard.00007.mds", mdstream::as_bytes("of another dataset"));
  }
  SECTION("shards of other names") {
    write_all(opts, 0, 90);
    copy.write("shard.00000.json", mdstream::as_bytes("of another dataset"));
  }
  SECTION("an index alone") { copy.write("index.json", mdstream::as_bytes("of another dataset")); }
  const objects copied = objects_of(copy), stored = objects_of(store);
  REQUIRE_FALSE(copied.empty());
  opts.keep_local = files / "copy";
  opts.existing = existing_dataset::resume;
  support::expect_error([&] { writer out(opts); }, errc::invalid_argument,
                        {"keep_local holds another dataset", files / "copy"});
  CHECK((objects_of(copy) == copied));
  CHECK((objects_of(store) == stored));
}

TEST_CASE("a finished dataset that is resumed is copied where the copy lacks it",
          "[writer][resume]") {
  using namespace places_test;
  const memory store;
  const scratch files;
  const mdstream::store::local copy(files / "copy");
  auto opts = options(store);
  opts.compression = GENERATE("", "zstd");
  opts.max_workers = GENERATE(0U, 2U);
  opts.part = GENERATE(mdstream::writer_part{}, mdstream::writer_part{0, 2});
  write_all(opts, 0, 90);
  const objects whole = objects_of(store);
  opts.keep_local = files / "copy";
  opts.existing = existing_dataset::resume;
  SECTION("the copy is empty") {}
  SECTION("the copy has some shards, one with other bytes") {
    write_all(opts, 0, 90);
    for (const std::string& each : {whole[1].first, std::string(whole[0].first)}) copy.remove(each);
    const std::string& changed = whole[2].first;
    copy.write(changed, mdstream::as_bytes(std::string(text_of(copy, changed).size(), 'x')));
  }
  write_all(opts, 0, 90);
  CHECK((objects_of(store) == whole));
  CHECK((objects_of(copy) == whole));
}

TEST_CASE("what fails of a copy costs no shard of the store, and no more reads of it",
          "[writer][resume]") {
  using namespace places_test;
  const memory store;
  const scratch files;
  auto opts = options(store);
  opts.max_workers = 0;
  const bool finished = GENERATE(false, true);
  write_all(opts, 0, 900);
  if (!finished) store.remove("index.json");
  const objects before = objects_of(store);
  std::filesystem::create_directory_symlink(files / "not_mounted", files / "copy");
  const counting counted(store);
  opts.out = counted;
  opts.keep_local = files / "copy";
  opts.existing = existing_dataset::resume;
  CHECK_THROWS_AS(writer(opts), mdstream::error);
  CHECK((objects_of(store) == before));
  CHECK(counted.asked() < 20);
}

TEST_CASE("a copy that a loader has decompressed is still the dataset's", "[writer][resume]") {
  using namespace places_test;
  const memory store;
  const scratch files;
  const mdstream::store::local copy(files / "copy");
  auto opts = options(store);
  opts.compression = "zstd";
  opts.keep_local = files / "copy";
  write_all(opts, 0, 90);
  const auto index = mdstream::dataset_index::parse(text_of(copy, "index.json"));
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const std::string zip = text_of(copy, index.zip(i)->name);
    std::vector<std::byte> shard(index.raw(i).bytes);
    mdstream::diagnostics where;
    REQUIRE_FALSE(mdstream::codec::zstd().decompress(mdstream::as_bytes(zip), shard, where));
    copy.write(index.raw(i).name, shard);
    copy.remove(index.zip(i)->name);
  }
  const objects cached = objects_of(copy);
  opts.existing = existing_dataset::resume;
  write_all(opts, 0, 90);
  CHECK((objects_of(copy) == cached));
}

TEST_CASE("progress is reported shard by shard, and what it throws ends the writer", "[writer]") {
  using namespace places_test;
  const memory store;
  auto opts = options(store);
  opts.max_workers = GENERATE(0U, 3U);
  opts.compression = GENERATE("", "zstd");
  std::vector<mdstream::writer_progress> reports;
  opts.progress = [&](const mdstream::writer_progress& now) { reports.push_back(now); };
  {
    writer out(opts);
    write(out, 0, 100);
    out.finish();
    REQUIRE(reports.size() == out.shards());
  }
  const auto index = mdstream::dataset_index::parse(text_of(store, "index.json"));
  std::uint64_t raw = 0, stored = 0;
  for (std::size_t i = 0; i < index.shards(); ++i) raw += index.raw(i).bytes;
  for (const auto& each : store.list("shard.")) stored += each.bytes;
  CHECK(reports.back().samples == 100);
  CHECK(reports.back().shards == index.shards());
  CHECK(reports.back().raw_bytes == raw);
  CHECK(reports.back().stored_bytes == stored);
  for (std::size_t i = 1; i < reports.size(); ++i) {
    CHECK(reports[i].shards == reports[i - 1].shards + 1);
    CHECK(reports[i].samples > reports[i - 1].samples);
  }
  // What is kept counts from the first call on.
  store.remove("index.json");
  store.remove("shard.00002.mds");
  store.remove("shard.00002.mds.zstd");
  reports.clear();
  opts.existing = existing_dataset::resume;
  write_all(opts, 0, 100);
  REQUIRE(reports.size() == index.shards() - 1);
  CHECK(reports.front().shards == 2);
  CHECK(reports.back().samples == 100);
  CHECK(reports.back().stored_bytes == stored);

  auto fails = options(memory());
  fails.progress = [](const mdstream::writer_progress&) { throw std::runtime_error("no more"); };
  CHECK_THROWS_WITH(write_all(fails, 0, 100), "no more");
}

TEST_CASE("the writer of the last part writes the index of all", "[writer][parts]") {
  using namespace places_test;
  const memory store;
  std::vector<std::uint64_t> order{0, 1, 2};
  SECTION("in their order") {}
  SECTION("the other way round") { order = {2, 1, 0}; }
  SECTION("in another") { order = {1, 2, 0}; }
  for (const std::uint64_t number : order) {
    CHECK_FALSE(mdstream::exists(store, "index.json"));
    const int first = static_cast<int>(number) * 50;
    write_all(part(store, number, 3), first, first + 50);
  }
  CHECK((values_of(store) == numbers(150)));
  const auto index = mdstream::dataset_index::parse(text_of(store, "index.json"));
  CHECK(index.raw(0).name == "part-00000-of-00003/shard.00000.mds");
  support::expect_error([&] { writer out(part(store, 1, 3)); }, errc::invalid_argument,
                        {"already there"});
  // A job that is started again although it was done changes nothing.
  const auto whole = objects_of(store);
  for (const std::uint64_t number : order)
    write_all(part(store, number, 3, existing_dataset::resume), static_cast<int>(number) * 50,
              static_cast<int>(number) * 50 + 50);
  CHECK((objects_of(store) == whole));
}

TEST_CASE("a finished job of parts that is started again asks little and writes nothing",
          "[writer][parts]") {
  using namespace places_test;
  const auto requests_of_part = [](std::uint64_t of) {
    const memory store;
    for (std::uint64_t i = 0; i < of; ++i) write_all(part(store, i, of), 0, 50);
    const counting counted(store);
    auto opts = part(store, 1, of, existing_dataset::resume);
    opts.out = counted;
    write_all(opts, 0, 50);
    CHECK(counted.written() == 0);
    return counted.asked();
  };
  CHECK(requests_of_part(2) == requests_of_part(40));
}

TEST_CASE("the index of the whole is written again where it lacks what a part has",
          "[writer][parts]") {
  using namespace places_test;
  const memory store;
  for (std::uint64_t i = 0; i < 2; ++i) write_all(part(store, i, 2), 0, 50);
  const std::string before = text_of(store, "index.json");
  SECTION("it is missing") { store.remove("index.json"); }
  SECTION("it is from before the part grew") {
    write_all(part(store, 1, 2, existing_dataset::resume), 0, 100);
    REQUIRE(text_of(store, "index.json") != before);
    store.write("index.json", mdstream::as_bytes(before));
  }
  const auto samples = [&](std::string_view key) {
    return mdstream::dataset_index::parse(text_of(store, key)).samples();
  };
  write_all(part(store, 1, 2, existing_dataset::resume), 0, 50);
  CHECK(samples("index.json") ==
        samples("part-00000-of-00002/index.json") + samples("part-00001-of-00002/index.json"));
}

TEST_CASE("parts that are written at the same time are one dataset", "[writer][parts]") {
  using namespace places_test;
  for (int round = 0; round < 20; ++round) {
    const memory store;
    std::vector<std::thread> writers;
    for (std::uint64_t i = 0; i < 4; ++i)
      writers.emplace_back([&store, i] {
        const int first = static_cast<int>(i) * 30;
        write_all(part(store, i, 4), first, first + 30);
      });
    for (std::thread& each : writers) each.join();
    CHECK((values_of(store) == numbers(120)));
  }
}

TEST_CASE("a part that grows while another publishes the whole is in it", "[writer][parts]") {
  using namespace places_test;
  const memory store;
  for (const std::uint64_t number : {0, 1}) write_all(part(store, number, 2), 0, 30);
  auto second = std::make_unique<writer>(part(store, 1, 2, existing_dataset::resume));
  write(*second, 30, 60);
  auto opts = part(store, 0, 2, existing_dataset::resume);
  opts.out = interrupted(store, "index.json", [&] { second->finish(); });
  write_all(opts, 0, 60);
  CHECK(mdstream::dataset_index::parse(text_of(store, "index.json")).samples() == 120);
}

TEST_CASE("a part whose writer did not finish keeps the dataset incomplete until it goes on",
          "[writer][parts]") {
  using namespace places_test;
  const memory store;
  write_all(part(store, 0, 5), 0, 50);  // of a run with five, which is no part of this one
  write_all(part(store, 0, 3), 0, 50);
  {
    auto killed = part(store, 1, 3);
    killed.max_workers = 0;  // what is full is stored
    writer out(killed);
    write(out, 50, 90);
  }
  write_all(part(store, 2, 3), 100, 100);  // without samples
  CHECK_FALSE(mdstream::exists(store, "index.json"));
  support::expect_error([&] { writer out(part(store, 1, 3)); }, errc::invalid_argument,
                        {"did not finish", "part-00001-of-00003"});
  write_all(part(store, 1, 3, existing_dataset::resume), 50, 100);
  CHECK((values_of(store) == numbers(100)));
}

TEST_CASE("parts do not resume a dataset that was not written by as many parts",
          "[writer][parts]") {
  using namespace places_test;
  const memory store;
  SECTION("written whole") { write_all(options(store), 0, 30); }
  SECTION("written by three") {
    for (std::uint64_t i = 0; i < 3; ++i) write_all(part(store, i, 3), 0, 30);
  }
  SECTION("written by two, and appended to as a whole") {
    for (std::uint64_t i = 0; i < 2; ++i) write_all(part(store, i, 2), 0, 30);
    auto more = options(store);
    more.existing = existing_dataset::append;
    write_all(more, 0, 90);
  }
  const objects stored = objects_of(store);
  for (std::uint64_t i = 0; i < 2; ++i)
    support::expect_error([&] { writer out(part(store, i, 2, existing_dataset::resume)); },
                          errc::invalid_argument, {"was not written by 2 parts"});
  CHECK((objects_of(store) == stored));
}

TEST_CASE("parts that are none, and what a part cannot do, are refused", "[writer][parts]") {
  using namespace places_test;
  const memory store;
  support::expect_error([&] { writer out(part(store, 3, 3)); }, errc::invalid_argument,
                        {"no part 3 of 3"});
  support::expect_error([&] { writer out(part(store, 0, 0)); }, errc::invalid_argument,
                        {"no part 0 of 0"});
  for (const auto mode : {existing_dataset::replace, existing_dataset::append})
    support::expect_error([&] { writer out(part(store, 0, 3, mode)); }, errc::invalid_argument,
                          {"part", "resume"});
  // One part is the whole, in the directory itself.
  write_all(part(store, 0, 1), 0, 10);
  CHECK(mdstream::exists(store, "shard.00000.mds"));
  // Columns that differ are found by the last.
  const memory mixed;
  write_all(part(mixed, 0, 2), 0, 10);
  auto other = part(mixed, 1, 2);
  other.columns = {{"n", "uint8"}};
  support::expect_error([&] { write_all(other, 0, 10); }, errc::schema_mismatch,
                        {"n: uint8", "n: int"});
  CHECK_FALSE(mdstream::exists(mixed, "index.json"));
}

TEST_CASE("a copy of a part is that part", "[writer][parts]") {
  using namespace places_test;
  const memory store;
  const scratch files;
  auto opts = part(store, 1, 2);
  opts.keep_local = files / "copy";
  write_all(opts, 0, 50);
  CHECK((objects_of(mdstream::store::local(files / "copy")) == objects_of(store)));
}

TEST_CASE("the copy lies elsewhere than the dataset", "[writer]") {
  using namespace places_test;
  const scratch files;
  auto opts = options(memory());
  opts.out = mdstream::store::local(files / "d");
  for (const char* name : {"d", "d/", "x/../d", "./d"}) {
    INFO(name);
    opts.keep_local = files / name;
    support::expect_error([&] { writer out(opts); }, errc::invalid_argument,
                          {"keep_local is the directory", files / "d"});
  }
}

TEST_CASE("the copy lies in a directory, in no other store", "[writer]") {
  using namespace places_test;
  auto opts = options(memory());
  opts.keep_local = GENERATE("s3://bucket/x", "file:///tmp/x");
  support::expect_error([&] { writer out(opts); }, errc::invalid_argument,
                        {"keep_local is a local directory", opts.keep_local});
  CHECK_FALSE(std::filesystem::exists("s3:"));
  CHECK_FALSE(std::filesystem::exists("file:"));
}
