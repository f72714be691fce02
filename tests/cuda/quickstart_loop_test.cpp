// The training loop of examples/cuda, with a loader and a trainer that only count.
#include "loop.hpp"

#include <mdstream/core/fixed_string.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace quickstart_loop_test {

struct scripted_batch {
  std::uint64_t rows = 0;
  [[nodiscard]] std::uint64_t size() const { return rows; }
  void ready_on(int) const {}
  template <mdstream::fixed_string Name>
  [[nodiscard]] std::vector<std::uint8_t> get() const {
    return {};
  }
};

struct scripted_loader {
  std::vector<scripted_batch> batches;
  int epochs = 0;
  std::vector<scripted_batch>& epoch() {
    if (++epochs == 10) throw std::logic_error("ten epochs");
    return batches;
  }
};

struct counting_trainer {
  std::uint64_t steps = 0;
  [[nodiscard]] int stream() const { return 0; }
  void step(const std::uint8_t*) { ++steps; }
  [[nodiscard]] double loss() const { return 0; }
};

}  // namespace quickstart_loop_test

using namespace quickstart_loop_test;

TEST_CASE("the example's loop steps with full batches, over epochs", "[cuda]") {
  scripted_loader loader{{{24}, {24}, {12}}};
  counting_trainer trainer;
  cuda_quickstart::train(loader, trainer, 24, 5);
  CHECK(trainer.steps == 5);
  CHECK(loader.epochs == 3);
}

TEST_CASE("the example's loop ends where no batch is full", "[cuda]") {
  // As on two ranks, each of which has half of the rows.
  scripted_loader loader{{{12}, {12}}};
  counting_trainer trainer;
  CHECK_THROWS_WITH(cuda_quickstart::train(loader, trainer, 24, 5),
                    "no batch of the epoch has 24 rows; this example trains on one rank");
  CHECK(loader.epochs == 1);
  CHECK(trainer.steps == 0);
}
