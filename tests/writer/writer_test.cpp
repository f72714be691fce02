#include <mdstream/writer/writer.hpp>

#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/memory.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace writer_test {

using mdstream::errc;
using mdstream::named_value;
using memory = mdstream::store::memory;

using dynamic_policies =
    mdstream::policies<memory, mdstream::any_codec<mdstream::codec::none, mdstream::codec::zstd>,
                       mdstream::any_xxhash>;

using typed_policies = dynamic_policies::with<mdstream::schema<
    mdstream::column<"text", mdstream::str>, mdstream::column<"id", mdstream::int_>,
    mdstream::column<"tokens", mdstream::ndarray<std::uint16_t, 3>>>>;

using unhashed_policies = typed_policies::with<mdstream::any_hash<>>;

std::string text_of(const memory& store, std::string_view key) {
  return std::string(mdstream::as_text(mdstream::read_all(store, key)));
}

mdstream::dataset_index index_of(const memory& store) {
  return mdstream::dataset_index::parse(text_of(store, "index.json"));
}

/// All objects, for comparison.
std::vector<std::pair<std::string, std::string>> objects(const memory& store) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& each : store.list("")) out.emplace_back(each.key, text_of(store, each.key));
  return out;
}

/// A store whose writes fail from a certain number on.
class failing {
 public:
  failing(memory inner, int good)
      : inner_(inner), left_(std::make_shared<std::atomic<int>>(good)) {}
  std::uint64_t size(std::string_view key) const { return inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mdstream::mutable_bytes into) const {
    return inner_.read(key, at, into);
  }
  void write(std::string_view key, mdstream::bytes_view bytes) const {
    if (--*left_ < 0)
      throw mdstream::error(errc::no_space,
                            mdstream::diagnostics{.what = "disk full", .url = url(key)});
    inner_.write(key, bytes);
  }
  std::vector<mdstream::object_info> list(std::string_view prefix) const {
    return inner_.list(prefix);
  }
  void remove(std::string_view key) const { inner_.remove(key); }
  std::string url(std::string_view key) const { return "failing:" + std::string(key); }
  void repair() const { *left_ = 1000; }

 private:
  memory inner_;
  std::shared_ptr<std::atomic<int>> left_;
};

using failing_policies = dynamic_policies::with<failing>;

/// A store that holds the first removal of a shard behind the first one until another has come.
class removing_together {
 public:
  explicit removing_together(memory inner) : inner_(std::move(inner)) {}
  std::uint64_t size(std::string_view key) const { return inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mdstream::mutable_bytes into) const {
    return inner_.read(key, at, into);
  }
  void write(std::string_view key, mdstream::bytes_view bytes) const { inner_.write(key, bytes); }
  std::vector<mdstream::object_info> list(std::string_view prefix) const {
    return inner_.list(prefix);
  }
  void remove(std::string_view key) const {
    if (key.starts_with("shard.") && key != "shard.00000.mds") {
      std::unique_lock lock(seen_->mutex);
      if (!inner_.list("shard.00000").empty()) seen_->first_goes_first = false;
      ++seen_->removals;
      seen_->changed.notify_all();
      const auto met = [&] { return seen_->removals > 1; };
      if (!seen_->changed.wait_for(lock, std::chrono::seconds(30), met)) seen_->alone = true;
    }
    inner_.remove(key);
  }
  std::string url(std::string_view key) const { return inner_.url(key); }

  struct observed {
    std::mutex mutex;
    std::condition_variable changed;
    int removals = 0;
    bool first_goes_first = true;
    bool alone = false;
  };
  [[nodiscard]] const observed& seen() const { return *seen_; }

 private:
  memory inner_;
  std::shared_ptr<observed> seen_ = std::make_shared<observed>();
};

}  // namespace writer_test

TEST_CASE("typed values are written in the schema's order and read back", "[writer]") {
  using namespace writer_test;
  const memory store;
  mdstream::writer<typed_policies> out({.out = store, .hashes = {"xxh64"}});
  const std::vector<std::uint16_t> tokens{7, 8, 9};
  out.write("first", 1, tokens);
  out.write(std::string("second"), std::int64_t{-2}, std::array<std::uint16_t, 3>{1, 2, 3});
  CHECK(out.samples() == 2);
  out.finish();

  const auto index = index_of(store);
  REQUIRE(index.shards() == 1);
  const std::string bytes = text_of(store, index.raw(0).name);
  CHECK(bytes.size() == index.raw(0).bytes);
  CHECK(*index.raw(0).hash("xxh64") ==
        mdstream::hash_of<mdstream::any_xxhash>("xxh64", mdstream::as_bytes(bytes)));
  using schema = typed_policies::schema;
  CHECK_NOTHROW(schema::check(index.layout(0)));
  const mdstream::mds_shard_view shard(mdstream::as_bytes(bytes), index.shard_samples(0));
  CHECK(schema::get<"text">(shard[0]) == "first");
  CHECK(schema::get<"id">(shard[1]) == -2);
  CHECK(schema::get<"tokens">(shard[0])[2] == 9);
}

TEST_CASE("values that name their columns are written in any order", "[writer]") {
  using namespace writer_test;
  using mdstream::col;
  const memory in_order, named, dynamic;
  mdstream::writer<typed_policies> a({.out = in_order}), b({.out = named});
  mdstream::writer<dynamic_policies> c(
      {.out = dynamic,
       .columns = {{"text", "str"}, {"id", "int"}, {"tokens", "ndarray:uint16:3"}}});
  const mdstream::array_shape three{3};
  for (int i = 0; i < 5; ++i) {
    const std::vector<std::uint16_t> tokens(3, static_cast<std::uint16_t>(i));
    const std::string text(static_cast<std::size_t>(i), 'x');
    a.write(text, i, tokens);
    b.write(col<"tokens">(tokens), col<"id">(i), col<"text">(text));
    c.write(col<"id">(i), col<"text">(text),
            col<"tokens">(mdstream::any_ndarray(mdstream::dtype::uint16, three,
                                                std::as_bytes(std::span(tokens)))));
  }
  a.write("text", 7, std::array<std::uint16_t, 3>{1, 2, 3});
  b.write(col<"id">(7), col<"tokens">(std::array<std::uint16_t, 3>{1, 2, 3}), col<"text">("text"));
  c.write(col<"id">(7), col<"text">("text"),
          col<"tokens">(
              std::array<std::byte, 6>{std::byte{1}, {}, std::byte{2}, {}, std::byte{3}, {}}));
  a.finish();
  b.finish();
  c.finish();
  CHECK(index_of(in_order).samples() == 6);
  CHECK((objects(named) == objects(in_order)));
  CHECK((objects(dynamic) == objects(in_order)));
  support::expect_error(
      [&] {
        mdstream::writer<typed_policies> out({.out = memory()});
        out.write(col<"id">(1), col<"tokens">(std::vector<std::uint16_t>(2)), col<"text">("x"));
      },
      errc::invalid_argument, {"column \"tokens\""});
}

TEST_CASE("a writer records xxh64 by default", "[writer]") {
  using namespace writer_test;
  const memory store;
  const bool asked = GENERATE(false, true);
  {
    mdstream::writer_options options{.out = store};
    if (asked) options.hashes = {};
    mdstream::writer<unhashed_policies> out(std::move(options));
    out.write("first", 1, std::vector<std::uint16_t>{7, 8, 9});
    out.finish();
  }
  const auto index = index_of(store);
  const std::string bytes = text_of(store, index.raw(0).name);
  const mdstream::file_info file = index.raw(0);
  const std::string* const found = file.hash("xxh64");
  REQUIRE((found == nullptr) == asked);
  if (found != nullptr)
    CHECK(*found == mdstream::hash_of<mdstream::any_xxhash>("xxh64", mdstream::as_bytes(bytes)));
}

TEST_CASE("named values and typed values make the same dataset", "[writer]") {
  using namespace writer_test;
  const memory typed;
  const memory named;
  mdstream::writer<typed_policies> a({.out = typed, .size_limit = 400});
  mdstream::writer<dynamic_policies> b(
      {.out = named,
       .columns = {{"tokens", "ndarray:uint16:3"}, {"text", "str"}, {"id", "int"}},
       .size_limit = 400});
  for (int i = 0; i < 20; ++i) {
    const std::vector<std::uint16_t> tokens(3, static_cast<std::uint16_t>(i));
    const std::string text(static_cast<std::size_t>(i), 'x');
    a.write(text, i, tokens);
    const mdstream::array_shape three{3};
    const mdstream::any_ndarray array(mdstream::dtype::uint16, three,
                                      std::as_bytes(std::span(tokens)));
    b.write({{"id", i}, {"text", text}, {"unknown", 5}, {"tokens", array}});
  }
  a.finish();
  b.finish();
  CHECK(index_of(typed).shards() > 3);
  CHECK(objects(typed) == objects(named));
}

TEST_CASE("a sample that can not be written names its column and leaves the writer usable",
          "[writer]") {
  using namespace writer_test;
  const memory store;
  mdstream::writer<dynamic_policies> out({.out = store, .columns = {{"u", "uint8"}, {"s", "str"}}});
  const auto write = [&](std::initializer_list<named_value> values) {
    return [&out, values] { out.write(values); };
  };
  support::expect_error(write({{"s", "x"}}), errc::invalid_argument, {"column \"u\""});
  support::expect_error(write({{"s", "x"}, {"u", 256}}), errc::invalid_argument,
                        {"256", "column \"u\""});
  support::expect_error(write({{"s", "x"}, {"u", -1}}), errc::invalid_argument, {"-1"});
  support::expect_error(write({{"s", "x"}, {"u", "1x"}}), errc::invalid_argument, {"column \"u\""});
  support::expect_error(write({{"s", 1}, {"u", 1}}), errc::invalid_argument, {"column \"s\""});
  support::expect_error(write({{"s", "\xFF"}, {"u", 1}}), errc::invalid_argument,
                        {"column \"s\"", "UTF-8"});
  const std::vector<std::byte> two(2);
  support::expect_error(write({{"s", "x"}, {"u", two}}), errc::invalid_argument, {"column \"u\""});
  out.write({{"u", 255}, {"s", "fine"}});
  out.finish();
  const auto index = index_of(store);
  CHECK(index.samples() == 1);
}

TEST_CASE("options that can not be right are refused at once", "[writer]") {
  using namespace writer_test;
  using options = mdstream::writer_options;
  const auto open = [](options opts) {
    return [opts]() mutable { mdstream::writer<dynamic_policies> w(std::move(opts)); };
  };
  const std::vector<mdstream::column_spec> x{{"x", "int"}};
  support::expect_error(open({.out = memory()}), errc::invalid_argument, {"column"});
  support::expect_error(open({.out = memory(), .columns = {{"x", "float"}}}),
                        errc::invalid_argument, {"\"float\""});
  support::expect_error(open({.out = memory(), .columns = x, .compression = "br"}),
                        errc::unsupported, {"br"});
  support::expect_error(open({.out = memory(), .columns = x, .compression = "zstd:99"}),
                        errc::invalid_argument, {"zstd:99"});
  support::expect_error(open({.out = memory(), .columns = x, .hashes = {"sha1"}}),
                        errc::unsupported, {"sha1"});
  support::expect_error(open({.out = memory(), .columns = x, .hashes = {"xxh64", "xxh32"}}),
                        errc::invalid_argument, {"sorted"});
  support::expect_error(open({.out = memory(), .columns = x, .hashes = {"xxh64", "xxh64"}}),
                        errc::invalid_argument, {"unique"});
  support::expect_error(open({.out = memory(), .columns = x, .size_limit = "4gb"}),
                        errc::invalid_argument, {"4 GiB"});
  support::expect_error(open({.out = "some/path", .columns = x}), errc::invalid_argument,
                        {"opens no URLs", "some/path"});
  support::expect_error(open({.columns = x}), errc::invalid_argument, {"no path"});
  support::expect_error(
      [] { mdstream::writer<typed_policies> w({.out = memory(), .columns = {{"x", "int"}}}); },
      errc::invalid_argument, {"schema"});
}

TEST_CASE("the output does not depend on the number of threads", "[writer]") {
  using namespace writer_test;
  const auto write = [](unsigned workers) {
    const memory store;
    mdstream::writer<dynamic_policies> out({.out = store,
                                            .columns = {{"x", "bytes"}},
                                            .compression = "zstd:1",
                                            .hashes = {"xxh32", "xxh3_64"},
                                            .size_limit = 3000,
                                            .max_workers = workers});
    std::mt19937 random(support::test_seed());
    for (int i = 0; i < 500; ++i) {
      std::vector<std::byte> value(random() % 700);
      for (std::byte& b : value) b = static_cast<std::byte>(random() % 4);
      out.write({{"x", value}});
    }
    out.finish();
    return objects(store);
  };
  const auto expected = write(0);
  CHECK(expected.size() > 30);
  for (const unsigned workers : {1U, 2U, 7U}) CHECK(write(workers) == expected);
}

TEST_CASE("a writer that is not finished leaves no index", "[writer]") {
  using namespace writer_test;
  const memory store;
  const auto write = [&](int count) {
    mdstream::writer<dynamic_policies> out(
        {.out = store, .columns = {{"x", "int"}}, .size_limit = 300, .max_workers = 3});
    for (int i = 0; i < count; ++i) out.write({{"x", i}});
    if (count > 0) throw std::runtime_error("the program failed");
  };
  CHECK_THROWS_AS(write(500), std::runtime_error);
  CHECK_FALSE(mdstream::exists(store, "index.json"));
}

TEST_CASE("a store that fails is an error that names the shard, and there is no index",
          "[writer]") {
  using namespace writer_test;
  const unsigned workers = GENERATE(0U, 1U, 3U);
  const memory inner;
  const auto write = [&] {
    mdstream::writer<failing_policies> out({.out = failing(inner, 2),
                                            .columns = {{"x", "int"}},
                                            .size_limit = 300,
                                            .max_workers = workers});
    for (int i = 0; i < 500; ++i) out.write({{"x", i}});
    out.finish();
  };
  // With several workers it is chance which two shards go in time.
  const std::string failed = workers > 1 ? "shard." : "shard.00002.mds";
  support::expect_error(write, errc::no_space, {"disk full", "shard ", "failing:" + failed});
  CHECK_FALSE(mdstream::exists(inner, "index.json"));
  if (workers <= 1) CHECK(mdstream::exists(inner, "shard.00001.mds"));
}

TEST_CASE("a failed index is no index, and finishing twice is an error", "[writer]") {
  using namespace writer_test;
  const memory inner;
  mdstream::writer<failing_policies> out({.out = failing(inner, 1), .columns = {{"x", "int"}}});
  out.write({{"x", 1}});
  support::expect_error([&] { out.finish(); }, errc::no_space, {"index.json"});
  CHECK_FALSE(mdstream::exists(inner, "index.json"));

  mdstream::writer<dynamic_policies> good({.out = memory(), .columns = {{"x", "int"}}});
  good.finish();
  support::expect_error([&] { good.finish(); }, errc::invalid_argument, {"finished"});
  support::expect_error([&] { good.write({{"x", 1}}); }, errc::invalid_argument, {"finished"});
}

TEST_CASE("finishing again after the store recovered writes the whole index", "[writer]") {
  using namespace writer_test;
  const memory inner;
  const failing store(inner, 1);  // the shard is stored, the index is not
  mdstream::writer<failing_policies> out({.out = store, .columns = {{"x", "int"}}});
  for (int i = 0; i < 10; ++i) out.write({{"x", i}});
  support::expect_error([&] { out.finish(); }, errc::no_space, {"index.json"});
  store.repair();
  out.finish();
  const auto bytes = mdstream::read_all(inner, "index.json");
  CHECK(mdstream::dataset_index::parse(mdstream::as_text(bytes)).samples() == 10);
}

TEST_CASE("a dataset that is there is kept unless it may be replaced", "[writer]") {
  using namespace writer_test;
  using mdstream::existing_dataset;
  const memory store;
  const auto open = [&](existing_dataset existing) {
    return mdstream::writer_options{
        .out = store, .columns = {{"x", "int"}}, .size_limit = 300, .existing = existing};
  };
  {
    mdstream::writer<dynamic_policies> out(open(existing_dataset::error));
    for (int i = 0; i < 100; ++i) out.write({{"x", i}});
    out.finish();
  }
  store.write("notes.txt", mdstream::as_bytes("mine"));
  const auto before = objects(store);
  support::expect_error(
      [&] { mdstream::writer<dynamic_policies> out(open(existing_dataset::error)); },
      errc::invalid_argument, {"already there", "existing"});
  CHECK(objects(store) == before);
  {
    mdstream::writer<dynamic_policies> out(open(existing_dataset::replace));
    CHECK(store.list("").size() == 1);
    out.write({{"x", 1}});
    out.finish();
  }
  CHECK(index_of(store).samples() == 1);
  CHECK(text_of(store, "notes.txt") == "mine");
}

TEST_CASE("shards are removed several at a time, but for the first, which goes before",
          "[writer]") {
  using namespace writer_test;
  using policies = dynamic_policies::with<removing_together>;
  const memory inner;
  const removing_together store(inner);
  const auto options = [&] {
    return mdstream::writer_options{.out = store,
                                    .columns = {{"x", "int"}},
                                    .size_limit = 300,
                                    .existing = mdstream::existing_dataset::replace};
  };
  {
    mdstream::writer<policies> out(options());
    for (int i = 0; i < 100; ++i) out.write({{"x", i}});
    out.finish();
  }
  const int shards = static_cast<int>(index_of(inner).shards());
  REQUIRE(shards > 3);
  const mdstream::writer<policies> again(options());
  CHECK(inner.list("").empty());
  CHECK(store.seen().removals == shards - 1);
  CHECK(store.seen().first_goes_first);
  CHECK_FALSE(store.seen().alone);
}

TEST_CASE("samples that are encoded already are checked and copied", "[writer]") {
  using namespace writer_test;
  const memory store;
  mdstream::writer<typed_policies> out({.out = store});
  const std::string sample = std::string("\x02\0\0\0", 4) + "12345678" + "hi" + "tokens";
  out.write_raw(mdstream::as_bytes(sample));
  support::expect_error([&] { out.write_raw(mdstream::as_bytes(sample + "x")); }, errc::corrupt,
                        {"1 bytes follow"});
  support::expect_error([&] { out.write_raw(mdstream::as_bytes(sample).first(sample.size() - 7)); },
                        errc::corrupt);
  out.finish();
  const std::string bytes = text_of(store, "shard.00000.mds");
  CHECK(mdstream::as_text(mdstream::mds_shard_view(mdstream::as_bytes(bytes), 1)[0]) == sample);
}

TEST_CASE("new shards are appended to a dataset, and the index stays as it was before them",
          "[writer]") {
  using namespace writer_test;
  const memory store;
  using mdstream::existing_dataset;
  const auto write = [&](int from, int count, bool finish, const char* encoding = "int") {
    mdstream::writer<dynamic_policies> out({.out = store,
                                            .columns = {{"x", encoding}},
                                            .size_limit = 300,
                                            .existing = existing_dataset::append});
    for (int i = from; i < from + count; ++i) out.write({{"x", i}});
    if (finish) out.finish();
  };
  write(0, 50, true);
  const auto before = index_of(store);
  const std::string text = text_of(store, "index.json");
  write(50, 40, false);
  CHECK(text_of(store, "index.json") == text);
  write(50, 30, true);
  const auto after = index_of(store);
  CHECK(after.samples() == 80);
  CHECK(after.shards() > before.shards());
  CHECK(text_of(store, "index.json").substr(0, text.size() - 20) ==
        text.substr(0, text.size() - 20));
  int value = 0;
  for (std::size_t i = 0; i < after.shards(); ++i) {
    CHECK(after.raw(i).name ==
          mdstream::shard_file_name(i, mdstream::shard_format::mds, false, ""));
    const std::string bytes = text_of(store, after.raw(i).name);
    const mdstream::mds_shard_view shard(mdstream::as_bytes(bytes), after.shard_samples(i));
    for (std::size_t k = 0; k < shard.size(); ++k)
      CHECK(mdstream::read_column(after.layout(i), shard[k], "x").as<std::int64_t>() == value++);
  }
  CHECK(value == 80);
  support::expect_error([&] { write(0, 1, true, "uint8"); }, errc::schema_mismatch,
                        {"x: uint8", "x: int"});
}
