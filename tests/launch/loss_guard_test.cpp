#include <mdstream/launch/loss_guard.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace loss_guard_test {

using mdstream::errc;
using mdstream::launch::batch_range;
using mdstream::launch::loss_guard;
using mdstream::launch::loss_guard_options;
using mdstream::launch::loss_verdict;
using enum mdstream::launch::loss_verdict;
using ranges = std::vector<batch_range>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

loss_verdict judge(loss_guard& guard, double loss) {
  REQUIRE(guard.take());
  return guard.judge(loss);
}

// A guard that has seen losses of 2 +- 0.1.
loss_guard seasoned(const loss_guard_options& options = {}) {
  loss_guard guard(options);
  for (std::size_t i = 0; i < options.window; ++i)
    CHECK(judge(guard, 1.9 + 0.1 * static_cast<double>(i % 3)) == go_on);
  return guard;
}

TEST_CASE("a loss that is no number is bad from the first step on", "[launch]") {
  for (const double loss : {nan, inf, -inf}) {
    loss_guard guard;
    CHECK(judge(guard, 7.0) == go_on);
    CHECK(judge(guard, loss) == go_back);
    CHECK(guard.left_out() == ranges{{1, 2}});
    CHECK(guard.returns() == 1);
  }
}

TEST_CASE("a loss far above the median of the last ones is bad", "[launch]") {
  loss_guard young;
  CHECK(judge(young, 2.0) == go_on);
  CHECK(judge(young, 1e9) == go_on);  // nobody knows yet what is usual
  const auto after = [](double loss, const loss_guard_options& options = {}) {
    loss_guard guard = seasoned(options);
    return judge(guard, loss);
  };
  CHECK(after(4.0) == go_back);
  CHECK(after(2.3) == go_on);
  CHECK(after(0.1) == go_on);
  // Ten deviations are 1.48 here; the other rule alone would call a fifth above the median bad.
  CHECK(after(3.4) == go_on);
  CHECK(after(3.4, {.deviations = 5}) == go_back);
  CHECK(after(4.0, {.part = 2}) == go_on);
}

TEST_CASE("spikes of the past do not make the next one usual", "[launch]") {
  loss_guard guard = seasoned();
  for (int i = 0; i < 10; ++i) CHECK(judge(guard, 9.0) == go_back);
  CHECK(guard.left_out() == ranges{{64, 74}});
}

TEST_CASE("a constant loss is no reason to call noise a spike", "[launch]") {
  loss_guard guard;
  for (int i = 0; i < 64; ++i) CHECK(judge(guard, 2.0) == go_on);
  CHECK(judge(guard, 2.0000001) == go_on);
  CHECK(judge(guard, 2.5) == go_back);
}

TEST_CASE("batches before the bad loss are left out as well", "[launch]") {
  loss_guard guard({.batches = 3});
  CHECK(judge(guard, nan) == go_back);
  CHECK(guard.left_out() == ranges{{0, 1}});
  for (int i = 0; i < 9; ++i) CHECK(judge(guard, 1.0) == go_on);
  CHECK(judge(guard, nan) == go_back);
  CHECK(guard.left_out() == ranges{{0, 1}, {8, 11}});
  CHECK(judge(guard, nan) == go_back);
  CHECK(guard.left_out() == ranges{{0, 1}, {8, 12}});
}

TEST_CASE("after too many returns the guard gives up", "[launch]") {
  loss_guard guard({.most_returns = 2});
  CHECK(judge(guard, nan) == go_back);
  CHECK(judge(guard, nan) == go_back);
  CHECK(judge(guard, nan) == give_up);
}

// A model whose loss depends on all batches that it was trained on, some of which are poison: at
// once, or after the model has learnt them.
struct run {
  std::map<std::uint64_t, double> poison{{70, 3.0}, {75, nan}, {76, inf}, {130, 9.0}};
  std::map<std::uint64_t, double> slow_poison{};
  loss_guard_options options{};
  std::uint64_t save_every = 8;
  std::uint64_t die_at = std::numeric_limits<std::uint64_t>::max();  // steps in this process
  std::vector<double> curve{};

  struct saved {
    double model = 2.0;
    std::uint64_t cursor = 0;
    std::size_t steps = 0;
    std::string guard = loss_guard().state();
  };
  std::vector<saved> checkpoints{saved{}};  // the first is the beginning

  [[nodiscard]] static double poison_in(const std::map<std::uint64_t, double>& of,
                                        std::uint64_t batch) {
    const auto found = of.find(batch);
    return found == of.end() ? 0.0 : found->second;
  }

  // One process: trains to the end, or dies.
  void process() {
    loss_guard guard(options);
    saved now = checkpoints.back();
    guard.load_state(now.guard);
    for (std::uint64_t made = 0; now.cursor < 200; ++made) {
      if (made == die_at) return;
      const std::uint64_t batch = now.cursor++;
      if (!guard.take()) continue;
      const double noise = static_cast<double>(batch * 37 % 11) / 100;
      const double loss = now.model + noise + poison_in(poison, batch);
      now.model = 0.999 * now.model + 0.001 * loss + poison_in(slow_poison, batch);
      if (guard.judge(loss) != go_on) {
        while (!guard.accepts(checkpoints.back().guard)) checkpoints.pop_back();
        now = checkpoints.back();
        guard.load_state(now.guard);
        now.guard = guard.state();
        checkpoints.push_back(now);
        continue;
      }
      curve.resize(now.steps);
      curve.push_back(loss);
      now.steps = curve.size();
      if (now.steps % save_every == 0) {
        now.guard = guard.state();
        checkpoints.push_back(now);
      }
    }
    finished = true;
  }
  bool finished = false;
};

TEST_CASE("a run leaves bad batches out, the same ones wherever it was left", "[launch]") {
  run calm;
  calm.process();
  REQUIRE(calm.finished);
  CHECK(calm.curve.size() == 200 - calm.poison.size());
  run clean{.poison = {}};
  clean.process();
  CHECK(clean.curve.size() == 200);
  std::mt19937 random(support::test_seed());
  for (int i = 0; i < 20; ++i) {
    run killed;
    killed.save_every = calm.save_every;
    for (int life = 0; !killed.finished; ++life) {
      // Each life is longer than the one before: one of them gets past the worst stretch.
      killed.die_at = 10 + 3 * static_cast<std::uint64_t>(life) + random() % 30;
      killed.process();
    }
    CHECK(killed.curve == calm.curve);
  }
}

TEST_CASE("a run goes back to before all batches at fault, and leaves them out after any stop",
          "[launch]") {
  // Step 72 is saved with a model that has learnt batch 71; the loss leaps at 72. Batch 75 is bad
  // behind the gap, where a checkpoint has learnt 73 and 74.
  const run ill{.poison = {{75, nan}}, .slow_poison = {{71, 5.0}}, .options = {.batches = 3}};
  run calm = ill;
  calm.process();
  REQUIRE(calm.finished);
  run informed{.poison = {}, .options = ill.options};
  informed.checkpoints.back().guard =
      R"({"version": 1, "batches": 0, "returns": 2, "left_out": [[70, 76]], "losses": []})";
  informed.process();
  CHECK(calm.curve == informed.curve);
  CHECK(calm.checkpoints.back().guard == informed.checkpoints.back().guard);

  // Another world goes on from where the last return had saved, and sees no bad loss: its sums
  // round in another way.
  run moved = ill;
  moved.poison = {};
  moved.slow_poison = {};
  moved.checkpoints = calm.checkpoints;
  while (moved.checkpoints.back().cursor > 64) moved.checkpoints.pop_back();
  CHECK(moved.checkpoints.back().steps == 64);
  moved.curve.assign(calm.curve.begin(), calm.curve.begin() + 64);
  moved.process();
  CHECK(moved.curve == calm.curve);

  std::mt19937 random(support::test_seed());
  for (int i = 0; i < 20; ++i) {
    run killed = ill;
    for (int life = 0; !killed.finished; ++life) {
      killed.die_at = 10 + 3 * static_cast<std::uint64_t>(life) + random() % 30;
      killed.process();
    }
    CHECK(killed.curve == calm.curve);
  }
}

TEST_CASE("a guard accepts what has learnt nothing that is left out", "[launch]") {
  loss_guard guard({.batches = 3});
  const std::string at_start = guard.state();
  for (int i = 0; i < 8; ++i) CHECK(judge(guard, 1.0) == go_on);
  const std::string before = guard.state();
  CHECK(judge(guard, 1.0) == go_on);
  const std::string amid = guard.state();
  CHECK(guard.accepts(amid));
  CHECK(judge(guard, 1.0) == go_on);
  CHECK(judge(guard, nan) == go_back);  // 8 to 10
  CHECK_FALSE(guard.accepts(amid));
  CHECK(guard.accepts(before));
  CHECK(guard.accepts(at_start));
  // Without a text nobody knows what a checkpoint has learnt.
  CHECK(loss_guard().accepts(""));
  CHECK_THROWS_AS(guard.accepts(""), mdstream::error);
  CHECK(guard.load_state(before));
  for (int i = 0; i < 3; ++i) CHECK(!guard.take());
  CHECK(judge(guard, 1.0) == go_on);
  const std::string behind = guard.state();
  CHECK(guard.accepts(behind));
  CHECK(judge(guard, nan) == go_back);  // 10 to 12: one range with those before
  CHECK(guard.left_out() == ranges{{8, 13}});
  CHECK_FALSE(guard.accepts(behind));
  CHECK(guard.accepts(before));
  CHECK(loss_guard().accepts(amid));
  support::expect_error([&] { (void)guard.accepts("{}"); }, errc::corrupt);
}

TEST_CASE("a state brings a guard to where it was saved, to the bit", "[launch]") {
  loss_guard guard = seasoned();
  CHECK(judge(guard, 1.0 / 3) == go_on);
  const std::string text = guard.state();
  CHECK(judge(guard, nan) == go_back);
  CHECK(judge(guard, 2.0) == go_on);

  loss_guard fresh;
  CHECK_FALSE(fresh.load_state(text));
  CHECK(fresh.state() == text);
  CHECK(fresh.batches() == 65);
  CHECK(guard.load_state(text));  // goes back
  CHECK(guard.batches() == 65);
  CHECK(guard.returns() == 1);
  CHECK(!guard.take());
  CHECK(guard.take());
  CHECK_FALSE(fresh.load_state(guard.state()));
  CHECK(fresh.left_out() == ranges{{65, 66}});

  loss_guard without_checkpoint;
  CHECK_FALSE(without_checkpoint.load_state(""));
  CHECK(without_checkpoint.state() == loss_guard().state());
  CHECK(guard.load_state(""));  // back to the beginning
  CHECK(guard.batches() == 0);
  CHECK(guard.returns() == 1);
  CHECK(guard.left_out() == ranges{{65, 66}});

  loss_guard narrow({.window = 2});
  narrow.load_state(text);
  CHECK(narrow.state().find("\"losses\": [1.9, 0.3333333333333333]") != std::string::npos);
}

TEST_CASE("text that is no state is refused and changes nothing", "[launch]") {
  loss_guard guard = seasoned();
  const std::string before = guard.state();
  const auto refuse = [&](const std::string& text) {
    INFO(text);
    support::expect_error([&] { guard.load_state(text); }, errc::corrupt);
    CHECK(guard.state() == before);
  };
  const auto with = [](const std::string& left_out, const std::string& losses) {
    return R"({"version": 1, "batches": 3, "returns": 9, "left_out": [)" + left_out +
           R"(], "losses": [)" + losses + "]}";
  };
  refuse(" ");
  refuse("{}");
  refuse(R"({"version": 2})");
  refuse(with("", "NaN"));
  refuse(with("", "\"1\""));
  refuse(with("[1]", ""));
  refuse(with("[2, 2]", ""));
  refuse(with("[1, -2]", ""));
  guard.load_state(with("[5, 7], [1, 5]", "1, 2.5"));
  CHECK(guard.left_out() == ranges{{1, 7}});
  CHECK(guard.returns() == 9);
}

TEST_CASE("a loss before the first batch is refused and leaves a state that can be loaded",
          "[launch]") {
  loss_guard guard;
  support::expect_error([&] { (void)guard.judge(nan); }, errc::invalid_argument, {"take()"});
  CHECK(guard.left_out().empty());
  loss_guard again;
  CHECK_FALSE(again.load_state(guard.state()));
}

TEST_CASE("options of a guard that can not be right are refused", "[launch]") {
  for (const loss_guard_options& options :
       {loss_guard_options{.window = 1}, loss_guard_options{.deviations = nan},
        loss_guard_options{.part = -1}, loss_guard_options{.batches = 0}})
    support::expect_error([&] { const loss_guard guard(options); }, errc::invalid_argument,
                          {"cannot judge losses"});
}

}  // namespace loss_guard_test
