#include <mdstream/collate/padded.hpp>

#include <mdstream/collate/none.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "collate/samples.hpp"
#include "support/catch.hpp"

namespace padded_test {

namespace mds = mdstream;
namespace collate = mdstream::collate;
using collate_samples::bytes;

const std::vector<collate::source_column> columns{{.type = mds::dtype::int64, .value_bytes = 8},
                                                  {.type = mds::dtype::uint8},
                                                  {.type = mds::dtype::uint16, .shaped = true}};

/// Samples whose sequences are {0, 1, 2, ...} of these lengths.
std::vector<bytes> samples(const std::vector<std::size_t>& lengths) {
  std::vector<bytes> raw;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    bytes id;
    const auto number = static_cast<std::int64_t>(i);
    collate_samples::append(id, &number, sizeof number);
    std::vector<std::uint16_t> sequence(lengths[i]);
    for (std::size_t k = 0; k < sequence.size(); ++k) sequence[k] = static_cast<std::uint16_t>(k);
    raw.push_back(collate_samples::sample_of(
        columns,
        {id, collate_samples::text(std::string(i, 'x')), collate_samples::shaped_value(sequence)}));
  }
  return raw;
}

}  // namespace padded_test

TEST_CASE("sequences become rows of the longest, with mask and lengths") {
  using namespace padded_test;
  const auto out = collate_samples::run<collate::padded<collate::padding{.pad_value = 7}>>(
      columns, samples({2, 0, 3}));
  REQUIRE(out.outputs.size() == 3);
  CHECK(out.outputs[0].kind == collate::output_kind::dense);
  CHECK(out.values<std::int64_t>(0) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(out.outputs[1].kind == collate::output_kind::ragged);
  CHECK(out.offsets(1, 3) == std::vector<std::int64_t>{0, 0, 1, 3});
  const auto& sequences = out.outputs[2];
  CHECK(sequences.kind == collate::output_kind::padded);
  CHECK(sequences.row_elements == 3);
  CHECK(out.values<std::uint16_t>(2) == std::vector<std::uint16_t>{0, 1, 7, 7, 7, 7, 0, 1, 2});
  CHECK(out.at<std::uint8_t>(sequences.mask_at, 9) ==
        std::vector<std::uint8_t>{1, 1, 0, 0, 0, 0, 1, 1, 1});
  CHECK(out.at<std::int64_t>(sequences.offsets_at, 3) == std::vector<std::int64_t>{2, 0, 3});
  for (const auto& column : out.outputs)
    for (const std::uint64_t offset : {column.values_at, column.offsets_at, column.mask_at})
      CHECK(offset % collate::alignment == 0);
}

TEST_CASE("rows are rounded up to a multiple, or have a length of their own") {
  using namespace padded_test;
  const auto rounded =
      collate_samples::run<collate::padded<collate::padding{.multiple = 8}>>(columns, samples({9}));
  CHECK(rounded.outputs[2].row_elements == 16);
  const auto fixed = collate_samples::run<collate::padded<collate::padding{.length = 4}>>(
      columns, samples({1, 4}));
  CHECK(fixed.values<std::uint16_t>(2) == std::vector<std::uint16_t>{0, 0, 0, 0, 0, 1, 2, 3});
  const auto empty = collate_samples::run<collate::padded<>>(columns, samples({0, 0}));
  CHECK(empty.outputs[2].row_elements == 0);
  CHECK(empty.at<std::int64_t>(empty.outputs[2].offsets_at, 2) == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("a sequence that is too long is cut where the options say so") {
  using namespace padded_test;
  using truncating =
      collate::padded<collate::padding{.length = 2, .longer = collate::truncation::truncate}>;
  const auto out = collate_samples::run<truncating>(columns, samples({5, 1}));
  CHECK(out.values<std::uint16_t>(2) == std::vector<std::uint16_t>{0, 1, 0, 0});
  CHECK(out.at<std::int64_t>(out.outputs[2].offsets_at, 2) == std::vector<std::int64_t>{2, 1});
  CHECK(collate::longest_sequence<truncating> == 0);
  CHECK(collate::longest_sequence<collate::padded<collate::padding{.length = 2}>> == 2);
}

TEST_CASE("texts are padded where the options say so") {
  using namespace padded_test;
  const auto out =
      collate_samples::run<collate::padded<collate::padding{.pad_value = 95, .texts = true}>>(
          columns, samples({1, 1, 1}));
  CHECK(out.outputs[1].kind == collate::output_kind::padded);
  const auto text = out.values<char>(1);
  CHECK(std::string(text.begin(), text.end()) == "__x_xx");
}

TEST_CASE("rows are filled with an element of the column, whatever its type") {
  using namespace padded_test;
  const std::vector<collate::source_column> floats{{.type = mds::dtype::float32, .shaped = true}};
  const auto out =
      collate_samples::run<collate::padded<collate::padding{.length = 3, .pad_value = -0.5}>>(
          floats, {collate_samples::sample_of(
                      floats, {collate_samples::shaped_value(std::vector<float>{1, 2})})});
  CHECK(out.values<float>(0) == std::vector<float>{1, 2, -0.5F});
  CHECK(collate::detail::pad_bits(-100, mds::dtype::int64) == static_cast<std::uint64_t>(-100));
  CHECK(collate::detail::pad_bits(1.0, mds::dtype::float16) == 0x3c00);
  CHECK(collate::detail::pad_bits(1.0, mds::dtype::float64) == 0x3ff0'0000'0000'0000);
}

TEST_CASE("a block that no memory holds is refused") {
  CHECK(mdstream::collate::detail::block_bytes(3, 5, 2) == 30);
  CHECK_THROWS_AS(mdstream::collate::detail::block_bytes(1U << 20, 1ULL << 40, 4), mdstream::error);
}

TEST_CASE("the collator that does nothing leaves samples as they are") {
  using namespace padded_test;
  const auto raw = samples({3, 0, 2});
  const auto out = collate_samples::run<collate::none>(columns, raw);
  REQUIRE(out.outputs.size() == 1);
  const auto offsets = out.offsets(0, raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto begin = static_cast<std::size_t>(offsets[i]);
    REQUIRE(static_cast<std::size_t>(offsets[i + 1]) - begin == raw[i].size());
    CHECK(out.at<std::byte>(out.outputs[0].values_at + begin, raw[i].size()) == raw[i]);
  }
}
