#include <mdstream/collate/detail/staged_plan.hpp>

#include <mdstream/collate/detail/stage_block.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

#include "collate/samples.hpp"
#include "support/catch.hpp"

namespace mds = mdstream;
namespace collate = mdstream::collate;

namespace staged_plan_test {

/// What is on the device once the block was copied behind the slab; here the host's own memory.
struct device {
  explicit device(const collate::collate_plan& plan) {
    const collate::detail::staged_block block(plan);
    memory.resize(block.device_bytes());
    std::vector<std::byte> host(block.block_bytes());
    lowered = block.write(host.data(), memory.data());
    std::memcpy(memory.data() + block.block_at(), host.data(), host.size());
    lowered.host_regions = nullptr;  // went with `host`
  }

  std::vector<std::byte> memory;
  collate::detail::staged_plan lowered;
};

}  // namespace staged_plan_test

TEST_CASE("a lowered plan has the samples back to back, and where each column's values lie") {
  const std::vector<collate::source_column> sources{
      {.type = mds::dtype::int64, .value_bytes = 8},
      {.type = mds::dtype::uint16, .shaped = true},
      {.type = mds::dtype::float32, .value_bytes = 12}};
  const collate_samples::bytes id(8), floats(12);
  std::vector<collate_samples::bytes> raw;
  for (const std::size_t elements : {3, 0, 5})
    raw.push_back(collate_samples::sample_of(
        sources,
        {id, collate_samples::shaped_value(std::vector<std::uint16_t>(elements)), floats}));
  std::vector<collate::sample_bytes> samples;
  std::uint64_t bytes = 0;
  for (const auto& each : raw) {
    samples.push_back({each.data(), each.size()});
    bytes += each.size();
  }
  const std::vector<collate::output_column> outputs{
      {.source = 0, .values_at = 0, .values_bytes = 24},
      {.kind = collate::output_kind::ragged,
       .source = 1,
       .values_at = 512,
       .values_bytes = 16,
       .offsets_at = 256},
      {.source = 2, .values_at = 768, .values_bytes = 36}};
  const staged_plan_test::device on({.samples = samples.data(),
                                     .sample_count = samples.size(),
                                     .sources = sources.data(),
                                     .source_count = 3,
                                     .variable_count = 1,
                                     .outputs = outputs.data(),
                                     .output_count = 3,
                                     .slab_bytes = 1024});
  const collate::detail::staged_plan& plan = on.lowered;
  REQUIRE(plan.sample_count == 3);
  CHECK(plan.raw_bytes == bytes);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(std::memcmp(plan.raw + plan.offsets[i], raw[i].data(), raw[i].size()) == 0);
  CHECK(plan.offsets[3] == bytes);
  CHECK(plan.fixed_bytes == 20);
  CHECK(plan.sources[1].shaped);
  CHECK(plan.sources[2].variable_before == 1);
  CHECK(plan.sources[2].element_log2 == 2);
  // Rows of a number go to the slab when samples are indexed, and take no place in the index.
  CHECK(plan.sources[0].goes_to == collate::detail::index_kind::rows);
  CHECK(plan.sources[0].to == 0);
  CHECK(plan.sources[1].goes_to == collate::detail::index_kind::ragged);
  CHECK(plan.sources[1].to == 256);
  CHECK(plan.sources[1].index_row == 0);
  CHECK(plan.sources[2].goes_to == collate::detail::index_kind::ranges);
  CHECK(plan.sources[2].index_row == 1);
  REQUIRE(plan.region_count == 2);
  CHECK(plan.regions[0].kind == collate::detail::region_kind::ragged);
  CHECK(plan.regions[0].offsets_at == 256);
  CHECK(plan.regions[0].element_log2 == 1);
  CHECK(plan.regions[1].row_elements == 3);
  CHECK(plan.regions[1].index_row == 1);
  CHECK(*plan.bad_sample == collate::detail::staged_plan::no_bad_sample);
  CHECK(plan.run_count == 0);
  // Written by kernels, within the device's memory and not in the block that the host copies.
  for (const std::uint64_t* of : {plan.begins, plan.elements})
    CHECK(reinterpret_cast<const std::byte*>(of + 6) <= on.memory.data() + on.memory.size());
}

TEST_CASE("a lowered plan of rows has a run for each piece and for the padding behind it") {
  const std::vector<collate::source_column> sources{{.type = mds::dtype::uint16, .shaped = true}};
  const auto raw = collate_samples::sample_of(
      sources, {collate_samples::shaped_value<std::uint16_t>({1, 2, 3})});
  const collate::sample_bytes sample{raw.data(), raw.size()};
  // One row of four elements: the sample's last two, then padding.
  const collate::pack_segment piece{.sample = 0, .first = 1, .length = 2, .at = 0};
  const std::vector<collate::output_column> outputs{{.kind = collate::output_kind::packed,
                                                     .values_bytes = 8,
                                                     .row_elements = 4,
                                                     .pad_value = 0xABCD},
                                                    {.kind = collate::output_kind::cu_seqlens,
                                                     .values_at = 256,
                                                     .values_bytes = 12,
                                                     .row_elements = 4},
                                                    {.kind = collate::output_kind::position_ids,
                                                     .values_at = 512,
                                                     .values_bytes = 16,
                                                     .row_elements = 4},
                                                    {.kind = collate::output_kind::segment_ids,
                                                     .values_at = 768,
                                                     .values_bytes = 16,
                                                     .row_elements = 4}};
  const staged_plan_test::device on({.samples = &sample,
                                     .sample_count = 1,
                                     .sources = sources.data(),
                                     .source_count = 1,
                                     .variable_count = 1,
                                     .outputs = outputs.data(),
                                     .output_count = 4,
                                     .slab_bytes = 1024,
                                     .segments = &piece,
                                     .segment_count = 1,
                                     .pack_rows = 1});
  const collate::detail::staged_plan& plan = on.lowered;
  REQUIRE(plan.run_count == 2);
  CHECK(plan.runs[0].sample == 0);
  CHECK(plan.runs[0].first == 1);
  CHECK(plan.runs[1].at == 2);
  CHECK(plan.runs[1].sample == collate::detail::staged_run::padding);
  CHECK(plan.runs[2].at == 4);
  CHECK(plan.regions[0].pad_value == 0xABCDABCDABCDABCD);
}
