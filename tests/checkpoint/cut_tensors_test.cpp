#include <mdstream/checkpoint/detail/checked_read.hpp>
#include <mdstream/checkpoint/detail/cut_tensors.hpp>
#include <mdstream/checkpoint/detail/file_plan.hpp>
#include <mdstream/checkpoint/detail/tiling.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace {

namespace mds = mdstream;
using namespace mdstream::detail;

}  // namespace

TEST_CASE("tensors are cut into runs of bytes that cover them once", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    mds::tensor_shape shape(random() % 4);
    for (auto& each : shape) each = random() % 9;
    const auto type = random() % 2 == 0 ? mds::tensor_type::f32 : mds::tensor_type::u8;
    const std::uint64_t most = 1 + random() % 200;
    const mds::box whole = mds::box::whole(shape);
    std::vector<std::byte> memory(*tensor_bytes(type, shape) + 1);
    mds::tensor_list list;
    list.add("x", type, shape, memory.data());
    const mds::tensor_list parts = cut_tensors(list, most);
    std::uint64_t at = 0;
    for (const listed_tensor& each : parts.listed()) {
      const std::uint64_t bytes = *tensor_bytes(type, each.held.extent);
      CHECK((bytes <= most || element_count(each.held.extent) == 1U));
      // One behind the other, as they lie in memory.
      CHECK(each.data == memory.data() + at);
      at += bytes;
    }
    CHECK(at + 1 == memory.size());
    const auto files = plan_files(parts, 0, most);
    const data_layout layout = merge_layouts(std::vector{layout_of(parts, files)});  // tiles
    CHECK(layout.tensors.size() == 1);
    for (const planned_file& each : files) CHECK(each.bytes <= each.head.size() + most + 4);
  }
}

TEST_CASE("elements of half a byte are cut between whole bytes", "[checkpoint]") {
  std::vector<mds::box> parts;
  cut_box(mds::tensor_type::f4, mds::box::whole({6, 4}), 5, parts);
  REQUIRE(parts.size() == 3);
  CHECK(parts[1] == mds::box{{2, 0}, {2, 4}});
  parts.clear();
  cut_box(mds::tensor_type::f4, mds::box::whole({6, 3}), 5, parts);  // rows of a byte and a half
  CHECK(parts.size() == 1);
}

TEST_CASE("blocks that are wanted nearly whole are checked", "[checkpoint]") {
  data_layout layout;
  const std::uint64_t block = checksum_block, bytes = 3 * block + 1000;
  layout.files.push_back({.name = "a", .bytes = bytes, .crcs = {10, 11, 12, 13}});
  layout.files.push_back({.name = "b", .bytes = bytes});
  read_plan plan;
  const auto want = [&](std::uint32_t file, std::uint64_t begin, std::uint64_t end,
                        std::uint32_t copy) {
    plan.ranges.push_back({.file = file, .begin = begin, .end = end, .copies = {copy}});
  };
  want(0, 500, block + 100, 0);  // the head is not wanted
  want(0, block + 900'000, block + 900'010, 1);
  want(0, 2 * block + 5, 3 * block + 1000, 2);
  want(1, 500, block + 100, 3);
  const auto fetches = plan_fetches(layout, plan, false);
  const std::vector<planned_fetch> expected{
      {.file = 0, .begin = 0, .end = block, .crc = 10U, .copies = {0}},
      {.file = 0, .begin = block, .end = block + 100, .copies = {0}},
      {.file = 0, .begin = block + 900'000, .end = block + 900'010, .copies = {1}},
      {.file = 0, .begin = 2 * block, .end = 3 * block, .crc = 12U, .copies = {2}},
      {.file = 0, .begin = 3 * block, .end = bytes, .crc = 13U, .copies = {2}},
      {.file = 1, .begin = 500, .end = block, .copies = {3}},
      {.file = 1, .begin = block, .end = block + 100, .copies = {3}},
  };
  CHECK(fetches == expected);
  const auto all = plan_fetches(layout, plan, true);
  REQUIRE(all.size() == 6);
  CHECK(all[1] ==
        planned_fetch{.file = 0, .begin = block, .end = 2 * block, .crc = 11U, .copies = {0, 1}});
  CHECK(plan_verification(layout).size() == 4);
}
