#include <mdstream/collate/views.hpp>
#include <mdstream/format/ndarray.hpp>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace mds = mdstream;

namespace views_test {

template <class View>
concept view_of_values =
    std::ranges::random_access_range<View> && std::ranges::sized_range<View> &&
    std::ranges::common_range<View> && std::ranges::borrowed_range<View> &&
    std::ranges::view<View> && requires(const View& view) {
      { view.empty() } -> std::same_as<bool>;
      requires std::same_as<decltype(view[0]), std::ranges::range_reference_t<View>>;
    };
template <class View>
concept view_of_a_column = view_of_values<View> && requires(const View& view) {
  { *view.values().data() } -> std::same_as<decltype(*view.data())>;
};

static_assert(view_of_a_column<mds::scalar_view<double>>);
static_assert(view_of_a_column<mds::dense_view<double>>);
static_assert(view_of_a_column<mds::ragged_view<double>>);
static_assert(view_of_a_column<mds::ragged_view<char>>);
static_assert(view_of_a_column<mds::padded_view<double>>);
static_assert(view_of_a_column<mds::packed_view<double>>);
static_assert(view_of_values<mds::packing_view>);
static_assert(view_of_values<mds::unaligned_view<double>>);
static_assert(view_of_values<mds::ndarray_view<double>>);

static_assert(std::ranges::contiguous_range<mds::scalar_view<double>>);
static_assert(std::convertible_to<mds::scalar_view<double>, std::span<const double>>);
// Its size() counts samples, and data() points to elements: no span must come of them.
static_assert(!std::constructible_from<std::span<const double>, mds::dense_view<double>>);
static_assert(!std::constructible_from<std::span<const double>, mds::packed_view<double>>);

/// What a range-for, an index and an algorithm see is the same, forwards and backwards.
template <class View>
void is_a_range(const View& view) {
  std::size_t i = 0;
  for (const auto& value : view) {
    CHECK(std::ranges::equal(value, view[i]));
    ++i;
  }
  CHECK(i == view.size());
  CHECK(view.empty() == (i == 0));
  for (const auto& value : view | std::views::reverse) CHECK(std::ranges::equal(value, view[--i]));
  const auto begin = view.begin();
  CHECK(view.end() - begin == static_cast<std::ptrdiff_t>(view.size()));
  CHECK(begin + static_cast<std::ptrdiff_t>(view.size()) == view.end());
  CHECK((begin < view.end()) == !view.empty());
  if (!view.empty()) CHECK(std::ranges::equal(begin[0], *begin));
}

std::vector<int> numbers(int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace views_test

TEST_CASE("a scalar view is a range of numbers") {
  const auto data = views_test::numbers(24);
  const mds::scalar_view<int> labels(data.data(), 24);
  CHECK(labels.size() == 24);
  CHECK(labels.shape() == mds::array_shape{24});
  CHECK(labels[5] == 5);
  CHECK(labels.values().data() == data.data());
  CHECK(std::ranges::equal(labels, data));
  const auto found = std::ranges::find(mds::scalar_view<int>(data.data(), 24), 7);
  CHECK(*found == 7);  // no dangling iterator: the view was a temporary
  CHECK(mds::scalar_view<int>().empty());
}

TEST_CASE("a dense view is a range of arrays and knows their shape") {
  const auto data = views_test::numbers(24);
  const mds::array_shape element{2, 3};
  const mds::dense_view<int> view(data.data(), 4, element);
  CHECK(view.shape() == mds::array_shape{4, 2, 3});
  CHECK(view.size() == 4);
  CHECK(view.values().size() == 24);
  CHECK(view[3].front() == 18);
  CHECK(view[3].size() == 6);
  views_test::is_a_range(view);
  views_test::is_a_range(mds::dense_view<int>());
}

TEST_CASE("a ragged view gives the elements of each sample") {
  const std::string text = "onethree";
  const std::vector<std::int64_t> offsets{0, 3, 3, 8};
  const mds::ragged_view<char> view(text.data(), text.size(), offsets.data(), 3);
  REQUIRE(view.size() == 3);
  CHECK(view[0] == "one");
  CHECK(view[1].empty());
  CHECK(view[2] == "three");
  CHECK(view.offsets().size() == 4);
  CHECK(view.values().size() == 8);
  CHECK(view.data() == text.data());
  views_test::is_a_range(view);
  CHECK(std::ranges::count_if(view, [](std::string_view each) { return each.empty(); }) == 1);
}

TEST_CASE("a padded view is a range of values without their padding") {
  const auto data = views_test::numbers(12);
  const std::vector<std::uint8_t> mask{1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
  const std::vector<std::int64_t> lengths{2, 0, 4};
  const mds::padded_view<int> view(data.data(), mask.data(), lengths.data(), 3, 4);
  CHECK(view.size() == 3);
  CHECK(view.shape() == mds::array_shape{3, 4});
  CHECK(std::ranges::equal(view[0], std::vector{0, 1}));
  CHECK(view[1].empty());
  CHECK(std::ranges::equal(view[2], std::vector{8, 9, 10, 11}));
  CHECK(std::ranges::equal(view.row(1), std::vector{4, 5, 6, 7}));
  CHECK(view.values().size() == 12);
  CHECK(view.mask().size() == 12);
  views_test::is_a_range(view);
}

TEST_CASE("a packed view is a range of rows, and its packing one of runs") {
  const auto data = views_test::numbers(8);
  const mds::packed_view<int> view(data.data(), 2, 4);
  CHECK(view.size() == 2);
  CHECK(view.shape() == mds::array_shape{2, 4});
  CHECK(std::ranges::equal(view[1], std::vector{4, 5, 6, 7}));
  CHECK(view.values().size() == 8);
  views_test::is_a_range(view);

  const std::vector<std::int32_t> cu_seqlens{0, 3, 4, 8};
  const std::vector<std::int32_t> position_ids{0, 1, 2, 0, 0, 1, 2, 3};
  const std::vector<std::int32_t> segment_ids{1, 1, 1, -1, 0, 0, 0, 0};
  const mds::packing_view packing(2, 4, cu_seqlens, position_ids, segment_ids);
  CHECK(packing.shape() == view.shape());
  CHECK(
      std::ranges::equal(packing, std::vector<mds::packed_run>{{0, 3, 1}, {3, 1, -1}, {4, 4, 0}}));
  CHECK(packing[1].is_padding());
  CHECK(mds::packing_view().empty());
}

TEST_CASE("an array of a sample is a range of its elements") {
  // One byte before the array: nothing is aligned.
  std::vector<std::byte> bytes(1 + 3 * sizeof(float));
  const std::vector<float> values{0.5F, -2.0F, 7.0F};
  std::memcpy(bytes.data() + 1, values.data(), 3 * sizeof(float));
  const mds::array_shape shape{3};
  const mds::ndarray_view<float> view(
      mds::any_ndarray(mds::dtype::float32, shape, mds::bytes_view(bytes).subspan(1)));
  CHECK(view.size() == 3);
  CHECK(view[1] == -2.0F);
  CHECK(std::ranges::equal(view, values));
  CHECK(std::ranges::equal(view | std::views::reverse | std::views::take(1), std::vector{7.0F}));
  CHECK(mds::ndarray_view<float>().empty());
}
