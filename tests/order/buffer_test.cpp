#include <mdstream/order/shuffle/buffer.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace buffer_test {

using mdstream::shuffle::buffer;
using mdstream::shuffle::buffer_options;

/// Drives a buffer as a trainer does, with a loader whose samples are numbers and whose state is
/// the next of them.
class trainer {
 public:
  explicit trainer(const buffer_options& options)
      : options_(options), buffer_(options), rows_(buffer_.slots(), UINT64_MAX) {}

  void resume(const std::string& state) {
    const auto loader = buffer_.load_state(state);
    next_ = loader ? std::stoull(*loader) : 0;
  }
  [[nodiscard]] std::string state() const { return buffer_.state(); }
  [[nodiscard]] bool at_end() const { return buffer_.at_end(); }

  /// Up to `wanted` samples.
  std::vector<std::uint64_t> step(std::uint64_t wanted) {
    while (buffer_.drawable() == 0 && !buffer_.at_end()) {
      const std::uint64_t count = std::min(options_.batch, options_.samples - next_);
      for (const auto& slots : buffer_.put(count, std::to_string(next_)))
        for (std::uint64_t i = 0; i < slots.count; ++i) rows_[slots.first + i] = next_++;
      ++batches_;
    }
    const auto draw = buffer_.draw(std::min(buffer_.drawable(), wanted));
    std::vector<std::uint64_t> out;
    for (std::uint64_t k = 0; k < draw.count; ++k)
      out.push_back(rows_[draw.order(draw.first + k) % draw.slots]);
    return out;
  }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }

 private:
  buffer_options options_;
  buffer buffer_;
  std::vector<std::uint64_t> rows_;
  std::uint64_t next_ = 0;
  std::uint64_t batches_ = 0;
};

std::vector<std::uint64_t> epoch_of(const buffer_options& options, std::uint64_t draw) {
  trainer t(options);
  std::vector<std::uint64_t> out;
  while (!t.at_end())
    for (const std::uint64_t sample : t.step(draw)) out.push_back(sample);
  return out;
}

}  // namespace buffer_test

using namespace buffer_test;

TEST_CASE("a buffer gives every sample once, none too far from where it came", "[order]") {
  for (const std::uint64_t samples : {0U, 1U, 2U, 99U, 1000U})
    for (const std::uint64_t size : {2U, 3U, 10U, 64U, 2000U})
      for (const std::uint64_t batch : {1U, 3U, 50U}) {
        INFO(samples << " samples, " << size << " wait, " << batch << " at a time");
        const auto order = epoch_of({.samples = samples, .size = size, .batch = batch}, 7);
        REQUIRE(order.size() == samples);
        std::vector<bool> seen(samples);
        for (std::uint64_t i = 0; i < samples; ++i) {
          REQUIRE(order[i] < samples);
          REQUIRE(!seen[order[i]]);
          seen[order[i]] = true;
          const std::uint64_t moved = order[i] < i ? i - order[i] : order[i] - i;
          CHECK(moved < std::max<std::uint64_t>(size, 2));
        }
      }
}

TEST_CASE("what a buffer gives does not depend on the sizes of batches and draws", "[order]") {
  const auto expected = epoch_of({.samples = 700, .size = 120, .batch = 1, .seed = 3}, 1);
  for (const std::uint64_t batch : {2U, 31U, 128U, 700U})
    CHECK(epoch_of({.samples = 700, .size = 120, .batch = batch, .seed = 3}, batch) == expected);
  CHECK(epoch_of({.samples = 700, .size = 120, .batch = 1, .seed = 4}, 1) != expected);
  CHECK(epoch_of({.samples = 700, .size = 120, .batch = 1, .seed = 3, .epoch = 1}, 1) != expected);
}

TEST_CASE("a run goes on with the same samples from every state", "[order]") {
  const buffer_options options{.samples = 400, .size = 60, .batch = 8, .seed = 5};
  const auto expected = epoch_of(options, 11);
  std::vector<std::uint64_t> had;
  trainer whole(options);
  while (true) {
    const std::string state = whole.state();
    std::vector<std::uint64_t> sequence = had;
    trainer resumed(options);
    resumed.resume(state);
    // A state right after a resume is as good as the one that it came from.
    trainer twice(options);
    twice.resume(resumed.state());
    while (!twice.at_end())
      for (const std::uint64_t sample : twice.step(5)) sequence.push_back(sample);
    INFO("after " << had.size() << " samples");
    REQUIRE(sequence == expected);
    CHECK(twice.batches() <= (400 - had.size() + 60) / 8 + 3);
    if (whole.at_end()) break;
    for (const std::uint64_t sample : whole.step(11)) had.push_back(sample);
  }
}

TEST_CASE("samples come to all places of a buffer alike", "[order][statistics]") {
  // Over keys, how far a sample in the middle moves: a triangle, as two uniform moves in blocks of
  // half the size give, no place preferred.
  constexpr std::uint64_t size = 32, keys = 20000;
  std::vector<double> moved(2 * size);
  for (std::uint64_t key = 0; key < keys; ++key) {
    const mdstream::detail::windowed_permutation order(10 * size, size,
                                                       mdstream::detail::derive_key(key, 7));
    // Blocks of the two passes begin at multiples of 16, and 8 behind them.
    const std::uint64_t position = 4 * size + key % 16;
    moved[order(position) + size - position] += 1;
  }
  double mean = 0, all = 0;
  for (std::uint64_t d = 0; d < moved.size(); ++d) {
    mean += moved[d] * (static_cast<double>(d) - size);
    all += moved[d];
  }
  CHECK(std::abs(mean / all) < 0.4);
  for (std::uint64_t d = 1; d < 12; ++d) {
    const double right = moved[size + d], left = moved[size - d];
    CHECK(std::abs(right - left) < 5 * std::sqrt(right + left));
  }
}

TEST_CASE("a buffer refuses what can not be right", "[order]") {
  using mdstream::errc;
  support::expect_error([] { buffer({.samples = 9, .size = 1}); }, errc::invalid_argument);
  support::expect_error([] { buffer({.samples = 9, .size = 4, .batch = 0}); },
                        errc::invalid_argument);
  buffer p({.samples = 9, .size = 4, .batch = 3});
  support::expect_error([&] { (void)p.put(4, ""); }, errc::invalid_argument, {"4 samples"});
  support::expect_error([&] { (void)p.draw(1); }, errc::invalid_argument);
  (void)p.put(3, "a");
  support::expect_error([&] { (void)p.put(3, "c"); }, errc::invalid_argument);
}

TEST_CASE("a buffer's state is one line that says whose it is", "[order]") {
  trainer t({.samples = 400, .size = 60, .batch = 8, .seed = 5, .epoch = 2});
  CHECK(t.state() == "mdstream-pool 2 400 60 5 2 0 0 ");
  for (int i = 0; i < 10; ++i) (void)t.step(11);
  CHECK(t.state() == "mdstream-pool 2 400 60 5 2 97 56 56");
}

TEST_CASE("a buffer refuses the state of another", "[order]") {
  using mdstream::errc;
  const buffer_options options{.samples = 1000, .size = 100, .batch = 10, .seed = 1, .epoch = 4};
  trainer saved(options);
  for (int i = 0; i < 30; ++i) (void)saved.step(20);
  const auto refused = [&](buffer_options other, std::string_view field, std::string_view had,
                           std::string_view has) {
    buffer p(other);
    support::expect_error([&] { p.load_state(saved.state()); }, errc::state_mismatch,
                          {"saved with " + std::string(field) + ' ' + std::string(had) + ',',
                           "has " + std::string(has)});
    CHECK(p.drawn() == 0);
  };
  auto other = options;
  other.samples = 1001;
  refused(other, "samples", "1000", "1001");
  other = options;
  other.size = 300;
  refused(other, "size", "100", "300");
  other.seed = 2;  // the first field that differs is named
  refused(other, "size", "100", "300");
  other = options;
  other.seed = 2;
  refused(other, "seed", "1", "2");
  other = options;
  other.epoch = 7;
  refused(other, "epoch", "4", "7");

  // How many samples come at a time is no part of it: the order is the same.
  const auto expected = epoch_of(options, 20);
  other = options;
  other.batch = 64;
  trainer resumed(other);
  resumed.resume(saved.state());
  std::vector<std::uint64_t> rest;
  while (!resumed.at_end())
    for (const std::uint64_t sample : resumed.step(20)) rest.push_back(sample);
  CHECK(rest ==
        std::vector(expected.end() - static_cast<std::ptrdiff_t>(rest.size()), expected.end()));
  CHECK(!rest.empty());
}

TEST_CASE("a buffer refuses what is no state", "[order]") {
  using mdstream::errc;
  buffer p({.samples = 9, .size = 4, .batch = 3});
  const auto refused = [&](const std::string& text, errc code, std::string_view piece) {
    INFO(text);
    support::expect_error([&] { p.load_state(text); }, code, {piece});
  };
  for (const char* text :
       {"", "a", "mdstream-pool ", "mdstream-pool 2 ", "mdstream-pool x 9 4 0 0 0 0 a",
        "mdstream-pool 2 9 4 0 0 3", "mdstream-pool 2 9 4 0 0 x 0 a",
        "mdstream-pool 2 9 4 0 0 -1 0 a", "mdstream-pool 2 9 4 0 0 99999999999999999999 0 a"})
    refused(text, errc::corrupt, "no state of a shuffle buffer");
  refused("mdstream-pool 1 3 0 a", errc::unsupported, "version 1");
  refused("mdstream-pool 3 9 4 0 0 3 0 a", errc::unsupported, "version 3");
  refused("mdstream-pool 2 9 4 0 0 10 0 a", errc::corrupt, "10");
  refused("mdstream-pool 2 9 4 0 0 0 4 a", errc::corrupt, "4");
  // Without the loader's state the loader would begin with sample 0, and the buffer with sample 2.
  refused("mdstream-pool 2 9 4 0 0 6 2 ", errc::corrupt, "2");
  CHECK(p.load_state("mdstream-pool 2 9 4 0 0 6 2 a") == "a");
  CHECK_FALSE(p.load_state("mdstream-pool 2 9 4 0 0 1 0 ").has_value());
}
