#include <mdstream/cuda/collate.cuh>

#include <mdstream/stage/detail/copy_pool.hpp>

#include "cuda/batches.hpp"
#include "cuda/sinks.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <mdstream/collate/dense.hpp>
#include <mdstream/collate/none.hpp>
#include <mdstream/collate/packed.hpp>
#include <mdstream/collate/padded.hpp>
#include <mdstream/collate/ragged.hpp>

namespace cuda_collate_test {

using namespace batches;
namespace kernels = mdstream::kernels;

const std::vector<collate::source_column> fixed{{.type = mds::dtype::int64, .value_bytes = 8},
                                                {.type = mds::dtype::uint8, .value_bytes = 1},
                                                {.type = mds::dtype::float32, .value_bytes = 36}};
const std::vector<collate::source_column> mixed{{.type = mds::dtype::int64, .value_bytes = 8},
                                                {.type = mds::dtype::uint8},
                                                {.type = mds::dtype::uint16, .shaped = true},
                                                {.type = mds::dtype::float32, .value_bytes = 12},
                                                {.type = mds::dtype::uint8, .shaped = true},
                                                {.type = mds::dtype::float64, .shaped = true},
                                                {.type = mds::dtype::uint8, .value_bytes = 1},
                                                {.type = mds::dtype::uint8, .value_bytes = 2},
                                                {.type = mds::dtype::int32, .value_bytes = 4},
                                                {.type = mds::dtype::float64, .value_bytes = 16}};

/// The slab as kernels leave it, on memory that held 0xAA.
template <class Sink>
std::vector<std::byte> by_kernels(const batch& from) {
  const staged s(from);
  kernels::collate_staged<Sink>(s.plan);
  REQUIRE(*s.plan.bad_sample == collate::detail::staged_plan::no_bad_sample);
  return {s.slab, s.slab + from.plan.slab_bytes};
}

std::vector<std::byte> by_host(const batch& from) {
  const memory slab(from.plan.slab_bytes);
  collate::execute(from.plan, slab.data());
  return {slab.data(), slab.data() + from.plan.slab_bytes};
}

template <class Collator>
void compare(const std::vector<collate::source_column>& sources, std::uint64_t longest) {
  for (unsigned round = 0; round < 30; ++round) {
    const unsigned seed = support::test_seed(round);
    for (const std::uint64_t samples : {0U, 1U, 2U, 33U, 150U}) {
      INFO(Collator::name << ", seed " << seed << ", " << samples << " samples of up to " << longest
                          << " elements");
      std::mt19937 random(seed);
      batch one{.sources = sources};
      add_samples(one, samples, round % 5 == 0 ? 0 : longest, random);
      lay_out<Collator>(one);
      const auto expected = by_host(one);
      REQUIRE(first_difference(by_kernels<kernels::word_sink>(one), expected) == -1);
      REQUIRE(first_difference(by_kernels<sinks::few_threads>(one), expected) == -1);
      REQUIRE(first_difference(by_kernels<kernels::memory_sink>(one), expected) == -1);
      REQUIRE(first_difference(by_kernels<sinks::small_memory>(one), expected) == -1);
    }
  }
}

/// Large enough for several parts.
template <class Collator>
void compare_pool(const std::vector<collate::source_column>& sources, std::uint64_t longest) {
  INFO(Collator::name);
  mds::stage::detail::copy_pool pool(3);
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  batch one{.sources = sources};
  add_samples(one, 8000, longest, random);
  lay_out<Collator>(one);
  const memory slab(one.plan.slab_bytes);
  collate::execute(one.plan, slab.data(), pool);
  REQUIRE(first_difference({slab.data(), slab.data() + one.plan.slab_bytes}, by_host(one)) == -1);

  const collate::detail::staged_block block(one.plan);
  const memory alone(block.block_bytes()), together(block.block_bytes());
  const memory device(block.device_bytes());
  (void)block.write(alone.data(), device.data());
  (void)block.write(together.data(), device.data(), pool);
  CHECK(std::memcmp(alone.data(), together.data(), block.block_bytes()) == 0);
}

}  // namespace cuda_collate_test

using namespace cuda_collate_test;

TEST_CASE("kernels leave the host's bytes, padding included", "[cuda]") {
  SECTION("dense") {
    compare<collate::dense>(fixed, 0);
    compare<collate::dense>({{.type = mds::dtype::uint16, .value_bytes = 258}}, 0);
    compare<collate::dense>({{.type = mds::dtype::uint8, .value_bytes = 1}}, 0);
  }
  SECTION("ragged") {
    compare<collate::ragged>(mixed, 9);
    compare<collate::ragged>(mixed, 300);
    compare<collate::ragged>({{.type = mds::dtype::uint8}}, 3);
  }
  SECTION("padded") {
    compare<collate::padded<>>(mixed, 40);
    compare<collate::padded<collate::padding{
        .length = 12, .longer = collate::truncation::truncate, .pad_value = -7}>>(mixed, 40);
    compare<collate::padded<collate::padding{.multiple = 64, .pad_value = 0.5, .texts = true}>>(
        mixed, 7);
  }
  SECTION("packed") {
    compare<collate::packed<collate::packing{.row = 41, .pad_value = 3}>>(mixed, 41);
    compare<collate::packed<collate::packing{
        .row = 64, .group = 8, .longer = collate::truncation::split}>>(mixed, 200);
    compare<collate::packed<collate::packing{.row = 900}>>(mixed, 900);
    compare<collate::packed<collate::packing{
        .row = 5, .longer = collate::truncation::truncate, .pad_value = -1}>>(mixed, 30);
  }
  SECTION("samples as they are") {
    compare<collate::none>(mixed, 30);
    compare<collate::none>(fixed, 0);
  }
}

TEST_CASE("a pool leaves the bytes of one thread", "[cuda]") {
  compare_pool<collate::dense>(fixed, 0);
  compare_pool<collate::dense>({{.type = mds::dtype::uint16, .value_bytes = 258}}, 0);
  compare_pool<collate::padded<>>(mixed, 100);
  compare_pool<collate::ragged>(mixed, 100);
  compare_pool<collate::packed<collate::packing{.row = 128}>>(mixed, 100);
  compare_pool<collate::none>(mixed, 100);
}

TEST_CASE("samples that contradict themselves give zeros, and the first is reported", "[cuda]") {
  for (unsigned round = 0; round < 400; ++round) {
    const unsigned seed = support::test_seed(round);
    INFO("seed " << seed);
    std::mt19937 random(seed);
    batch one{.sources = round % 2 == 0 ? mixed : fixed};
    add_samples(one, 20, 30, random);
    switch (round % 6) {
      case 0:
      case 1: lay_out<collate::ragged>(one); break;
      case 2: lay_out<collate::padded<>>(one); break;
      case 4: lay_out<collate::packed<collate::packing{.row = 30, .pad_value = -1}>>(one); break;
      default: lay_out<collate::none>(one); break;
    }
    staged s(one);
    // Damage after the checks of the host: raw bytes, or offsets.
    auto* const offsets = const_cast<std::uint64_t*>(s.plan.offsets);
    auto* const raw = const_cast<std::byte*>(s.plan.raw);
    const std::uint64_t victim = random() % 20;
    bool certain = false;
    switch (random() % 4) {
      case 0: offsets[victim + 1] = ~std::uint64_t{0} - random() % 100; break;
      case 1: offsets[victim] = random() % 2 == 0 ? s.plan.raw_bytes + random() % 9 : 0; break;
      case 2:
        if (one.plan.variable_count != 0 && one.outputs[0].kind != collate::output_kind::samples) {
          const std::uint32_t huge = 0xfffffff0U + static_cast<std::uint32_t>(random() % 16);
          std::memcpy(raw + offsets[victim] + 4 * (random() % 4), &huge, 4);
          certain = true;
        }
        break;
      default:
        for (int i = 0; i < 30; ++i)
          raw[random() % s.plan.raw_bytes] = static_cast<std::byte>(random());
        break;
    }
    kernels::collate_staged<kernels::word_sink>(s.plan);
    const std::vector<std::byte> words(s.slab, s.slab + s.plan.slab_bytes);
    const std::uint64_t bad = *s.plan.bad_sample;
    if (certain) CHECK(bad == victim);
    *s.plan.bad_sample = collate::detail::staged_plan::no_bad_sample;
    kernels::collate_staged<sinks::small_memory>(s.plan);
    REQUIRE(std::memcmp(words.data(), s.slab, words.size()) == 0);
    CHECK(*s.plan.bad_sample == bad);
  }
}
