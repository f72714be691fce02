#include <mdstream/stage/host.hpp>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "stage/plans.hpp"
#include "support/catch.hpp"

namespace mds = mdstream;

namespace host_stager_test {

using plans::one_column;

std::uint64_t first(const mds::stage::host::slot& slot) {
  return mds::load<std::uint64_t>(slot.data());
}

}  // namespace host_stager_test

TEST_CASE("slots are aligned, independent, and reused once given up") {
  using namespace host_stager_test;
  mds::stage::host stager;
  const one_column a({1, 2, 3}), b({7, 8});
  auto first_slot = stager.stage(a.plan());
  auto second_slot = stager.stage(b.plan());
  CHECK(reinterpret_cast<std::uintptr_t>(first_slot.data()) % mds::collate::alignment == 0);
  CHECK(first(first_slot) == 1);
  CHECK(first(second_slot) == 7);

  const std::byte* memory = first_slot.data();
  first_slot = std::move(second_slot);
  CHECK(first(first_slot) == 7);
  CHECK(stager.stage(a.plan()).data() == memory);
}

TEST_CASE("a slot outlives its stager and may be dropped on another thread") {
  using namespace host_stager_test;
  mds::stage::host::slot slot;
  {
    mds::stage::host stager;
    slot = stager.stage(one_column({42}).plan());
    std::vector<std::thread> droppers;
    for (std::uint64_t i = 0; i < 16; ++i)
      droppers.emplace_back([given = stager.stage(one_column({i}).plan())]() mutable {
        mds::stage::host::slot(std::move(given)).ready_on(nullptr);
      });
    for (auto& thread : droppers) thread.join();
  }
  CHECK(first(slot) == 42);
}
