#include <mdstream/net/environment.hpp>

#include <cstdlib>

#include "net/keys.hpp"
#include "support/catch.hpp"

namespace environment_test {

using namespace mdstream::net;

TEST_CASE("a variable is set, or it is not; an empty one is not", "[net]") {
  const environment process = process_environment();
  CHECK(process("PATH").has_value());
  CHECK_FALSE(process("MDSTREAM_SURELY_UNSET"));
  const environment mine = keys::variables({{"A", ""}, {"B", "b"}, {"C", "c"}});
  CHECK(first_set(mine, {"A", "B", "C"}) == "b");
  CHECK_FALSE(first_set(mine, {"A", "D"}));
}

}  // namespace environment_test
