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
  CHECK(std::is_same_v<named<"id">, named<"id">>);
  CHECK_FALSE(std::is_same_v<named<"id">, named<"ids">>);
  CHECK_FALSE(std::is_same_v<named<"">, named<"\0">>);
  CHECK(named<"tokens">::name == "tokens");
  CHECK(named<"">::name.empty());
  constexpr mds::fixed_string a = "ab", b = "ab", c = "ba";
  CHECK(a == b);
  CHECK_FALSE(a == c);
  CHECK_FALSE(a == mds::fixed_string("abc"));
  CHECK(mds::fixed_string("a\0b").view().size() == 3);
}

}  // namespace fixed_string_test
