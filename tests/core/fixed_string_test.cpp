#include <mdstream/core/fixed_string.hpp>

#include <string_view>
#include <type_traits>

#include "support/catch.hpp"

namespace fixed_string_test {

namespace mds = mdstream;

template <mds::fixed_string Name>
struct named {
  static constexpr std::string_view name = Name;
};

TEST_CASE("a fixed string names a type, by its characters alone", "[core]") {
  STATIC_REQUIRE(std::is_same_v<named<"id">, named<"id">>);
  STATIC_REQUIRE_FALSE(std::is_same_v<named<"id">, named<"ids">>);
  STATIC_REQUIRE_FALSE(std::is_same_v<named<"">, named<"\0">>);
  STATIC_REQUIRE(named<"tokens">::name == "tokens");
  STATIC_REQUIRE(named<"">::name.empty());
  constexpr mds::fixed_string a = "ab", b = "ab", c = "ba";
  STATIC_REQUIRE(a == b);
  STATIC_REQUIRE_FALSE(a == c);
  STATIC_REQUIRE_FALSE(a == mds::fixed_string("abc"));
  STATIC_REQUIRE(mds::fixed_string("a\0b").view().size() == 3);
}

}  // namespace fixed_string_test
