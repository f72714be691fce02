#include <mdstream/collate/detail/packing.hpp>

#include <mdstream/collate/detail/execute_packed.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

// Which sequence goes where, and the runs that follow from it, without a sample in sight.

namespace packing_test {

namespace collate = mdstream::collate;
using collate::pack_segment;
using collate::truncation;

std::vector<std::uint64_t> random_lengths(std::mt19937& random, std::uint64_t most) {
  std::vector<std::uint64_t> out(random() % 40);
  for (auto& each : out) each = random() % (most + 1);
  return out;
}

/// The runs of a block as (place, length, sample), padding as -1.
std::vector<std::tuple<std::uint64_t, std::uint64_t, std::int64_t>> runs_of(
    const std::vector<pack_segment>& segments, std::uint64_t rows, std::uint64_t row) {
  collate::collate_plan plan;
  plan.segments = segments.data();
  plan.segment_count = segments.size();
  plan.pack_rows = rows;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::int64_t>> out;
  collate::detail::for_each_run(
      plan, row, [&](std::uint64_t at, std::uint64_t length, const pack_segment* segment) {
        out.emplace_back(at, length,
                         segment == nullptr ? -1 : static_cast<std::int64_t>(segment->sample));
      });
  return out;
}

}  // namespace packing_test

TEST_CASE("the longest goes first, into the fullest row that has room", "[collate]") {
  using namespace packing_test;
  std::vector<pack_segment> segments;
  const std::vector<std::uint64_t> lengths{3, 6, 5, 2, 4};
  REQUIRE(collate::detail::pack_rows(lengths, {.row = 8}, segments) == 3);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> placed;
  for (const pack_segment& each : segments) placed.emplace_back(each.sample, each.at);
  // 6 | 5 | 4 begin rows, 3 fills the row of 5, 2 that of 6.
  CHECK(placed == std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                      {1, 0}, {3, 6}, {2, 8}, {0, 13}, {4, 16}});
  CHECK(collate::detail::pack_rows({}, {.row = 8}, segments) == 0);
  CHECK(segments.empty());
}

TEST_CASE("groups count samples, however many sequences each has", "[collate]") {
  using namespace packing_test;
  std::vector<pack_segment> segments;
  const std::vector<std::uint64_t> lengths{1, 1, 1, 1, 1, 1}, samples{0, 0, 1, 3, 6, 7};
  CHECK(collate::detail::pack_rows(lengths, {.row = 8, .group = 2}, segments, samples) == 3);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> placed;
  for (const pack_segment& each : segments) placed.emplace_back(each.sample, each.at);
  CHECK(placed == std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                      {0, 0}, {1, 1}, {2, 2}, {3, 8}, {4, 16}, {5, 17}});
  CHECK(collate::detail::pack_rows(lengths, {.row = 8}, segments, samples) == 1);
}

TEST_CASE("every element has one place, groups share no row, and runs cover the block",
          "[collate]") {
  using namespace packing_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    const std::uint64_t row = 1 + random() % 20, group = random() % 6;
    const auto longer =
        std::array{truncation::error, truncation::truncate, truncation::split}[random() % 3];
    const auto lengths = random_lengths(random, longer == truncation::error ? row : 3 * row);
    std::vector<pack_segment> segments;
    const std::uint64_t rows = collate::detail::pack_rows(
        lengths, {.row = row, .group = group, .longer = longer}, segments);

    std::map<std::uint64_t, std::uint64_t> placed;  // elements of each sample
    std::map<std::uint64_t, std::set<std::uint64_t>> groups_of_row;
    std::uint64_t end = 0;
    for (const pack_segment& each : segments) {
      REQUIRE(each.length != 0);
      REQUIRE(each.at >= end);
      end = each.at + each.length;
      REQUIRE(each.at / row == (end - 1) / row);
      placed[each.sample] += each.length;
      groups_of_row[each.at / row].insert(group == 0 ? 0 : each.sample / group);
    }
    REQUIRE(end <= rows * row);
    REQUIRE(groups_of_row.size() == rows);  // no row is empty
    for (const auto& [number, groups] : groups_of_row) REQUIRE(groups.size() == 1);
    for (std::uint64_t i = 0; i < lengths.size(); ++i)
      REQUIRE(placed[i] == (longer == truncation::split ? lengths[i] : std::min(lengths[i], row)));

    std::uint64_t at = 0;
    std::size_t filled = 0;
    for (const auto& [begin, length, sample] : runs_of(segments, rows, row)) {
      REQUIRE(begin == at);
      REQUIRE(length != 0);
      REQUIRE(begin / row == (begin + length - 1) / row);
      at += length;
      if (sample >= 0) {
        REQUIRE(segments[filled].sample == static_cast<std::uint64_t>(sample));
        REQUIRE(segments[filled++].length == length);
      }
    }
    REQUIRE(at == rows * row);
    REQUIRE(filled == segments.size());
  }
}
