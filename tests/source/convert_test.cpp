// A stream of foreign files is the stream of the dataset that they convert to: the same samples in
// the same order, in every world, and in another world from a state on, with an empty cache.

#include <atomic>

#include "source/both_ways.hpp"

using namespace source_test;

namespace convert_test {

using policies = plain_policies;

TEST_CASE("foreign files have the order and the samples of the dataset that they convert to") {
  std::mt19937 random(support::test_seed());
  for (raw_test::random_source& each : raw_test::random_sources(random)) {
    CAPTURE(each.about.format, each.about.unit);
    each.about.shard_bytes = 16 + random() % 1000;
    if (each.rows < 30) continue;  // nothing to go on with
    const indexed_source at;
    const scratch dir;
    at.put(each.objects);
    convert<policies>(at.async, each.about, dir / "mds", 1 + static_cast<unsigned>(random() % 4));
    check_both_ways<policies>({.remote = at.files.path(), .raw = each.about},
                              {.remote = dir / "mds"}, dir, random);
  }
}

TEST_CASE("compressed objects convert to what they hold, whatever the jobs") {
  const indexed_source at;
  const scratch dir;
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += "{\"n\": " + std::to_string(i) + "}\n";
  at.put({{"a.jsonl.gz", packed(lines, ".gz")},
          {"b.jsonl", lines},
          {"c.jsonl.zst", packed(lines, ".zst")}});
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 2000;
  std::vector<std::string> indexes;
  for (const unsigned jobs : {1U, 5U}) {
    const std::string to = dir / std::to_string(jobs);
    convert<policies>(at.async, about, to, jobs);
    indexes.push_back(
        std::string(mds::as_text(mds::read_all(mds::store::local(to), "index.json"))));
  }
  CHECK(indexes[0] == indexes[1]);
  const mds::dataset<policies> data({.local = dir / "1", .threads = 1});
  REQUIRE(data.size() == 9000);
  for (std::uint64_t i = 0; i < 9000; i += 11)
    CHECK(data[i].get<std::int64_t>("n") == static_cast<std::int64_t>(i % 3000));
  std::atomic<int> taken = 0;
  support::expect_error(
      [&] {
        mds::detail::for_each_shard(at.async, decoders, raw_test::format_of(about),
                                    at.build(about).index,
                                    [&](const raw::detail::transcoded&) {
                                      if (++taken == 3)
                                        throw mds::error(mds::errc::no_space, "the disk is full");
                                    },
                                    {.jobs = 4});
      },
      mds::errc::no_space, {"the disk is full"});
  CHECK(taken == 3);
}

}  // namespace convert_test
