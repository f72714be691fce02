// The training loop of examples/cuda, with a loader and a trainer that only count.
#include "loop.hpp"

#include <mdstream/core/fixed_string.hpp>
#include <mdstream/store/memory.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace quickstart_loop_test {

namespace mds = mdstream;

struct scripted_batch {
  std::uint64_t rows = 0;
  [[nodiscard]] std::uint64_t size() const { return rows; }
  void ready_on(mds::stage::stream_handle) const {}
  template <mdstream::fixed_string Name>
  [[nodiscard]] std::vector<std::uint8_t> get() const {
    return {};
  }
};

struct scripted_loader {
  std::vector<scripted_batch> batches;
  int epochs = 0;
  [[nodiscard]] std::string state() const { return std::to_string(epochs); }
  void load_state(const std::string& text) { epochs = std::stoi(text); }
  std::vector<scripted_batch>& epoch() {
    if (++epochs == 10) throw std::logic_error("ten epochs");
    return batches;
  }
};

struct counting_trainer {
  std::uint64_t learnt = 0;
  std::uint64_t steps = 0;  // its only tensor
  std::uint64_t from = 0;
  mds::tensor_list list{};
  counting_trainer() { list.add("steps", mds::tensor_type::u64, {}, &steps); }
  [[nodiscard]] mds::stage::stream_handle stream() const { return nullptr; }
  void learn(const std::uint8_t*) { ++learnt; }
  void update() { ++steps; }
  void go_on_at(std::uint64_t step) { from = step; }
  [[nodiscard]] const mds::tensor_list& tensors() const { return list; }
  [[nodiscard]] double loss() const { return 0; }
};

}  // namespace quickstart_loop_test

using namespace quickstart_loop_test;

TEST_CASE("the example's loop steps with full batches, over epochs", "[cuda]") {
  scripted_loader loader{{{24}, {24}, {12}}};
  counting_trainer trainer;
  const mds::opened_store run = mds::store::memory();
  {
    mds::checkpoint_saver saver({.run = run});
    cuda_quickstart::train(loader, trainer, saver, 24, 5, 2);
  }
  CHECK(trainer.steps == 5);
  CHECK(trainer.learnt == 5);
  CHECK(loader.epochs == 3);

  // Another process goes on from step 4, in epoch 2.
  scripted_loader again{{{24}, {24}, {12}}};
  counting_trainer other;
  mds::checkpoint_saver saver({.run = run});
  cuda_quickstart::train(again, other, saver, 24, 7, 2);
  CHECK(other.from == 4);
  CHECK(other.steps == 7);
  CHECK(other.learnt == 3);
  CHECK(again.epochs == 4);
}

TEST_CASE("the example's loop ends where no batch is full", "[cuda]") {
  // As on two ranks, each of which has half of the rows.
  scripted_loader loader{{{12}, {12}}};
  counting_trainer trainer;
  mds::checkpoint_saver saver({.run = mds::store::memory()});
  CHECK_THROWS_WITH(cuda_quickstart::train(loader, trainer, saver, 24, 5, 2),
                    "no batch of the epoch has 24 rows; this example trains on one rank");
  CHECK(loader.epochs == 1);
  CHECK(trainer.steps == 0);
}
