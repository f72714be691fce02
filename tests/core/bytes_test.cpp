#include <mdstream/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "support/catch.hpp"

namespace mds = mdstream;

static_assert(std::random_access_iterator<mds::unaligned_view<std::uint32_t>::iterator>);

TEST_CASE("an unaligned view reads elements from any address") {
  std::array<std::byte, 16> raw{};
  const std::array<std::uint32_t, 3> values{7, 0xdeadbeef, 42};
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::memcpy(raw.data() + shift, values.data(), sizeof values);
    const mds::unaligned_view<std::uint32_t> view(
        mds::bytes_view(raw).subspan(shift, sizeof values));
    REQUIRE(view.size() == 3);
    CHECK(std::equal(view.begin(), view.end(), values.begin(), values.end()));
    CHECK(view[1] == 0xdeadbeef);
    CHECK(view.begin()[2] == 42);
    CHECK(view.end() - view.begin() == 3);
  }
}

TEST_CASE("a rest shorter than one element is left out") {
  const std::array<std::byte, 7> raw{};
  CHECK(mds::unaligned_view<std::uint32_t>(raw).size() == 1);
  CHECK(mds::unaligned_view<std::uint64_t>(raw).empty());
}
