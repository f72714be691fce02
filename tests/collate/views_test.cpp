#include <mdstream/collate/views.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace mds = mdstream;

TEST_CASE("a dense view knows its shape and its rows") {
  std::vector<int> data(24);
  for (int i = 0; i < 24; ++i) data[static_cast<std::size_t>(i)] = i;
  const mds::array_shape element{2, 3};
  const mds::dense_view<int> view(data.data(), 4, element);
  CHECK(view.shape() == mds::array_shape{4, 2, 3});
  CHECK(view.size() == 24);
  CHECK(view.row(3).front() == 18);
  CHECK(view.row(3).size() == 6);

  const mds::array_shape scalar;
  const mds::dense_view<int> labels(data.data(), 24, scalar);
  CHECK(labels.shape() == mds::array_shape{24});
  CHECK(labels.row(5)[0] == 5);
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
}
