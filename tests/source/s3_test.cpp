// Sources in a bucket.

#include <atomic>

#include <mdstream/mdstream.hpp>
#include <mdstream/source/formats.hpp>

#include "s3/with_fake.hpp"
#include "source/sources.hpp"

using namespace source_test;

namespace {

struct bucket {
  fake_s3::server fake;
  mds::runtime threads{2};
  mds::opened_store store{
      mds::store::s3(threads, fake.s3_url("data"), with_fake::options_for(fake))};
  mds::opened_store index{
      mds::store::s3(threads, fake.s3_url("data/.mdstream"), with_fake::options_for(fake))};
  mds::any_async_store async = store.on(threads);

  [[nodiscard]] raw::made_index build(const raw::options& about) const {
    return raw::build_index(async, decoders, raw_test::format_of(about),
                            raw::list_source(async, about.files), index, {.jobs = 4});
  }
};

using bucket_policies =
    mds::policies<mds::raw::plain_formats, mds::any_codec<mds::codec::none, mds::codec::gz>>;

}  // namespace

TEST_CASE("a bucket is indexed beside its data, and rows are read by ranges") {
  bucket at;
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += "{\"n\": " + std::to_string(i) + "}\n";
  at.fake.put("data/en/a.jsonl", lines);
  at.fake.put("data/en/b.jsonl.gz", packed(lines, ".gz"));
  raw::options about{.format = "jsonl", .files = "en/*"};
  about.shard_bytes = 4096;
  const raw::made_index made = at.build(about);
  for (const auto& each : at.fake.requests()) CHECK(each.method != "HEAD");  // the listing told
  CHECK(made.index.samples() == 10000);
  REQUIRE(at.fake.objects().count("data/.mdstream/rows.jsonl") == 1);
  CHECK(at.fake.objects().size() == 3);  // nothing is left of the scans
  CHECK(*raw::read_row_index(at.index) == made.index);
  mds::detail::raw_rows rows(raw_test::format_of(about), made.index, at.async, decoders);
  const std::size_t before = at.fake.requests().size();
  for (const std::uint64_t i : {4000U, 4001U}) {
    const auto row = rows.at(i);
    CHECK(number_in(rows, row.bytes) == static_cast<std::int64_t>(i));
  }
  CHECK(at.fake.requests().size() == before + 1);
  const auto packed_row = rows.at(9999);
  CHECK(number_in(rows, packed_row.bytes) == 4999);

  at.fake.put("data/en/a.jsonl", lines + "{\"n\": 0}\n");
  support::expect_error([&] { (void)rows.at(0); }, mds::errc::corrupt,
                        {"data/en/a.jsonl", "has changed since it was indexed"});
}

TEST_CASE(
    "a compressed object of a bucket is read from an entry point that lies beside its index") {
  bucket at;
  const scratch cache;
  std::mt19937 random(support::test_seed());
  std::string lines;
  std::vector<std::int64_t> numbers;
  while (lines.size() < 6'000'000) {
    numbers.push_back(random());
    lines += "{\"n\": " + std::to_string(numbers.back()) + "}\n";
  }
  const std::string file = packed(lines, ".gz");
  at.fake.put("data/a.jsonl.gz", file);
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 1'000'000;
  const raw::made_index made = at.build(about);
  const raw::detail::object_entries& entries = *made.index.objects[0].entries;
  REQUIRE(entries.points.size() == 5 + (lines.size() > 6'000'000 ? 1 : 0));
  const mds::dataset<bucket_policies> data(
      {.streams = {{.store = at.store, .raw = about}}, .local = cache.path(), .threads = 2});
  const std::size_t before = at.fake.requests().size();
  const raw::detail::object_entry& entry = entries.points[3];
  const std::uint64_t row =
      made.index.objects[0].cuts[0].samples + made.index.objects[0].cuts[1].samples +
      made.index.objects[0].cuts[2].samples + made.index.objects[0].cuts[3].samples;
  CHECK(data[row].get<std::int64_t>("n") == numbers[row]);
  const auto requests = at.fake.requests();
  REQUIRE(requests.size() > before + 1);
  CHECK(requests[before].target.find("data/.mdstream/entries/" + entries.states) !=
        std::string::npos);
  CHECK(data.counters().bytes_fetched <
        entries.points[4].packed - entry.packed + entry.state.bytes + (1 << 20));
  REQUIRE(data.size() == numbers.size());
  for (std::uint64_t i = 0; i < data.size(); i += 1001)
    CHECK(data[i].get<std::int64_t>("n") == numbers[i]);

  // states that are others than the index says
  at.fake.put("data/.mdstream/entries/" + entries.states, "other");
  const scratch empty;
  const mds::dataset<bucket_policies> other(
      {.streams = {{.store = at.store, .raw = about}}, .local = empty.path(), .threads = 2});
  CHECK(other[0].get<std::int64_t>("n") == numbers[0]);
  support::expect_error([&] { (void)other[row]; }, mds::errc::corrupt,
                        {"data/.mdstream/entries/", "has changed"});
}

TEST_CASE("an object that changes while it is indexed is named") {
  bucket at;
  std::string lines;
  for (int i = 0; i < 500'000; ++i) lines += "{\"n\": " + std::to_string(i) + "}\n";
  at.fake.put("data/a.jsonl", lines);
  at.fake.put("data/b.jsonl", "{\"n\": 1}\n");
  std::atomic<int> reads = 0;
  at.fake.afterwards = [&](const fake_s3::question& asked, fake_s3::answer&) {
    if (asked.key == "data/a.jsonl" && asked.raw.method == "GET" && ++reads == 2)
      at.fake.changed("data/a.jsonl", std::string(lines.size(), 'x'));
  };
  support::expect_error([&] { (void)at.build({.format = "jsonl"}); }, mds::errc::corrupt,
                        {"data/a.jsonl"});
  CHECK(at.fake.objects().count("data/.mdstream/rows.jsonl") == 0);
}

TEST_CASE("a bucket's files are streamed by ranges of one version") {
  bucket at;
  const scratch cache;
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += "{\"n\": " + std::to_string(i) + "}\n";
  at.fake.put("data/train/a.jsonl", lines);
  at.fake.put("data/train/b.jsonl.gz", packed(lines, ".gz"));
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 4096;
  const mds::dataset<bucket_policies> data(
      {.streams = {{.split = "train", .store = at.store, .raw = about}},
       .local = cache.path(),
       .threads = 2});
  REQUIRE(data.size() == 10000);
  const std::size_t before = at.fake.requests().size();
  std::uint64_t bytes = data.counters().bytes_fetched;
  CHECK(data[3000].get<std::int64_t>("n") == 3000);
  CHECK(data[3001].get<std::int64_t>("n") == 3001);
  CHECK(at.fake.requests().size() == before + 1);
  CHECK(data.counters().bytes_fetched - bytes <= 4096 + 20);
  CHECK(data[9999].get<std::int64_t>("n") == 4999);

  // changed in mid-epoch: what was read stays, what was not is refused by name, with both tags
  at.fake.put("data/train/a.jsonl", lines.substr(0, lines.size() - 3) + "8}\n");
  CHECK(data[3000].get<std::int64_t>("n") == 3000);
  support::expect_error([&] { (void)data[0]; }, mds::errc::corrupt,
                        {"data/train/a.jsonl", "has changed since it was indexed", "the tag"});
}
