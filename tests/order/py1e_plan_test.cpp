#include <mdstream/order/detail/resample.hpp>
#include <mdstream/order/detail/shuffle/py1e_plan.hpp>

#include <mdstream/order/shuffle/py1e.hpp>

#include "support/catch.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace py1e_plan_test {

using ids = std::vector<std::int64_t>;

/// Keeps plans in memory, and counts.
struct memory {
  std::map<std::string, std::vector<std::byte>, std::less<>> files{};
  int loads = 0, saves = 0;

  mdstream::detail::plan_store store() {
    return {.load =
                [this](std::string_view name) {
                  ++loads;
                  const auto found = files.find(name);
                  return found == files.end() ? std::vector<std::byte>{} : found->second;
                },
            .save =
                [this](std::string_view name, mdstream::bytes_view content) {
                  ++saves;
                  files[std::string(name)].assign(content.begin(), content.end());
                }};
  }
};

mdstream::shuffle_task task_of(const mdstream::detail::plan_store* plans, std::uint64_t epoch) {
  const std::vector<mdstream::stream_shards> streams{{.samples = {50, 7, 120, 33, 90, 10}}};
  const auto table = std::make_shared<mdstream::detail::shard_table>(streams);
  mdstream::order_options options;
  options.shuffle = true;
  const std::vector<std::uint64_t> choose{500};
  return {.units = mdstream::detail::resampler(table, 9176, 3, options).units(0, 1, choose),
          .num_canonical_nodes = 3,
          .seed = 9176,
          .epoch = epoch,
          .block_size = 60,
          .plans = plans};
}

ids order_of(const mdstream::shuffle_task& task) {
  auto sequence = mdstream::shuffle::py1e{}.open(task);
  ids out(sequence.size());
  sequence.read(0, out);
  return out;
}

TEST_CASE("a kept plan gives the same order", "[order]") {
  memory kept;
  const auto store = kept.store();
  const ids expected = order_of(task_of(nullptr, 3));
  CHECK(order_of(task_of(&store, 3)) == expected);
  CHECK(kept.saves == 1);
  CHECK(order_of(task_of(&store, 3)) == expected);
  CHECK(kept.saves == 1);
  CHECK(order_of(task_of(&store, 4)) != expected);
  CHECK(kept.saves == 2);
}

TEST_CASE("a damaged plan is computed again", "[order]") {
  memory kept;
  const auto store = kept.store();
  const ids expected = order_of(task_of(&store, 3));
  const auto good = kept.files.begin()->second;
  for (std::size_t i = 0; i < good.size(); i += 1 + good.size() / 97) {
    kept.files.begin()->second = good;
    kept.files.begin()->second[i] ^= std::byte{16};
    REQUIRE(order_of(task_of(&store, 3)) == expected);
  }
  for (std::size_t length = 0; length < good.size(); length += 61) {
    kept.files.begin()->second.assign(good.begin(),
                                      good.begin() + static_cast<std::ptrdiff_t>(length));
    REQUIRE(order_of(task_of(&store, 3)) == expected);
  }
  CHECK(kept.saves > 100);
}

/// The words of a kept plan: a header of five, of which the last is the checksum; the number of the
/// first entry of each node; and eight for each entry.
struct plan_words {
  explicit plan_words(const std::vector<std::byte>& from) : all(from.size() / 8) {
    std::memcpy(all.data(), from.data(), from.size());
  }
  [[nodiscard]] std::size_t nodes() const { return all[2]; }
  [[nodiscard]] std::size_t entries() const { return all[3]; }
  std::uint64_t& first(std::size_t node) { return all[5 + node]; }
  std::uint64_t& word(std::size_t entry, std::size_t which) {
    return all[5 + nodes() + 8 * entry + which];
  }
  /// The file, with the checksum that is right of it.
  [[nodiscard]] std::vector<std::byte> sealed() {
    std::uint64_t lanes[8] = {}, sum = 0;
    for (std::size_t e = 0; e < entries(); ++e)
      for (std::size_t i = 0; i < 8; ++i)
        lanes[i] = mdstream::detail::derive_key(lanes[i], word(e, i));
    for (std::size_t n = 0; n < nodes(); ++n) sum = mdstream::detail::derive_key(sum, first(n));
    for (const std::uint64_t lane : lanes) sum = mdstream::detail::derive_key(sum, lane);
    all[4] = sum;
    const auto bytes = std::as_bytes(std::span(all));
    return {bytes.begin(), bytes.end()};
  }

  std::vector<std::uint64_t> all;
};

TEST_CASE("a plan whose checksum is right and that names other samples is computed again",
          "[order]") {
  memory kept;
  const auto store = kept.store();
  const ids expected = order_of(task_of(&store, 3));
  const auto good = kept.files.begin()->second;
  REQUIRE(plan_words(good).sealed() == good);

  std::size_t whole = 0, part = 0;  // numbers of an entry of each kind
  for (std::size_t e = 0; e + 1 < plan_words(good).entries(); ++e) {
    const bool is_whole = static_cast<std::uint32_t>(plan_words(good).word(e, 2)) == ~0U;
    (is_whole ? whole : part) = e;
  }
  REQUIRE(static_cast<std::uint32_t>(plan_words(good).word(whole, 2)) == ~0U);
  REQUIRE(static_cast<std::uint32_t>(plan_words(good).word(part, 2)) != ~0U);
  const auto is_computed_again = [&](const auto& change) {
    plan_words words(good);
    change(words);
    kept.files.begin()->second = words.sealed();
    REQUIRE(kept.files.begin()->second != good);
    const int before = kept.saves;
    CHECK(order_of(task_of(&store, 3)) == expected);
    CHECK(kept.saves == before + 1);
  };
  const std::uint64_t high_half = std::uint64_t{0xffff'ffff} << 32;
  for (const std::uint64_t first :
       {std::uint64_t{310}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    is_computed_again([&](plan_words& of) { of.word(whole, 1) = first; });
    is_computed_again([&](plan_words& of) { of.word(part, 1) = first; });
  }
  is_computed_again([&](plan_words& of) {  // of a unit that there is not
    of.word(part, 2) = (of.word(part, 2) & high_half) | 1000;
  });
  is_computed_again([&](plan_words& of) { --of.word(of.entries() - 1, 0); });  // a sample less
  is_computed_again([&](plan_words& of) { ++of.first(1); });  // a span of another node
  is_computed_again([&](plan_words& of) {                     // one node less
    --of.all[2];
    of.all.erase(of.all.begin() + 5 + 1);
  });
}

TEST_CASE("a sequence that was moved from takes another", "[order]") {
  auto one = mdstream::shuffle::py1e{}.open(task_of(nullptr, 3));
  const auto moved = std::move(one);
  one = moved;
  ids out(one.size());
  one.read(0, out);
  CHECK(out == order_of(task_of(nullptr, 3)));
}

}  // namespace py1e_plan_test
