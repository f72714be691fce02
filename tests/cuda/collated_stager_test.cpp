#include <mdstream/stage/detail/device_stager.hpp>

#include <mdstream/collate/dense.hpp>
#include <mdstream/collate/none.hpp>
#include <mdstream/collate/padded.hpp>
#include <mdstream/cuda/collate.cuh>

#include "cuda/batches.hpp"
#include "stage/scripted_device.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

#include <vector>

namespace collated_stager_test {

using namespace batches;

/// Kernels that run when the scripted device's stream comes to them.
struct late_kernels {
  static inline scripted::machine* on = nullptr;
  static int collate(const collate::detail::staged_plan& plan, mds::stage::stream_handle stream) {
    return on->call("collate", true,
                    [&] { on->launch(stream, [plan] { mds::kernels::collate_staged(plan); }); });
  }
};
using stager =
    mds::stage::detail::basic_device_collated<2, scripted::memory, scripted::api, late_kernels>;

const std::vector<collate::source_column> columns{{.type = mds::dtype::int32, .value_bytes = 4},
                                                  {.type = mds::dtype::uint16, .shaped = true},
                                                  {.type = mds::dtype::uint8}};

}  // namespace collated_stager_test

using namespace collated_stager_test;

TEST_CASE("batches that the device collates are the host's, whenever it comes to them", "[cuda]") {
  for (unsigned round = 0; round < 60; ++round) {
    const unsigned seed = support::test_seed(round);
    INFO("seed " << seed);
    const auto m = std::make_shared<scripted::machine>(seed);
    late_kernels::on = m.get();
    int wrong = 0;
    {
      stager s{scripted::api(m), scripted::memory(m)};
      std::mt19937 random(seed);
      stager::slot slot;
      for (int step = 0; step < 12; ++step) {
        batch one{.sources =
                      step % 4 == 3 ? std::vector<collate::source_column>{columns[0]} : columns};
        add_samples(one, random() % 20, 30, random);
        lay_out<collate::padded<>>(one);
        memory expected(one.plan.slab_bytes);
        collate::execute(one.plan, expected.data());
        slot = s.stage(one.plan);  // the samples may go now
        slot.ready_on(m->trainer_stream(1));
        m->launch(m->trainer_stream(1),
                  [data = slot.data(), outputs = one.outputs, samples = one.samples.size(), &wrong,
                   e = std::make_shared<memory>(std::move(expected))] {
                    if (!are_equal(outputs, samples, data, e->data())) ++wrong;
                  });
      }
    }
    CHECK(m->finish());
    CHECK(wrong == 0);
    CHECK(m->faults == std::vector<std::string>{});
    CHECK(m->live.empty());
  }
}

TEST_CASE("a dense batch is one copy and one launch, and the ring settles", "[cuda]") {
  const auto m = std::make_shared<scripted::machine>(1);
  late_kernels::on = m.get();
  stager s{scripted::api(m), scripted::memory(m)};
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  batch one{.sources = {columns[0], {.type = mds::dtype::float32, .value_bytes = 36}}};
  add_samples(one, 50, 0, random);
  lay_out<collate::dense>(one);
  stager::slot slot;
  const auto step = [&] {
    slot = {};
    slot = s.stage(one.plan);
    slot.ready_on(m->trainer_stream(1));
    CHECK(m->finish());
  };
  for (int i = 0; i < 4; ++i) step();
  const auto warm = m->live;
  m->calls_of.clear();
  step();
  CHECK(m->live == warm);
  CHECK(m->host_waits == 0);
  CHECK(m->calls_of["upload"] == 1);
  CHECK(m->calls_of["collate"] == 1);
  CHECK(m->calls_of["allocate"] + m->calls_of["make_pinned"] + m->calls_of["make_event"] == 0);
  CHECK(m->calls_of["await stream"] == 0);
}

TEST_CASE("samples that are wanted as they are need no kernel", "[cuda]") {
  const auto m = std::make_shared<scripted::machine>(1);
  late_kernels::on = m.get();
  stager s{scripted::api(m), scripted::memory(m)};
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  batch one{.sources = columns};
  add_samples(one, 50, 20, random);
  lay_out<collate::none>(one);
  memory expected(one.plan.slab_bytes);
  collate::execute(one.plan, expected.data());
  const auto slot = s.stage(one.plan);
  CHECK(m->finish());
  CHECK(are_equal(one.outputs, one.samples.size(), slot.data(), expected.data()));
  CHECK(m->calls_of["upload"] == 1);
  CHECK(m->calls_of["collate"] == 0);
}

TEST_CASE("an error about kernels that cannot be launched names their place", "[cuda]") {
  const auto m = std::make_shared<scripted::machine>(1);
  late_kernels::on = m.get();
  stager s{scripted::api(m), scripted::memory(m)};
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  batch one{.sources = columns};
  add_samples(one, 5, 9, random);
  lay_out<collate::padded<>>(one);
  (void)s.stage(one.plan);
  for (int call = 1; m->failed_call != "collate"; ++call) {
    m->failed_call.clear();
    m->fail_at = m->calls + call;
    try {
      (void)s.stage(one.plan);
    } catch (const mds::error& e) {
      if (m->failed_call != "collate") continue;
      CHECK(std::string(e.what()).find("cannot collate on the device, CUDA device 7") == 0);
      CHECK(std::string(e.what()).find("scriptedError: collate") != std::string::npos);
    }
  }
  auto after = s.stage(one.plan);
  CHECK(m->finish());
  CHECK(after.data() != nullptr);
}
