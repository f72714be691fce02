#include <mdstream/format/shape.hpp>

#include <limits>

#include "support/catch.hpp"

TEST_CASE("shapes count their elements", "[shape]") {
  static_assert(mdstream::array_shape{}.elements() == 1);
  static_assert(mdstream::array_shape{3, 4}.elements() == 12);
  static_assert(mdstream::array_shape{3, 0, 4}.elements() == 0);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK(mdstream::array_shape{most, 2}.elements() == most);
  CHECK(mdstream::array_shape{most, most, 0}.elements() == 0);
  CHECK(mdstream::to_string(mdstream::array_shape{3, 4}) == "3,4");
  CHECK(mdstream::array_shape{3, 4} == mdstream::array_shape{3, 4});
  CHECK_FALSE(mdstream::array_shape{3, 4} == mdstream::array_shape{3, 4, 1});
}

TEST_CASE("a shape has at most 64 dimensions", "[shape]") {
  mdstream::array_shape extents;
  for (int i = 0; i < 64; ++i) extents.push_back(1);
  CHECK_THROWS_AS(extents.push_back(1), std::length_error);
  CHECK(extents.rank() == 64);
}
