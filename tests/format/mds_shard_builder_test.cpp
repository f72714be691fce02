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

TEST_CASE("a shard that is given away while it is made is the same", "[mds_shard_builder]") {
  const unsigned seed = support::test_seed(GENERATE(range(0U, 5U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::string config(random() % 300, 'c');
  std::vector<std::string> samples(seed % 5 == 0 ? 0 : random() % 500);
  for (std::string& sample : samples) sample.assign(1 + random() % 10'000, 'a');
  if (!samples.empty()) samples[samples.size() / 2].assign(700'000, 'b');

  mdstream::detail::mds_shard_builder kept(config), given(config);
  std::string file;
  std::size_t pieces = 0;
  bool is_whole = false;
  given.stream_to(samples.size(), [&](std::uint64_t offset, mdstream::bytes_view bytes) {
    REQUIRE_FALSE(is_whole);
    is_whole = offset == 0;
    if (file.empty()) file.assign(is_whole ? bytes.size() : offset, '?');
    if (is_whole) file.replace(0, bytes.size(), mdstream::as_text(bytes));
    if (is_whole) return;
    REQUIRE(offset == file.size());
    file += mdstream::as_text(bytes);
    ++pieces;
  });
  for (const std::string& sample : samples) {
    if (random() % 4 != 0) given.give_pieces();
    kept.give_pieces();
    for (auto* to : {&kept, &given})
      std::memcpy(to->add(sample.size()), sample.data(), sample.size());
  }
  CHECK(given.file_size() == kept.file_size());
  (void)given.finish();
  CHECK(is_whole);
  CHECK(file == mdstream::as_text(kept.finish()));
  if (file.size() > 1'500'000) CHECK(pieces > 2);
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
