#include <mdstream/format/detail/mds_shard_builder.hpp>

#include <mdstream/format/mds_shard.hpp>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

TEST_CASE("shards are the same whatever room was kept for their header", "[mds_shard_builder]") {
  const unsigned seed = support::test_seed(GENERATE(range(0U, 5U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string config(random() % 300, 'c');
  // one builder that is used again and again, hinted at sizes far off
  mdstream::detail::mds_shard_builder builder(config,
                                              random() % 2 == 0 ? 0 : 1U << (random() % 20));
  for (int round = 0; round < 4; ++round) {
    std::vector<std::string> samples(random() % 200);
    for (std::string& sample : samples) {
      sample.assign(1 + random() % 100, 'a');
      for (char& c : sample) c = static_cast<char>(random());
      std::memcpy(builder.add(sample.size()), sample.data(), sample.size());
    }
    const std::uint64_t size = builder.file_size();
    const mdstream::bytes_view bytes = builder.finish();
    REQUIRE(bytes.size() == size);
    const mdstream::mds_shard_view shard(bytes, samples.size());
    CHECK(mdstream::as_text(bytes).substr(8 + 4 * samples.size(), config.size()) == config);
    for (std::size_t i = 0; i < samples.size(); ++i)
      REQUIRE(mdstream::as_text(shard[i]) == samples[i]);
    builder.clear();
  }
}

TEST_CASE("what a shard can not hold is refused and leaves it as it was", "[mds_shard_builder]") {
  mdstream::detail::mds_shard_builder builder("{}");
  *builder.add(1) = std::byte{7};
  using mdstream::errc;
  support::expect_error([&] { (void)builder.add(0); }, errc::invalid_argument);
  support::expect_error([&] { (void)builder.add(0xFFFFFFFF - 18); }, errc::invalid_argument,
                        {"4 GiB", "size_limit"});
  support::expect_error([&] { (void)builder.add(0xFFFFFFFFFFFFFFFF); }, errc::invalid_argument);
  CHECK(builder.samples() == 1);
  CHECK(builder.finish().size() == 4 + 8 + 2 + 1);
}
