#include <mdstream/async/detail/work_count.hpp>

#include <memory>

#include "support/catch.hpp"

namespace mds = mdstream;

TEST_CASE("work that ends tells who does not wait", "[async]") {
  mds::detail::work_count work;
  int calls = 0;
  CHECK(work.is_idle());
  work.when_idle([&calls] { ++calls; });  // nothing is in progress
  CHECK(calls == 1);
  work.begin();
  work.begin(2);
  CHECK_FALSE(work.is_idle());
  work.when_idle([&calls] { ++calls; });
  work.end();
  work.begin();
  for (int i = 0; i < 2; ++i) work.end();
  CHECK(calls == 1);
  work.end();
  CHECK(calls == 2);
  work.begin();
  work.end();
  CHECK(calls == 2);
  work.wait_idle();

  auto owned = std::make_unique<mds::detail::work_count>();
  mds::detail::work_count& it = *owned;
  it.begin();
  it.when_idle([&owned] { owned.reset(); });
  it.end();  // which destroys it
  CHECK(owned == nullptr);
}
