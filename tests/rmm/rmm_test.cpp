// RMM's resources and references are device memory for stagers as they are.

#include <mdstream/stage/cuda.hpp>

#include <mdstream/collate/dense.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>
#include <rmm/resource_ref.hpp>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <random>
#include <vector>

#include "cuda/batches.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace {

using namespace batches;

static_assert(mds::stage::detail::device_memory<rmm::device_async_resource_ref>);
static_assert(mds::stage::detail::device_memory<rmm::mr::cuda_async_memory_resource>);
static_assert(mds::stage::detail::device_memory<rmm::mr::pool_memory_resource>);

/// A resource that can be referred to where there is no device.
struct unasked {
  static void* allocate(cuda::stream_ref, std::size_t, std::size_t) { throw std::bad_alloc(); }
  static void deallocate(cuda::stream_ref, void*, std::size_t, std::size_t) noexcept {}
  static void* allocate_sync(std::size_t, std::size_t) { throw std::bad_alloc(); }
  static void deallocate_sync(void*, std::size_t, std::size_t) noexcept {}
  friend bool operator==(const unasked&, const unasked&) noexcept { return true; }
  friend void get_property(const unasked&, cuda::mr::device_accessible) noexcept {}
};

int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

template <class Stager>
void check_batches(Stager& stager) {
  for (unsigned round = 0; round < 8; ++round) {
    const unsigned seed = support::test_seed(round);
    INFO("seed " << seed);
    std::mt19937 random(seed);
    batch one{.sources = {{.type = mds::dtype::uint8, .value_bytes = 1000 + 700 * (round % 4)}}};
    add_samples(one, 64, 0, random);
    lay_out<collate::dense>(one);
    memory expected(one.plan.slab_bytes);
    collate::execute(one.plan, expected.data());
    auto slot = stager.stage(one.plan);
    slot.ready_on(nullptr);
    std::vector<std::byte> made(one.plan.slab_bytes);
    REQUIRE(cudaMemcpy(made.data(), slot.data(), made.size(), cudaMemcpyDefault) == cudaSuccess);
    CHECK(std::memcmp(made.data(), expected.data(), one.outputs[0].values_bytes) == 0);
  }
}

}  // namespace

TEST_CASE("without a device a stager on memory of RMM says so", "[rmm]") {
  if (devices() > 0) {
    SUCCEED("there is a device");
    return;
  }
  using stager = mds::stage::cuda<3, rmm::device_async_resource_ref>;
  unasked resource;
  support::expect_error([&] { const stager made({.memory = resource}); }, mds::errc::device_error,
                        {"no CUDA device can be used"});
}

TEST_CASE("batches lie in the memory of RMM's resources", "[rmm][device]") {
  if (devices() == 0) {
    std::cout << "skipped: there is no CUDA device\n";
    std::exit(77);  // shown as skipped: no other test was selected
  }
  rmm::mr::cuda_async_memory_resource upstream;
  rmm::mr::pool_memory_resource pool(upstream, std::size_t{64} << 20);
  rmm::mr::statistics_resource_adaptor counted(pool);
  {
    mds::stage::cuda<3, rmm::device_async_resource_ref> stager({.memory = counted});
    check_batches(stager);
    CHECK(counted.get_bytes_counter().value > 0);
  }
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(counted.get_bytes_counter().value == 0);

  mds::stage::cuda<3, rmm::mr::pool_memory_resource> owning({.memory = pool});
  check_batches(owning);
}
