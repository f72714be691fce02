// Indexes of directories: the same as of objects in memory, whatever the format and compression.

#include <filesystem>

#include "source/sources.hpp"
#include "support/golden_file.hpp"

using namespace source_test;

TEST_CASE("the index of a directory is that of its bytes, and rows are read by it") {
  std::mt19937 random(support::test_seed());
  for (raw_test::random_source& each : raw_test::random_sources(random)) {
    CAPTURE(each.about.format, each.about.unit);
    each.about.shard_bytes = 16 + random() % 2000;
    const indexed_source at;
    at.put(each.objects);
    const raw::source_format format = raw_test::format_of(each.about);
    const raw::detail::row_index expected = raw_test::index_of(format, each.objects);
    raw::index_progress progress;
    const raw::made_index made = at.build(each.about, {.jobs = 3, .progress = &progress});
    CHECK(cuts_of(made.index) == cuts_of(expected));
    CHECK(made.index.options.columns == expected.options.columns);
    CHECK(progress.bytes == progress.bytes_expected);
    const auto written = raw::read_row_index(at.index);
    REQUIRE(written.has_value());
    CHECK(*written == made.index);
    const auto rows = raw_test::rows_of(format, expected, each.objects);
    CHECK(at.rows(made.index) == rows);
    if (each.rows > 0 && each.about.format != "images" && each.about.format != "files") {
      raw::options about = each.about;
      about.columns = made.index.options.columns;
      CHECK(at.first_rows(about) == rows);
    }
    CHECK(at.index.list("scans/").empty());
  }
}

TEST_CASE("objects are decompressed on the way") {
  std::mt19937 random(support::test_seed());
  std::string lines;
  for (int i = 0; i < 40000; ++i)
    lines += "{\"n\": " + std::to_string(i) + ", \"text\": \"" +
             std::string(random() % 60, static_cast<char>('a' + i % 26)) + "\"}\n";
  for (const std::string how : {".gz", ".zst"}) {
    const std::string key = "a.jsonl" + how;
    raw::options about{.format = "jsonl"};
    about.shard_bytes = 100'000;
    const indexed_source at;
    const std::size_t half = lines.find('\n', lines.size() / 2) + 1;
    // two members or frames: what tools that work in parallel write
    at.put(key, packed(lines.substr(0, half), how) + packed(lines.substr(half), how));
    const raw::made_index made = at.build(about);
    CHECK(made.index.samples() == 40000);
    const source plain{{key, lines}};
    const auto format = raw_test::format_of(about);
    const auto expected = raw_test::index_of(format, plain);
    CHECK(cuts_of(made.index) == cuts_of(expected));
    mds::detail::raw_rows reader(format, made.index, at.async, decoders);
    for (const std::uint64_t i : {0U, 39999U, 20000U, 20001U, 5U}) {
      const auto row = reader.at(i);
      CHECK(number_in(reader, row.bytes) == static_cast<std::int64_t>(i));
    }
    CHECK(at.first_rows(about, 3).size() == 3);

    at.put(key, packed(lines, how).substr(0, 1000));
    support::expect_error([&] { (void)at.build(about); }, mds::errc::corrupt, {key, "cut short"});
    std::string damaged = packed(lines, how);
    for (std::size_t i = 200; i < 260; ++i) damaged[i] = '\x55';
    at.put(key, damaged);
    support::expect_error([&] { (void)at.build(about); }, mds::errc::corrupt, {key});
    support::expect_error([&] { (void)at.rows(made.index); }, mds::errc::corrupt,
                          {key, "has changed since it was indexed"});
  }
  const indexed_source at;
  at.put("a.jsonl.gz", "");
  support::expect_error([&] { (void)at.build({.format = "jsonl"}); }, mds::errc::corrupt,
                        {"cut short"});
  support::expect_error([&] { (void)mds::detail::open_decoder({}, "a.gz"); },
                        mds::errc::unsupported, {"mdstream::codec::gz"});
}

TEST_CASE("what pigz and pzstd have compressed in parallel is read") {
  for (const char* key : {"pigz.jsonl.gz", "pzstd.jsonl.zst"}) {
    CAPTURE(key);
    const indexed_source at;
    std::filesystem::copy(support::golden_file("raw/" + std::string(key)),
                          at.files.path() / std::filesystem::path(key));
    raw::options about{.format = "jsonl", .columns = {{"n", "int"}}};
    about.shard_bytes = 500'000;
    const raw::made_index made = at.build(about);
    CHECK(made.index.shards() == 5);
    REQUIRE(made.index.samples() == 28000);
    mds::detail::raw_rows reader(raw_test::format_of(about), made.index, at.async, decoders);
    for (std::uint64_t i = 0; i < 28000; i += 501)
      CHECK(number_in(reader, reader.at(i).bytes) == static_cast<std::int64_t>(i % 4));
  }
}

TEST_CASE("files are chosen by a pattern and the format is guessed by their names") {
  const indexed_source at;
  at.put({{"en/a.jsonl", "{\"x\": 1}\n"},
          {"en/b.jsonl", "{\"x\": 2}\n"},
          {"fr/a.jsonl", "{\"x\": 3}\n"},
          {"_log/c.jsonl", "no data"},
          {"README.md", "hello"}});
  const auto listed = [&](const std::string& pattern) {
    std::vector<std::string> out;
    for (const auto& each : raw::list_source(at.async, pattern)) out.push_back(each.key);
    return out;
  };
  CHECK(listed("en/*.jsonl") == std::vector<std::string>{"en/a.jsonl", "en/b.jsonl"});
  CHECK(listed("{en,fr}/a.jsonl") == std::vector<std::string>{"en/a.jsonl", "fr/a.jsonl"});
  raw::options about;
  support::expect_error([&] { raw::detail::guess_format(about, raw::list_source(at.async, "")); },
                        mds::errc::invalid_argument, {"README.md"});
  about.files = "**.jsonl";
  raw::detail::guess_format(about, raw::list_source(at.async, about.files));
  CHECK(about.format == "jsonl");
  CHECK(at.build(about).index.samples() == 3);
  about.files = "nothing/*";
  support::expect_error(
      [&] { raw::detail::guess_format(about, raw::list_source(at.async, about.files)); },
      mds::errc::not_found, {"nothing/*"});
}

TEST_CASE("an update scans what was added or changed") {
  const indexed_source at;
  raw::options about{.format = "jsonl"};
  at.put({{"a.jsonl", "{\"x\": 1}\n"}, {"b.jsonl", "{\"x\": 2}\n"}, {"c.jsonl", "{\"x\": 3}\n"}});
  const raw::detail::row_index before = at.build(about).index;
  at.put({{"b.jsonl", "{\"x\": 20}\n{\"x\": 21}\n"}, {"d.jsonl", "{\"x\": 4}\n"}});
  at.store.remove("c.jsonl");
  raw::index_progress progress;
  const raw::made_index made = at.build(before.options, {.known = &before, .progress = &progress});
  CHECK(made.update.to_scan.size() == 2);
  CHECK(made.update.changed.size() == 1);
  CHECK(made.update.gone == std::vector<std::string>{"c.jsonl"});
  CHECK(progress.bytes_expected == 29);  // of b and d alone
  CHECK(made.index == at.build(before.options).index);
  CHECK(made.index.samples() == 4);
}

TEST_CASE("entry points of compressed objects are found beside the index, and kept by an update") {
  std::mt19937 random(support::test_seed());
  const auto lines = [&](std::size_t bytes) {
    std::string out;
    while (out.size() < bytes)
      out += "{\"n\": " + std::to_string(random()) + ", \"m\": " + std::to_string(random()) + "}\n";
    return out;
  };
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 300'000;
  const indexed_source at;
  const std::string frames = packed(lines(250'000), ".zst") + packed(lines(340'000), ".zst") +
                             packed(lines(110'000), ".zst");
  at.put({{"a.jsonl.gz", packed(lines(1'000'000), ".gz")},
          {"b.jsonl.gz", packed(lines(1'000'000), ".gz")},
          {"c.jsonl.zst", frames},
          {"d.jsonl.zst", packed(lines(700'000), ".zst")},
          {"e.jsonl", lines(700'000)},
          {"f.jsonl.gz", packed(lines(1000), ".gz")}});
  const raw::detail::row_index before = at.build(about).index;
  const auto& objects = before.objects;
  for (const std::size_t i : {0U, 1U}) {
    REQUIRE(objects[i].entries.has_value());
    const raw::detail::object_entries& entries = *objects[i].entries;
    REQUIRE(entries.points.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(entries.points[k].plain <= 300'000 * (k + 1));
      CHECK(entries.points[k].plain > 300'000 * k);
    }
    CHECK(at.index.size("entries/" + entries.states) == entries.state_bytes());
  }
  REQUIRE(objects[2].entries.has_value());
  REQUIRE(objects[2].entries->points.size() == 2);
  CHECK(objects[2].entries->states.empty());
  CHECK(objects[2].entries->points[1].plain - objects[2].entries->points[0].plain >= 340'000);
  CHECK(objects[3].entries == raw::detail::object_entries{});  // a frame has none
  CHECK_FALSE(objects[4].entries.has_value());
  CHECK(objects[5].entries == raw::detail::object_entries{});
  CHECK(at.index.list("entries/").size() == 2);

  at.put("b.jsonl.gz", packed(lines(900'000), ".gz"));
  const raw::made_index made = at.build(before.options, {.known = &before});
  CHECK(made.update.to_scan.size() == 1);
  for (const std::size_t i : {0U, 2U, 3U, 4U, 5U})
    CHECK(made.index.objects[i].entries == objects[i].entries);
  CHECK(made.index.objects[1].entries != objects[1].entries);
  CHECK(made.index == at.build(before.options).index);
  std::vector<std::string> states;
  for (const auto& each : at.index.list("entries/")) states.push_back(each.key);
  std::vector<std::string> named{"entries/" + made.index.objects[0].entries->states,
                                 "entries/" + made.index.objects[1].entries->states};
  std::sort(named.begin(), named.end());
  CHECK(states == named);

  const raw::detail::row_index without = at.build(about, {.entries = false}).index;
  for (const auto& each : without.objects) CHECK_FALSE(each.entries.has_value());
  CHECK(without.fingerprint() == made.index.fingerprint());
}

TEST_CASE("entry points are far apart where shards are small, and where an object is large") {
  using mds::detail::spacing_of;
  CHECK(spacing_of(std::uint64_t{64} << 20, std::uint64_t{1} << 33).plain == 64 << 20);
  CHECK(spacing_of(std::uint64_t{64} << 20, std::uint64_t{1} << 33).packed == 4 << 20);
  for (const std::uint64_t shard : {1U, 1000U, 262'143U, 262'144U, 262'145U}) {
    const std::uint64_t plain = spacing_of(shard, 1).plain;
    CHECK(plain % shard == 0);
    CHECK(plain >= 262'144);
    CHECK(plain < 262'144 + shard);
  }
}

TEST_CASE("a build that was stopped goes on with the entry points that it had") {
  const indexed_source at;
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 300'000;
  std::string lines;
  for (int i = 0; i < 50'000; ++i) lines += "{\"n\": " + std::to_string(i) + "}\n";
  at.put({{"a.jsonl.gz", packed(lines, ".gz")}, {"z.jsonl", "broken"}});
  support::expect_error([&] { (void)at.build(about, {.jobs = 1}); }, mds::errc::corrupt,
                        {"z.jsonl"});
  at.put("z.jsonl", "{\"n\": 1}\n");
  const raw::made_index made = at.build(about);
  CHECK(made.resumed == 1);
  const indexed_source other;
  other.put({{"a.jsonl.gz", packed(lines, ".gz")}, {"z.jsonl", "{\"n\": 1}\n"}});
  const raw::made_index whole = other.build(about);
  REQUIRE(whole.index.objects[0].entries.has_value());
  CHECK(whole.index.objects[0].entries->points.size() == 2);
  CHECK(made.index.objects[0].entries == whole.index.objects[0].entries);
}

TEST_CASE("bad rows are left out of the index and of reads") {
  const indexed_source at;
  raw::options about{.format = "jsonl", .skip_bad = true};
  about.shard_bytes = 16;
  source objects{{"a.jsonl", "{\"x\": 1}\nnot json\n{\"x\": 2}\n{\"y\": 0}\n{\"x\": 3}\n"},
                 {"b.jsonl", "nothing but this, which is bad\n"}};
  at.put(objects);
  about.columns = {{"x", "int", ""}};
  const raw::made_index made = at.build(about);
  CHECK(made.skipped == 3);
  CHECK(made.index.samples() == 3);
  const auto rows = at.rows(made.index);
  CHECK(raw_test::texts_of(made.index, rows, "x").size() == 3);
  about.skip_bad = false;
  const raw::detail::row_index strict = at.build(about).index;  // rows are not read to be cut
  support::expect_error([&] { (void)at.rows(strict); }, mds::errc::corrupt, {"b.jsonl"});
  // the columns come from rows that can be read
  about.columns.clear();
  about.skip_bad = true;
  at.put("a.jsonl", "not json\n{\"x\": 1}\n[}\n{\"x\": 2}\n");
  const raw::made_index inferred = at.build(about);
  CHECK(inferred.index.options.columns == std::vector<raw::column>{{"x", "int", ""}});
  CHECK(inferred.index.samples() == 2);
  CHECK(inferred.skipped == 3);
}

TEST_CASE("a stop ends a build, and what was scanned by then is kept") {
  const indexed_source at;
  for (int i = 0; i < 50; ++i) at.put(std::to_string(100 + i) + ".jsonl", "{\"x\": 1}\n");
  at.put("999.jsonl", "broken");
  support::expect_error([&] { (void)at.build({.format = "jsonl"}, {.jobs = 1}); },
                        mds::errc::corrupt, {"999.jsonl"});
  CHECK_FALSE(raw::read_row_index(at.index).has_value());
  at.put("999.jsonl", "{\"x\": 2}\n");
  const raw::made_index made = at.build({.format = "jsonl"});
  CHECK(made.resumed == 50);
  CHECK(made.index.samples() == 51);
  std::stop_source stop;
  stop.request_stop();
  support::expect_error([&] { (void)at.build({.format = "jsonl"}, {.stop = stop.get_token()}); },
                        mds::errc::canceled);
}

TEST_CASE("kept scans that are damaged or of other options are as if they were not there") {
  const indexed_source at;
  raw::options about{.format = "jsonl"};
  at.put("a.jsonl", "{\"x\": 1}\n{\"x\": 2}\n");
  const auto expected = at.build(about).index;
  raw::options other = about;
  other.shard_bytes = 16;
  std::string text = raw::detail::scan_records_head(expected.options);
  for (const std::string& kept :
       {std::string("nonsense"), raw::detail::scan_records_head(about) + "{",
        raw::detail::scan_records_head(other),
        raw::detail::scan_records_head(about) + "{\"object\": [\"../a\", 1, \"\"]}\n"}) {
    at.index.write("scans/1.jsonl", mds::as_bytes(kept));
    const raw::made_index made = at.build(about);
    CHECK(made.resumed == 0);
    CHECK(made.index == expected);
  }
  std::string index = expected.dump();
  index.replace(index.find("[0, "), 4, "[9, ");
  at.index.write(raw::row_index_name, mds::as_bytes(index));
  const auto hostile = raw::read_row_index(at.index);
  REQUIRE(hostile.has_value());
  support::expect_error([&] { (void)at.rows(*hostile); }, mds::errc::corrupt, {"a.jsonl"});
}
