#include "quickstart/training.hpp"

#include "support/catch.hpp"

#include <barrier>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace training_test {

// Ranks as threads of this process; blocks are copied between two barriers.
class exchange {
 public:
  struct meeting {
    explicit meeting(std::size_t count)
        : ranks(count), barrier(static_cast<std::ptrdiff_t>(count)), values(count) {}
    std::size_t ranks;
    std::barrier<> barrier;
    std::vector<void*> values;
  };

  exchange(meeting& where, std::size_t rank) : meeting_(where), rank_(rank) {}
  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::size_t ranks() const { return meeting_.ranks; }

  template <class T>
  void share(std::span<T> values) {
    meeting_.values[rank_] = values.data();
    meeting_.barrier.arrive_and_wait();
    const std::size_t block = values.size() / quickstart::groups;
    for (std::size_t group = 0; group < quickstart::groups; ++group) {
      const std::size_t owner = group % meeting_.ranks;
      if (owner == rank_) continue;
      const T* const from = static_cast<const T*>(meeting_.values[owner]) + group * block;
      std::copy_n(from, block, values.data() + group * block);
    }
    meeting_.barrier.arrive_and_wait();
  }

 private:
  meeting& meeting_;
  std::size_t rank_;
};

constexpr std::size_t rows_of_batch = 12, row_size = 20;

inline std::vector<std::vector<std::uint8_t>> batch(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::uint8_t>> rows(rows_of_batch, std::vector<std::uint8_t>(row_size));
  for (auto& row : rows) {
    for (auto& byte : row) byte = static_cast<std::uint8_t>('a' + random() % 4);
  }
  return rows;
}

struct outcome {
  std::vector<double> losses;
  std::vector<float> parameters;
  bool operator==(const outcome&) const = default;
};

inline outcome run(std::size_t ranks, std::size_t threads) {
  exchange::meeting meeting(ranks);
  std::vector<outcome> outcomes(ranks);
  quickstart::in_parallel(ranks, [&](std::size_t rank) {
    exchange mine(meeting, rank);
    quickstart::trainer<exchange> trainer({.context = 3, .hidden = 32},
                                          {.rate = 1e-2, .warm_up = 1, .steps = 5}, mine, threads);
    for (std::uint32_t step = 0; step < 5; ++step) {
      const auto rows = batch(step);
      // As a partition deals them: canonical position i * ranks + rank is row i of this rank.
      const auto row = [&](std::size_t i) {
        return std::span<const std::uint8_t>(rows[i * ranks + rank]);
      };
      outcomes[rank].losses.push_back(trainer.step(step, rows_of_batch / ranks, row, [] {}));
      const auto held_out = batch(100);
      outcomes[rank].losses.push_back(trainer.evaluate(rows_of_batch, [&](std::size_t i) {
        return std::span<const std::uint8_t>(held_out[i]);
      }));
    }
    outcomes[rank].parameters = trainer.parameters();
  });
  for (const auto& other : outcomes) REQUIRE(other == outcomes[0]);
  return outcomes[0];
}

}  // namespace training_test

TEST_CASE("losses and parameters are equal to the bit on 1, 2, 3 and 6 ranks", "[quickstart]") {
  const auto alone = training_test::run(1, 1);
  CHECK(alone.losses.front() > alone.losses[8]);
  for (const std::size_t ranks : {1, 2, 3, 4, 6}) {
    for (const std::size_t threads : {1, 2, 5}) {
      INFO(ranks << " ranks, " << threads << " threads");
      CHECK(training_test::run(ranks, threads) == alone);
    }
  }
}

TEST_CASE("a number of ranks that breaks the groups is refused", "[quickstart]") {
  training_test::exchange::meeting meeting(5);
  training_test::exchange mine(meeting, 0);
  std::string message;
  try {
    quickstart::trainer<training_test::exchange>({.context = 3, .hidden = 32}, {}, mine, 1);
  } catch (const std::invalid_argument& e) {
    message = e.what();
  }
  CHECK(message.find("1, 2, 3, 4, 6 or 12 ranks, not on 5") != std::string::npos);
}
