#include <mdstream/store/memory.hpp>

#include "store/conformance.hpp"
#include "support/catch.hpp"

namespace memory_test {

namespace mds = mdstream;

TEST_CASE("the memory store conforms", "[store]") {
  conformance::check_store(mds::store::memory());
}

TEST_CASE("copies of a memory store show the same objects", "[store]") {
  const mds::store::memory one;
  const mds::store::memory copy = one;
  one.write("x", mds::as_bytes("shared"));
  CHECK(mds::read_all(copy, "x").size() == 6);
  CHECK_FALSE(mds::exists(mds::store::memory(), "x"));
}

}  // namespace memory_test
