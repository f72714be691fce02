#include <mdstream/collate/packed.hpp>

#include <mdstream/collate/detail/source.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "collate/samples.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace packed_test {

namespace mds = mdstream;
namespace collate = mdstream::collate;
using collate_samples::bytes;
using lengths_list = std::vector<std::uint64_t>;

const std::vector<collate::source_column> columns{{.type = mds::dtype::int32, .shaped = true},
                                                  {.type = mds::dtype::int64, .value_bytes = 8},
                                                  {.type = mds::dtype::uint16, .shaped = true}};

/// Sample i has two sequences of its length: 100 i + 1, 100 i + 2, ... and the same negated.
std::vector<bytes> samples(const lengths_list& lengths) {
  std::vector<bytes> raw;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<std::uint16_t> tokens(lengths[i]);
    std::iota(tokens.begin(), tokens.end(), static_cast<std::uint16_t>(100 * i + 1));
    std::vector<std::int32_t> labels;
    for (const auto token : tokens) labels.push_back(-token);
    bytes id;
    const auto number = static_cast<std::int64_t>(i);
    collate_samples::append(id, &number, sizeof number);
    raw.push_back(collate_samples::sample_of(columns, {collate_samples::shaped_value(labels), id,
                                                       collate_samples::shaped_value(tokens)}));
  }
  return raw;
}

std::vector<collate::pack_segment> pack(const lengths_list& lengths,
                                        const collate::detail::packing_rules& rules,
                                        std::uint64_t& rows) {
  std::vector<collate::pack_segment> out;
  rows = collate::detail::pack_rows(lengths, rules, out);
  return out;
}

}  // namespace packed_test

TEST_CASE("packed rows hold every element once, and say what lies where") {
  using namespace packed_test;
  using collator = collate::packed<collate::packing{.row = 8, .pad_value = 9}>;
  const auto out = collate_samples::run<collator>(columns, samples({3, 6, 0, 5}));
  // Longest first: 6 begins row 0, 5 row 1, and 3 fills row 1 up.
  REQUIRE(out.rows == 2);
  REQUIRE(out.outputs.size() == 6);
  CHECK(out.values<std::uint16_t>(2) == std::vector<std::uint16_t>{101, 102, 103, 104, 105, 106, 9,
                                                                   9, 301, 302, 303, 304, 305, 1, 2,
                                                                   3});
  CHECK(out.values<std::int32_t>(0) == std::vector<std::int32_t>{-101, -102, -103, -104, -105, -106,
                                                                 9, 9, -301, -302, -303, -304, -305,
                                                                 -1, -2, -3});
  CHECK(out.values<std::int64_t>(1) == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(out.outputs[3].kind == collate::output_kind::cu_seqlens);
  CHECK(out.values<std::int32_t>(3) == std::vector<std::int32_t>{0, 6, 8, 13, 16});
  CHECK(out.outputs[4].kind == collate::output_kind::position_ids);
  CHECK(out.values<std::int32_t>(4) ==
        std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 0, 1, 0, 1, 2, 3, 4, 0, 1, 2});
  CHECK(out.outputs[5].kind == collate::output_kind::segment_ids);
  CHECK(out.values<std::int32_t>(5) ==
        std::vector<std::int32_t>{1, 1, 1, 1, 1, 1, -1, -1, 3, 3, 3, 3, 3, 0, 0, 0});
}

TEST_CASE("groups share no row, and a group's packs depend on it alone") {
  using namespace packed_test;
  std::uint64_t rows = 0;
  const auto both = pack({5, 2, 4, 3, 1, 1}, {.row = 8, .group = 3}, rows);
  CHECK(rows == 3);
  const auto second = pack({3, 1, 1}, {.row = 8, .group = 3}, rows);
  CHECK(rows == 1);
  REQUIRE(both.size() == 6);
  for (std::size_t i = 0; i < second.size(); ++i) {
    CHECK(both[3 + i].sample == second[i].sample + 3);
    CHECK(both[3 + i].at == second[i].at + 16);
  }
}

TEST_CASE("sequences longer than a row are cut or split") {
  using namespace packed_test;
  std::uint64_t rows = 0;
  const auto cut = pack({9}, {.row = 4, .longer = collate::truncation::truncate}, rows);
  REQUIRE(cut.size() == 1);
  CHECK(cut[0].length == 4);
  CHECK(rows == 1);

  using splitting =
      collate::packed<collate::packing{.row = 4, .longer = collate::truncation::split}>;
  const auto out = collate_samples::run<splitting>(columns, samples({9, 3}));
  CHECK(out.rows == 3);
  CHECK(out.values<std::uint16_t>(2) ==
        std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6, 7, 8, 101, 102, 103, 9});
  CHECK(out.values<std::int32_t>(5) ==
        std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0});
  CHECK(collate::longest_sequence<splitting> == 0);
  CHECK(collate::longest_sequence<collate::packed<collate::packing{.row = 4}>> == 4);
}

TEST_CASE("a batch without elements has no rows") {
  using namespace packed_test;
  const auto out =
      collate_samples::run<collate::packed<collate::packing{.row = 4}>>(columns, samples({0, 0}));
  CHECK(out.rows == 0);
  CHECK(out.values<std::int32_t>(3) == std::vector<std::int32_t>{0});
  CHECK(out.values<std::int32_t>(5).empty());
}

TEST_CASE("whatever the lengths, packs are whole, disjoint and no more than twice the best") {
  using namespace packed_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int turn = 0; turn < 200; ++turn) {
    const std::uint64_t row = 1 + random() % 40;
    lengths_list lengths(random() % 60);
    for (auto& length : lengths) length = random() % (2 * row);
    const std::uint64_t group = random() % 3 == 0 ? 0 : 1 + random() % 20;
    std::uint64_t rows = 0;
    const auto segments =
        pack(lengths, {.row = row, .group = group, .longer = collate::truncation::split}, rows);
    std::uint64_t end = 0, elements = 0;
    lengths_list had(lengths.size());
    std::vector<std::uint64_t> group_of_row(rows, ~std::uint64_t{0});
    for (const auto& segment : segments) {
      REQUIRE(segment.at >= end);
      end = segment.at + segment.length;
      elements += segment.length;
      REQUIRE(segment.at / row == (end - 1) / row);
      had[segment.sample] += segment.length;
      const std::uint64_t own = group == 0 ? 0 : segment.sample / group;
      auto& of_row = group_of_row[segment.at / row];
      REQUIRE((of_row == own || of_row == ~std::uint64_t{0}));
      of_row = own;
    }
    REQUIRE(had == lengths);
    REQUIRE(end <= rows * row);
    const std::uint64_t groups = group == 0 ? 1 : (lengths.size() + group - 1) / group;
    REQUIRE(rows * row <= 2 * elements + groups * row);
  }
}

TEST_CASE("what can not share the rows of a pack is refused by name") {
  using namespace packed_test;
  const auto labels = collate_samples::shaped_value(std::vector<std::int32_t>{1, 2});
  const auto tokens = collate_samples::shaped_value(std::vector<std::uint16_t>{1, 2, 3});
  const auto raw = collate_samples::sample_of(columns, {labels, bytes(8), tokens});
  try {
    collate_samples::run<collate::packed<collate::packing{.row = 8}>>(columns, {raw});
    FAIL("sequences of different lengths were packed");
  } catch (const collate::detail::bad_sample& e) {
    CHECK(std::string(e.what()).find("sequences of 2 and of 3 elements") != std::string::npos);
  }
  const auto layout = mds::sample_layout::mds({{"text", "str"}, {"id", "int"}});
  support::expect_error(
      [&] {
        (void)collate::detail::sources_of<collate::packed<collate::packing{.row = 8}>>(layout);
      },
      mds::errc::unsupported, {"packed", "variable ndarray", "text: str"});
}
