#include <mdstream/checkpoint/box.hpp>
#include <mdstream/checkpoint/tensor_type.hpp>

#include <cstdint>
#include <limits>
#include <set>
#include <string_view>

#include "support/catch.hpp"

namespace box_test {

namespace mds = mdstream;
using mds::box;
using mds::tensor_shape;
using mds::tensor_type;
using namespace mds::detail;

}  // namespace box_test

TEST_CASE("elements and bytes of shapes, or nothing where they do not fit", "[checkpoint]") {
  using namespace box_test;
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK(element_count(tensor_shape{}) == 1);
  CHECK(element_count(tensor_shape{3, 0, 5}) == 0);
  CHECK(element_count(tensor_shape{3, 4, 5}) == 60);
  CHECK(element_count(tensor_shape{most}) == most);
  CHECK_FALSE(element_count(tensor_shape{most, 2}));
  CHECK_FALSE(element_count(tensor_shape{most, 2, 0}));
  CHECK(element_count(tensor_shape{0, most, 2}) == 0);
  CHECK(tensor_bytes(tensor_type::f4, tensor_shape{2}) == 1);
  CHECK_FALSE(tensor_bytes(tensor_type::f4, tensor_shape{3}));
  CHECK(tensor_bytes(tensor_type::f6_e2m3, tensor_shape{4}) == 3);
  CHECK(tensor_bytes(tensor_type::c64, tensor_shape{2, 3}) == 48);
  CHECK_FALSE(tensor_bytes(tensor_type::u8, tensor_shape{most}));
  CHECK(is_empty(tensor_shape{1, 0}));
  CHECK_FALSE(is_empty(tensor_shape{}));
}

TEST_CASE("boxes lie within shapes, and meet, by the elements that they have", "[checkpoint]") {
  using namespace box_test;
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK(box::whole({2, 3}) == box{{0, 0}, {2, 3}});
  CHECK(lies_within(box{{2}, {0}}, tensor_shape{2}));
  CHECK_FALSE(lies_within(box{{3}, {0}}, tensor_shape{2}));
  CHECK_FALSE(lies_within(box{{1}, {most}}, tensor_shape{2}));
  CHECK_FALSE(lies_within(box{{0}, {2}}, tensor_shape{2, 1}));
  CHECK_FALSE(lies_within(box{{0}, {}}, tensor_shape{1}));
  CHECK(intersection(box::whole({}), box::whole({})) == box{});
  CHECK_FALSE(intersection(box{{0}, {2}}, box{{2}, {1}}));
  CHECK(to_string(extents(tensor_shape{2, 3})) == "[2, 3]");
  CHECK(to_string(extents()) == "[]");
  // every pair of boxes of a line, against its elements
  for (std::uint64_t a = 0; a < 4; ++a)
    for (std::uint64_t n = 0; n < 4; ++n)
      for (std::uint64_t b = 0; b < 4; ++b)
        for (std::uint64_t m = 0; m < 4; ++m) {
          std::set<std::uint64_t> both;
          for (std::uint64_t i = 0; i < 8; ++i)
            if (i >= a && i < a + n && i >= b && i < b + m) both.insert(i);
          const auto met = intersection(box{{7, a}, {1, n}}, box{{0, b}, {9, m}});
          REQUIRE(met.has_value() == !both.empty());
          if (met) CHECK(*met == box{{7, *both.begin()}, {1, both.size()}});
          if (met) CHECK(box_view(*met).copy() == *met);
        }
}

TEST_CASE("names and widths of tensor types are those of the format", "[checkpoint]") {
  using namespace box_test;
  static_assert(mds::bits_of(tensor_type::bf16) == 16);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < tensor_types.size(); ++i) {
    const auto type = static_cast<tensor_type>(i);
    names.insert(to_string(type));
    CHECK(mds::find_tensor_type(to_string(type)) == type);
  }
  CHECK(names.size() == 22);
  CHECK(to_string(tensor_type::f8_e4m3fnuz) == "F8_E4M3FNUZ");
  CHECK(mds::bits_of(tensor_type::u64) == 64);
  for (const char* none : {"", "bf16", "BF16 ", "F128"}) CHECK_FALSE(mds::find_tensor_type(none));
}
