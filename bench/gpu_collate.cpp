#include "gpu_cases.hpp"
#include "gpu_memory.hpp"

#include <mdstream/collate/dense.hpp>
#include <mdstream/collate/detail/stage_block.hpp>
#include <mdstream/collate/packed.hpp>
#include <mdstream/collate/padded.hpp>
#include <mdstream/collate/ragged.hpp>
#include <mdstream/stage/detail/kernels.hpp>

#include "support/token_batch.hpp"

#include <string>
#include <vector>

namespace {

namespace collate = mdstream::collate;

constexpr std::uint64_t whole = std::uint64_t{1} << 30;

/// A batch that lies on the device as it is copied there, collated. The limit moves as many bytes
/// as the samples and the slab have.
void collate_case(const std::string& name, const collate::collate_plan& plan) {
  if (!bench::is_wanted(name)) return;
  const collate::detail::staged_block block(plan);
  const device_memory device(block.device_bytes());
  std::vector<std::byte> host(block.block_bytes());
  const collate::detail::staged_plan staged = block.write(host.data(), device.as<std::byte>());
  cudaMemcpy(device.as<std::byte>() + block.block_at(), host.data(), host.size(),
             cudaMemcpyHostToDevice);
  kernel_case(name, staged.raw_bytes + plan.slab_bytes,
              [&staged] { mdstream::stage::detail::device_kernels().collate(staged, nullptr); });
}

/// Samples of three columns of fixed size, to a column each.
void columns_case() {
  const std::vector<collate::source_column> sources{
      {.type = mdstream::dtype::int64, .value_bytes = 8},
      {.type = mdstream::dtype::float32, .value_bytes = 36},
      {.type = mdstream::dtype::uint16, .value_bytes = 1024}};
  constexpr std::uint64_t sample = 8 + 36 + 1024;
  const std::vector<std::byte> raw(whole, std::byte{5});
  std::vector<collate::sample_bytes> samples;
  for (std::uint64_t at = 0; at + sample <= whole; at += sample)
    samples.push_back({raw.data() + at, sample});
  std::vector<collate::detail::column_measure> measures(sources.size());
  collate::detail::measure(sources, 0, samples, measures);
  std::vector<collate::output_column> outputs;
  collate::collate_plan plan{.samples = samples.data(),
                             .sample_count = samples.size(),
                             .sources = sources.data(),
                             .source_count = static_cast<std::uint32_t>(sources.size())};
  plan.slab_bytes = collate::dense{}.lay_out(sources, measures, samples.size(), outputs);
  plan.outputs = outputs.data();
  plan.output_count = static_cast<std::uint32_t>(outputs.size());
  collate_case("collate, dense, columns of 8, 36 and 1024 B", plan);
}

template <class Collator>
void tokens_case(const std::string& name, std::uint64_t average) {
  if (bench::is_wanted(name))
    collate_case(name, bench::token_batch(whole, average, Collator{}).plan);
}

}  // namespace

void collate_cases() {
  columns_case();
  tokens_case<collate::ragged>("collate, ragged, 4 KiB", 4096);
  tokens_case<collate::ragged>("collate, ragged, 64 B", 64);
  tokens_case<collate::padded<>>("collate, padded, 4 KiB", 4096);
  tokens_case<collate::packed<collate::packing{.row = 4096}>>("collate, packed, 4 KiB", 4096);
}
