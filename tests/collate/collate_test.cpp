#include <mdstream/collate/execute.hpp>

#include <mdstream/collate/dense.hpp>
#include <mdstream/collate/detail/source.hpp>
#include <mdstream/collate/ragged.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "collate/samples.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace mds = mdstream;
namespace collate = mdstream::collate;

namespace collate_test {

using collate_samples::append;
using collate_samples::bytes;
using collate_samples::run;
using collate_samples::sample_of;
using collate_samples::shaped_value;

std::optional<collate::detail::bad_sample> refusal(
    const std::vector<collate::source_column>& sources, const bytes& raw) {
  try {
    run<collate::ragged>(sources, {raw});
  } catch (const collate::detail::bad_sample& e) {
    return e;
  }
  return std::nullopt;
}

using collate_samples::text;

const std::vector<collate::source_column> mixed{{.type = mds::dtype::int64, .value_bytes = 8},
                                                {.type = mds::dtype::uint8},
                                                {.type = mds::dtype::uint16, .shaped = true},
                                                {.type = mds::dtype::float32, .value_bytes = 12}};

}  // namespace collate_test

using namespace std::string_literals;

TEST_CASE("a dense batch of one column is its samples back to back") {
  const std::vector<collate::source_column> sources{{.type = mds::dtype::uint16, .value_bytes = 6}};
  std::vector<collate_test::bytes> raw;
  std::vector<std::uint16_t> expected;
  for (std::uint16_t i = 0; i < 40; ++i) {
    const std::uint16_t row[3]{i, static_cast<std::uint16_t>(i * 2), 7};
    raw.emplace_back();
    collate_test::append(raw.back(), row, sizeof row);
    expected.insert(expected.end(), row, row + 3);
  }
  const auto out = collate_test::run<collate::dense>(sources, raw);
  REQUIRE(out.outputs.size() == 1);
  CHECK(out.outputs[0].kind == collate::output_kind::dense);
  CHECK(out.values<std::uint16_t>(0) == expected);
}

TEST_CASE("samples of one column are copied whole, whatever their size, and nothing beyond them") {
  const std::size_t bytes = GENERATE(1, 4, 7, 8, 16, 24, 32, 64, 100, 128, 200);
  INFO(bytes << " bytes");
  const std::vector<collate::source_column> sources{
      {.type = mds::dtype::uint8, .value_bytes = bytes}};
  std::vector<collate_test::bytes> raw;
  collate_test::bytes expected;
  for (std::size_t i = 0; i < 5; ++i) {
    raw.emplace_back(bytes);
    for (std::size_t k = 0; k < bytes; ++k) raw.back()[k] = static_cast<std::byte>(i * 50 + k);
    collate_test::append(expected, raw.back().data(), bytes);
  }
  CHECK(collate_test::run<collate::dense>(sources, raw).values<std::byte>(0) == expected);
}

TEST_CASE("fixed columns become dense, variable ones values and offsets") {
  const auto& sources = collate_test::mixed;
  std::vector<collate_test::bytes> raw;
  std::vector<std::int64_t> ids, text_offsets{0}, array_offsets{0};
  std::string texts;
  std::vector<std::uint16_t> arrays;
  std::vector<float> vectors;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (std::int64_t i = 0; i < 33; ++i) {
    const std::string text(random() % 9, static_cast<char>('a' + i % 26));
    std::vector<std::uint16_t> array(random() % 5);
    for (auto& x : array) x = static_cast<std::uint16_t>(random());
    const float vector[3]{1.0F, 2.0F, static_cast<float>(i)};
    collate_test::bytes id, floats;
    collate_test::append(id, &i, sizeof i);
    collate_test::append(floats, vector, sizeof vector);
    raw.push_back(collate_test::sample_of(
        sources, {id, collate_test::text(text), collate_test::shaped_value(array), floats}));
    ids.push_back(i);
    texts += text;
    text_offsets.push_back(static_cast<std::int64_t>(texts.size()));
    arrays.insert(arrays.end(), array.begin(), array.end());
    array_offsets.push_back(static_cast<std::int64_t>(arrays.size()));
    vectors.insert(vectors.end(), vector, vector + 3);
  }
  const auto out = collate_test::run<collate::ragged>(sources, raw);
  REQUIRE(out.outputs.size() == 4);
  CHECK(out.values<std::int64_t>(0) == ids);
  CHECK(out.offsets(1, raw.size()) == text_offsets);
  const auto characters = out.values<char>(1);
  CHECK(std::string(characters.begin(), characters.end()) == texts);
  CHECK(out.offsets(2, raw.size()) == array_offsets);
  CHECK(out.values<std::uint16_t>(2) == arrays);
  CHECK(out.values<float>(3) == vectors);
  for (const auto& column : out.outputs) {
    CHECK(column.values_at % collate::alignment == 0);
    CHECK(column.offsets_at % collate::alignment == 0);
  }
}

TEST_CASE("a batch without samples has no values and one offset") {
  const auto out = collate_test::run<collate::ragged>(collate_test::mixed, {});
  CHECK(out.offsets(1, 0) == std::vector<std::int64_t>{0});
  CHECK(out.values<std::int64_t>(0).empty());
}

TEST_CASE("samples that contradict themselves are refused with place and cause") {
  using collate_test::refusal;
  const std::vector<collate::source_column> text_only{{.type = mds::dtype::uint8}};
  const std::vector<collate::source_column> array_only{
      {.type = mds::dtype::uint16, .shaped = true}};
  const auto good = collate_test::sample_of(text_only, {collate_test::text("hello")});
  CHECK_FALSE(refusal(text_only, good));

  SECTION("shorter than its size header") {
    const auto e = refusal(text_only, {good.begin(), good.begin() + 3});
    REQUIRE(e);
    CHECK(e->what() == "the size header of a sample is cut short"s);
  }
  SECTION("cut short or too long") {
    CHECK(refusal(text_only, {good.begin(), good.end() - 1}));
    auto longer = good;
    longer.push_back(std::byte{0});
    const auto e = refusal(text_only, longer);
    REQUIRE(e);
    CHECK(e->what() == "a sample of 10 bytes whose columns add up to 9"s);
  }
  SECTION("a size that would overflow") {
    auto huge = good;
    const std::uint32_t size = 0xffffffff;
    std::memcpy(huge.data(), &size, sizeof size);
    CHECK(refusal(text_only, huge));
  }
  SECTION("ndarray shapes") {
    const auto array = [&](const collate_test::bytes& value) {
      return refusal(array_only, collate_test::sample_of(array_only, {value}));
    };
    CHECK_FALSE(array(collate_test::shaped_value<std::uint16_t>({1, 2, 3})));
    CHECK(array({}));
    CHECK(array({std::byte{0xff}, std::byte{1}}));  // 63 dimensions of 8 bytes
    auto short_by_one = collate_test::shaped_value<std::uint16_t>({1, 2, 3});
    short_by_one.pop_back();
    const auto e = array(short_by_one);
    REQUIRE(e);
    CHECK(e->byte() == 4);
    collate_test::bytes product;  // 2^64 elements: the product wraps to zero
    const std::uint8_t head = 2 << 2 | 2;
    const std::uint32_t extent = 0xffffffff;
    collate_test::append(product, &head, 1);
    collate_test::append(product, &extent, 4);
    collate_test::append(product, &extent, 4);
    CHECK(array(product));
  }
}

TEST_CASE("a collator refuses columns that it can not take, by name") {
  const auto layout = mds::sample_layout::mds({{"label", "int32"}, {"text", "str"}});
  CHECK(collate::detail::sources_of<collate::ragged>(layout).size() == 2);
  support::expect_error([&] { (void)collate::detail::sources_of<collate::dense>(layout); },
                        mds::errc::unsupported, {"dense", "text", "str"});
  const auto untyped = mds::sample_layout::mds({{"x", "ndarray"}});
  support::expect_error([&] { (void)collate::detail::sources_of<collate::ragged>(untyped); },
                        mds::errc::unsupported, {"\"x\"", "ndarray"});
}
