#include <mdstream/format/mds_shard.hpp>

#include <mdstream/format/detail/mds_shard_builder.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace mds_shard_test {

std::vector<std::byte> shard_of(const std::vector<std::string>& samples,
                                const std::string& config = "{}") {
  mdstream::detail::mds_shard_builder builder(config);
  for (const std::string& sample : samples)
    std::memcpy(builder.add(sample.size()), sample.data(), sample.size());
  const mdstream::bytes_view whole = builder.finish();
  return {whole.begin(), whole.end()};
}

void set_u32(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, 4);
}

}  // namespace mds_shard_test

TEST_CASE("a shard's samples are views of its bytes", "[mds_shard]") {
  const auto bytes = mds_shard_test::shard_of({"one", "three", "x"}, "{\"c\": 1}");
  const mdstream::mds_shard_view shard(bytes, 3);
  REQUIRE(shard.size() == 3);
  CHECK(mdstream::as_text(shard[0]) == "one");
  CHECK(mdstream::as_text(shard[1]) == "three");
  CHECK(mdstream::as_text(shard[2]) == "x");
  CHECK(shard.offset(0) == 4 + 4 * 4 + 8);
}

TEST_CASE("a shard with no samples is one", "[mds_shard]") {
  const auto bytes = mds_shard_test::shard_of({});
  const mdstream::mds_shard_view shard(bytes, 0);
  CHECK(shard.empty());
  support::expect_error([&] { (void)shard[0]; }, mdstream::errc::out_of_range, {"sample 0"});
}

TEST_CASE("shards that contradict themselves are refused at sample and byte", "[mds_shard]") {
  using mdstream::errc;
  using mdstream::mds_shard_view;
  const auto good = mds_shard_test::shard_of({"one", "three", "x"});

  SECTION("cut short") {
    for (std::size_t size = 0; size < 20; ++size)
      support::expect_error(
          [&] { (void)mds_shard_view(mdstream::bytes_view(good.data(), size), 3); }, errc::corrupt,
          {"too few", "byte " + std::to_string(size)});
  }
  SECTION("another number of samples than the index says") {
    support::expect_error([&] { (void)mds_shard_view(good, 2); }, errc::corrupt,
                          {"3", "2", "byte 0"});
    support::expect_error([&] { (void)mds_shard_view(good, 0xFFFFFFFF); }, errc::corrupt);
    support::expect_error([&] { (void)mds_shard_view(good, 0xFFFFFFFFFFFFFFFF); }, errc::corrupt);
  }
  SECTION("beyond the end") {
    const mds_shard_view shard(mdstream::bytes_view(good).first(good.size() - 1), 3);
    CHECK_NOTHROW(shard[1]);
    support::expect_error([&] { (void)shard[2]; }, errc::corrupt,
                          {"beyond", "sample 2", "byte 12"});
    support::expect_error([&] { (void)shard[3]; }, errc::out_of_range, {"3 samples", "sample 3"});
  }
  SECTION("backwards") {
    auto bad = good;
    mds_shard_test::set_u32(bad, 12, 24);
    const mds_shard_view shard(bad, 3);
    support::expect_error([&] { (void)shard[1]; }, errc::corrupt, {"sample 1", "byte 8"});
    mds_shard_test::set_u32(bad, 8, 21);
    support::expect_error([&] { (void)shard[0]; }, errc::corrupt,
                          {"forwards", "sample 0", "byte 4"});
  }
  SECTION("into the header") {
    auto bad = good;
    mds_shard_test::set_u32(bad, 4, 19);
    support::expect_error([&] { (void)mds_shard_view(bad, 3)[0]; }, errc::corrupt,
                          {"header", "sample 0", "byte 4"});
  }
}

TEST_CASE("samples of one size are found without their offsets, which are checked at once",
          "[mds_shard]") {
  using mdstream::errc;
  using mdstream::mds_shard_view;
  const auto good = mds_shard_test::shard_of({"four", "five", "nine"});
  const mds_shard_view shard(good, 3, 4);
  shard.check_offsets();
  CHECK(mdstream::as_text(shard[0]) == "four");
  CHECK(mdstream::as_text(shard[2]) == "nine");
  support::expect_error([&] { (void)shard[3]; }, errc::out_of_range, {"sample 3"});

  SECTION("where there is no header, there are none to check") {
    const mdstream::bytes_view samples = mdstream::as_bytes("fourfivenine");
    const auto in_place = mds_shard_view::in_place(samples, 3, 4, 4);
    CHECK_NOTHROW(in_place.check_offsets());
    CHECK(mdstream::as_text(in_place[1]) == "five");
  }
  SECTION("other sizes, also such that would overflow") {
    for (const std::uint64_t size :
         {std::uint64_t{3}, std::uint64_t{5}, ~std::uint64_t{0}, std::uint64_t{1} << 63})
      support::expect_error([&] { (void)mds_shard_view(good, 3, size); }, errc::corrupt,
                            {"byte 4"});
  }
  SECTION("an offset that is not where its sample lies") {
    for (const std::size_t which : {1U, 2U, 3U}) {
      auto bad = good;
      mds_shard_test::set_u32(bad, 4 + 4 * which, 25);
      const mds_shard_view damaged(bad, 3, 4);
      support::expect_error([&] { damaged.check_offsets(); }, errc::corrupt,
                            {"sample " + std::to_string(which - 1)});
    }
  }
}
