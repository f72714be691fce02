#include <mdstream/core/detail/crc32c.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace crc32c_test {

namespace mds = mdstream;

TEST_CASE("CRC-32C by its known answers, by instruction and by tables") {
  CHECK(mds::detail::crc32c(mds::as_bytes("123456789")) == 0xE3069283u);
  CHECK(mds::detail::crc32c({}) == 0u);
  const std::vector<std::byte> zeros(32), ones(32, std::byte{0xFF});
  CHECK(mds::detail::crc32c(zeros) == 0x8A9136AAu);
  CHECK(mds::detail::crc32c(ones) == 0x62A8AB43u);
  std::vector<std::byte> mixed(1001);
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = static_cast<std::byte>(i * 31 + 7);
  const mds::bytes_view all(mixed);
  REQUIRE(mds::detail::has_crc32c_instruction());  // as every processor of these tests
  for (std::size_t from = 0; from < 9; ++from)
    for (const std::size_t size : {0, 1, 7, 8, 9, 15, 16, 17, 900})
      CHECK(mds::detail::crc32c_by_instruction(all.subspan(from, size), ~0u) ==
            mds::detail::crc32c_portable(all.subspan(from, size), ~0u));
  for (const std::size_t at : {0, 1, 100, 1000, 1001}) {
    const std::uint32_t first = mds::detail::crc32c(all.first(at));
    CHECK(mds::detail::crc32c(all.subspan(at), first) == mds::detail::crc32c(all));
    CHECK(mds::detail::crc32c_joined(first, mds::detail::crc32c(all.subspan(at)),
                                     all.size() - at) == mds::detail::crc32c(all));
  }
}

TEST_CASE("CRC-32C of several stretches at a time is that of one byte after another") {
  std::mt19937_64 random(support::test_seed());
  std::vector<std::byte> mixed(100'000);
  for (std::byte& each : mixed) each = static_cast<std::byte>(random());
  const mds::bytes_view all(mixed);
  const auto is_right = [&](std::size_t from, std::size_t size, std::uint32_t before) {
    return mds::detail::crc32c_by_instruction(all.subspan(from, size), before) ==
           mds::detail::crc32c_portable(all.subspan(from, size), before);
  };
  for (const std::size_t border : {8 << 10, 16 << 10, 24 << 10, 32 << 10, 48 << 10, 72 << 10})
    for (std::size_t from = 0; from < 8; ++from)
      for (std::size_t size = border - 9; size <= border + 9; ++size) {
        INFO(size << " bytes from " << from);
        REQUIRE(is_right(from, size, 12'345));
      }
  for (int i = 0; i < 200; ++i) {
    const std::size_t from = random() % all.size(), size = random() % (all.size() - from);
    INFO(size << " bytes from " << from);
    REQUIRE(is_right(from, size, static_cast<std::uint32_t>(random())));
  }
}

}  // namespace crc32c_test
