// Writers that go on where one was destroyed. kill_test.cpp kills them.

#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/writer/row_writer.hpp>
#include <mdstream/writer/writer.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/sanitizer.hpp"

namespace resume_test {

using mdstream::errc;
using mdstream::existing_dataset;
using mdstream::shard_format;
using memory = mdstream::store::memory;

using policies =
    mdstream::policies<mdstream::dynamic_schema, memory,
                       mdstream::any_codec<mdstream::codec::none, mdstream::codec::zstd>,
                       mdstream::any_xxhash>;

using objects = std::vector<std::pair<std::string, std::string>>;

std::string text_of(const memory& store, std::string_view key) {
  return std::string(mdstream::as_text(mdstream::read_all(store, key)));
}

objects objects_of(const memory& store) {
  objects out;
  for (const auto& each : store.list("")) out.emplace_back(each.key, text_of(store, each.key));
  return out;
}

memory copy_of(const memory& store) {
  memory out;
  for (const auto& [key, text] : objects_of(store)) out.write(key, mdstream::as_bytes(text));
  return out;
}

constexpr std::uint64_t samples = 40;

// A kill at every place takes over a minute under TSan. Threads meet at one place of five as they
// meet at each.
constexpr std::uint64_t between_kills = support::under_tsan ? 5 : 1;

/// Texts of some sizes, of which a few fill a shard of their own.
std::string text(std::uint64_t i) { return std::string(i % 13 == 12 ? 500 : 3 * (i % 7), 'x'); }

mdstream::writer_options mds(const memory& store, const std::string& compression = "",
                             unsigned workers = 0) {
  return {.out = store,
          .columns = {{"s", "str"}, {"n", "int"}},
          .compression = compression,
          .size_limit = 320,
          .max_workers = workers};
}

mdstream::row_writer_options rows(const memory& store, shard_format format,
                                  const std::string& compression, unsigned workers) {
  return {.out = store,
          .format = format,
          .columns = {{"s", "str"}, {"n", "int"}},
          .compression = compression,
          .size_limit = 120,
          .max_workers = workers};
}

template <class Writer>
void write(Writer& out, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i < to; ++i) out.write({{"n", i}, {"s", text(i)}});
}

template <class Writer, class Options>
void write_all(Options options) {
  Writer out(std::move(options));
  write(out, 0, samples);
  out.finish();
}

/// A writer that does not come to its end. After every third number of samples all shards that it
/// completed are stored.
template <class Writer, class Options>
void write_some(Options options, std::uint64_t count) {
  std::atomic<std::uint64_t> stored{0};
  options.progress = [&](const mdstream::writer_progress& now) { stored = now.shards; };
  Writer out(std::move(options));
  write(out, 0, count);
  while (count % 3 == 0 && stored < out.shards()) std::this_thread::yield();
}

/// Goes on; returns how many samples were kept.
template <class Writer, class Options>
std::uint64_t go_on(Options options) {
  options.existing = existing_dataset::resume;
  Writer out(std::move(options));
  const std::uint64_t kept = out.kept_samples();
  write(out, kept, samples);
  out.finish();
  CHECK(out.samples() == samples - kept);
  return kept;
}

using mds_writer = mdstream::writer<policies>;
using row_writer = mdstream::row_writer<policies>;

void truncate(const memory& store, const std::string& key, std::size_t bytes) {
  store.write(key, mdstream::as_bytes(text_of(store, key).substr(0, bytes)));
}

}  // namespace resume_test

TEST_CASE("a writer that goes on where one was destroyed writes what a single one had written",
          "[writer][resume]") {
  using namespace resume_test;
  const std::string compression = GENERATE("", "zstd:3");
  const unsigned workers = GENERATE(0U, 3U);
  const memory whole;
  write_all<mds_writer>(mds(whole, compression));
  std::uint64_t most = 0;
  for (std::uint64_t count = 0; count <= samples; count += between_kills) {
    const memory store;
    write_some<mds_writer>(mds(store, compression, workers), count);
    const std::uint64_t kept = go_on<mds_writer>(mds(store, compression, workers));
    INFO(count << " samples were written, " << kept << " kept");
    CHECK(kept <= count);
    CHECK((objects_of(store) == objects_of(whole)));
    if (kept > most) most = kept;
  }
  CHECK(most > samples / 2);
}

TEST_CASE("rows go on as samples do", "[row_writer][resume]") {
  using namespace resume_test;
  const auto format = GENERATE(shard_format::json, shard_format::csv, shard_format::tsv);
  const std::string compression = GENERATE("", "zstd");
  const unsigned workers = GENERATE(0U, 2U);
  const memory whole;
  write_all<row_writer>(rows(whole, format, compression, workers));
  std::uint64_t most = 0;
  for (std::uint64_t count = 0; count <= samples; count += between_kills) {
    const memory store;
    write_some<row_writer>(rows(store, format, compression, workers), count);
    const std::uint64_t kept = go_on<row_writer>(rows(store, format, compression, workers));
    INFO(count << " rows were written, " << kept << " kept");
    CHECK(kept <= count);
    CHECK((objects_of(store) == objects_of(whole)));
    if (kept > most) most = kept;
  }
  CHECK(most > samples / 2);
}

TEST_CASE("shards that are not complete are written again, with all behind them",
          "[writer][resume]") {
  using namespace resume_test;
  const std::string compression = GENERATE("", "zstd");
  const unsigned workers = GENERATE(0U, 2U);
  const std::string extension = compression.empty() ? "" : ".zstd";
  const memory whole;
  write_all<mds_writer>(mds(whole, compression));
  memory left = copy_of(whole);
  left.remove("index.json");
  const auto index = mdstream::dataset_index::parse(text_of(whole, "index.json"));
  REQUIRE(index.shards() > 6);
  std::uint64_t before_third = 0;
  for (std::size_t i = 0; i < 3; ++i) before_third += index.shard_samples(i);
  const std::string third = "shard.00003.mds" + extension;
  const std::size_t size = text_of(left, third).size();

  SECTION("one is missing") { left.remove(third); }
  SECTION("one is cut short") {
    const std::size_t cut = GENERATE_COPY(std::size_t{0}, std::size_t{3}, size / 2, size - 1);
    truncate(left, third, cut);
  }
  SECTION("one has more bytes than it had") {
    left.write(third, mdstream::as_bytes(text_of(left, third) + "x"));
  }
  SECTION("one is zeros, as after a loss of power") {
    left.write(third, mdstream::as_bytes(std::string(size, '\0')));
  }
  const std::uint64_t kept = go_on<mds_writer>(mds(left, compression, workers));
  CHECK(kept == before_third);
  CHECK((objects_of(left) == objects_of(whole)));
}

TEST_CASE("meta files that are missing or cut short are no complete shard",
          "[row_writer][resume]") {
  using namespace resume_test;
  const memory whole;
  write_all<row_writer>(rows(whole, shard_format::csv, "", 2));
  const memory left = copy_of(whole);
  left.remove("index.json");
  const auto index = mdstream::dataset_index::parse(text_of(whole, "index.json"));
  const std::string key = GENERATE("shard.00001.csv.meta", "shard.00001.csv");
  const int cut = GENERATE(-1, 0, 9);
  INFO(key << " cut to " << cut);
  if (cut < 0)
    left.remove(key);
  else
    truncate(left, key, static_cast<std::size_t>(cut));
  CHECK(go_on<row_writer>(rows(left, shard_format::csv, "", 2)) == index.shard_samples(0));
  CHECK((objects_of(left) == objects_of(whole)));
}

TEST_CASE("meta files that end within their options are no complete shard",
          "[row_writer][resume]") {
  using namespace resume_test;
  const memory whole;
  write_all<row_writer>(rows(whole, shard_format::csv, "", 2));
  const auto index = mdstream::dataset_index::parse(text_of(whole, "index.json"));
  const std::string key = "shard.00001.csv.meta", meta = text_of(whole, key);
  const auto again = [&](const std::string& damaged) {
    const memory left = copy_of(whole);
    left.remove("index.json");
    left.write(key, mdstream::as_bytes(damaged));
    CHECK(go_on<row_writer>(rows(left, shard_format::csv, "", 0)) == index.shard_samples(0));
    CHECK((objects_of(left) == objects_of(whole)));
  };
  for (std::size_t size = 0; size < meta.size(); size += between_kills) {
    INFO("cut to " << size << " of " << meta.size() << " bytes");
    again(meta.substr(0, size));
  }
  const std::size_t options = meta.find('{');
  again(meta.substr(0, options) + std::string(meta.size() - options, '\0'));
  again(meta.substr(0, options) + "[" + meta.substr(options) + "]");
  again(meta + " ");
}

TEST_CASE("an MDS shard whose options cannot be read is written again", "[writer][resume]") {
  using namespace resume_test;
  const memory whole;
  write_all<mds_writer>(mds(whole));
  const auto index = mdstream::dataset_index::parse(text_of(whole, "index.json"));
  const std::string key = "shard.00001.mds";
  std::string shard = text_of(whole, key);
  const std::size_t begin = shard.find('{'), end = shard.find('}', begin);
  SECTION("one byte") { shard[begin + 1] = '\0'; }
  SECTION("all") { std::fill_n(shard.begin() + std::ptrdiff_t(begin), end + 1 - begin, '\0'); }
  const memory left = copy_of(whole);
  left.remove("index.json");
  left.write(key, mdstream::as_bytes(shard));
  CHECK(go_on<mds_writer>(mds(left)) == index.shard_samples(0));
  CHECK((objects_of(left) == objects_of(whole)));
}

TEST_CASE("what a shard says about its options is quoted in part only", "[writer][resume]") {
  using namespace resume_test;
  const memory store;
  write_some<mds_writer>(mds(store), 30);
  const std::string shard = text_of(store, "shard.00000.mds");
  const std::size_t begin = shard.find('{'), end = shard.find('}', begin) + 1;
  const std::string mark = "\"size_limit\": 320";
  std::string config = shard.substr(begin, end - begin);
  const std::string value =
      GENERATE(std::string(100'000, 'x'), std::string("\x7f\x01\xc3\xa4\0", 5));
  std::string quoted;
  mdstream::json::append_string(quoted, value);
  config.replace(config.find(mark), mark.size(), "\"size_limit\": " + quoted);
  mdstream::detail::mds_shard_builder builder(config);
  const auto bytes = mdstream::as_bytes(shard);
  const mdstream::mds_shard_view old(bytes, mdstream::load<std::uint32_t>(bytes.data()));
  for (std::uint64_t i = 0; i < old.size(); ++i)
    std::memcpy(builder.add(old[i].size()), old[i].data(), old[i].size());
  store.write("shard.00000.mds", builder.finish());
  auto again = mds(store);
  again.existing = existing_dataset::resume;
  const auto e = support::error_of([&] { mds_writer out(again); });
  REQUIRE(e.has_value());
  CHECK(e->code() == errc::schema_mismatch);
  const std::string text = e->what();
  CHECK(text.find("{\"size_limit\": 320}") != std::string::npos);
  CHECK(text.find("column_names") == std::string::npos);
  CHECK(text.size() < 1500);
  CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; }));
}

TEST_CASE("a writer does not go on with other options, and removes nothing", "[writer][resume]") {
  using namespace resume_test;
  const memory store;
  const std::string compression = GENERATE("", "zstd");
  write_some<mds_writer>(mds(store, compression), 30);
  const auto before = objects_of(store);
  REQUIRE(before.size() > 2);
  const auto refused = [&](mdstream::writer_options options, const std::string& says) {
    options.existing = existing_dataset::resume;
    support::expect_error([&] { mds_writer out(std::move(options)); }, errc::schema_mismatch,
                          {"other options", says});
    CHECK((objects_of(store) == before));
  };
  auto other = mds(store, compression);
  other.size_limit = 300;
  refused(other, "300");
  other = mds(store, compression);
  other.columns = {{"s", "str"}, {"n", "uint8"}};
  refused(other, "uint8");
  other = mds(store, compression);
  other.hashes = {};
  refused(other, "\"hashes\"");
  refused(mds(store, compression.empty() ? "zstd" : ""), "shard.00000.mds");
}

TEST_CASE("a finished dataset has nothing left to write, and appending goes on, too",
          "[writer][resume]") {
  using namespace resume_test;
  const memory store;
  write_all<mds_writer>(mds(store));
  const auto whole = objects_of(store);
  CHECK(go_on<mds_writer>(mds(store)) == samples);
  CHECK((objects_of(store) == whole));

  // A writer that appends is killed; the next keeps what is in the index and what it left.
  const auto append = [&](existing_dataset mode, std::uint64_t count, bool finish) {
    auto options = mds(store);
    options.existing = mode;
    mds_writer out(std::move(options));
    const std::uint64_t kept = out.kept_samples();
    write(out, kept, samples + count);
    if (finish) out.finish();
    return kept;
  };
  CHECK(append(existing_dataset::append, 30, false) == samples);
  const std::uint64_t kept = append(existing_dataset::resume, 30, true);
  CHECK(kept > samples);
  const auto index = mdstream::dataset_index::parse(text_of(store, "index.json"));
  CHECK(index.samples() == samples + 30);
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const std::string bytes = text_of(store, index.raw(i).name);
    const mdstream::mds_shard_view shard(mdstream::as_bytes(bytes), index.shard_samples(i));
    for (std::size_t k = 0; k < shard.size(); ++k, ++next)
      CHECK(mdstream::read_column(index.layout(i), shard[k], "n").as<std::int64_t>() ==
            static_cast<std::int64_t>(next));
  }
}

TEST_CASE("a finished dataset is not resumed with other options", "[writer][resume]") {
  using namespace resume_test;
  const memory store;
  write_all<mds_writer>(mds(store));
  const auto resume = [](mdstream::writer_options options) {
    options.existing = existing_dataset::resume;
    mds_writer out(std::move(options));
    return out.kept_samples();
  };
  const auto refused = [&](mdstream::writer_options options, const std::string& says) {
    const auto before = objects_of(store);
    support::expect_error([&] { resume(std::move(options)); }, errc::schema_mismatch,
                          {"resume with other options", says});
    CHECK((objects_of(store) == before));
  };
  auto smaller = mds(store);
  smaller.size_limit = 200;
  auto unhashed = mds(store);
  unhashed.hashes = {};
  auto others = mds(store);
  others.columns = {{"s", "str"}, {"n", "uint8"}};
  refused(smaller, "{\"size_limit\": 200}");
  refused(unhashed, "{\"hashes\": []}");
  refused(mds(store, "zstd"), "{\"compression\": \"zstd\"}");
  refused(others, "uint8");
  CHECK(resume(mds(store)) == samples);

  // Appending may take other options. Who resumes goes on with those of the last shard.
  auto appending = smaller;
  appending.existing = existing_dataset::append;
  {
    mds_writer out(appending);
    write(out, 0, 20);
  }
  CHECK(resume(smaller) > samples);
  {
    auto again = smaller;
    again.existing = existing_dataset::resume;
    mds_writer out(again);
    out.finish();
  }
  CHECK(resume(smaller) > samples);
  refused(mds(store), "{\"size_limit\": 320}");
  refused(unhashed, "size_limit");
}

TEST_CASE("a writer that ends shards itself goes on where one was destroyed", "[writer][resume]") {
  using namespace resume_test;
  // Sample 12 is larger than a shard may be, and follows an ended one.
  const auto write = [](mds_writer& out, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) {
      out.write({{"n", i}, {"s", text(i)}});
      if (i % 4 == 3) out.end_shard();
    }
  };
  const memory whole;
  {
    mds_writer out(mds(whole));
    write(out, 0, samples);
    out.finish();
  }
  const auto index = mdstream::dataset_index::parse(text_of(whole, "index.json"));
  for (std::size_t i = 0; i < index.shards(); ++i) CHECK(index.shard_samples(i) > 0);
  for (std::uint64_t count = 0; count <= samples; count += between_kills) {
    const memory store;
    {
      mds_writer out(mds(store));
      write(out, 0, count);
    }
    auto again = mds(store);
    again.existing = existing_dataset::resume;
    mds_writer out(again);
    INFO(count << " samples were written, " << out.kept_samples() << " kept");
    write(out, out.kept_samples(), samples);
    out.finish();
    CHECK((objects_of(store) == objects_of(whole)));
  }
}
