#include <mdstream/stage/host.hpp>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace mds = mdstream;

namespace host_stager_test {

struct one_column {
  std::vector<std::uint64_t> values;
  mds::collate::source_column source{.type = mds::dtype::uint64, .value_bytes = 8};
  mds::collate::output_column output;
  std::vector<mds::collate::sample_bytes> samples;

  explicit one_column(std::vector<std::uint64_t> content) : values(std::move(content)) {
    output.values_bytes = values.size() * 8;
    for (const auto& value : values)
      samples.push_back({reinterpret_cast<const std::byte*>(&value), sizeof value});
  }

  [[nodiscard]] mds::collate::collate_plan plan() const {
    return {.samples = samples.data(),
            .sample_count = samples.size(),
            .sources = &source,
            .source_count = 1,
            .variable_count = 0,
            .outputs = &output,
            .output_count = 1,
            .slab_bytes = mds::collate::align_up(output.values_bytes)};
  }
};

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
