#include <mdstream/image/image.hpp>

#include <cstdint>
#include <limits>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("an image is refused by its size before memory is taken", "[image]") {
  namespace mds = mdstream;
  const mds::image_limits limits{.max_pixels = 12};
  const auto refuse = [&](std::uint64_t width, std::uint64_t height) {
    support::expect_error([&] { mds::detail::check_image_size(width, height, limits); },
                          mds::errc::corrupt,
                          {std::to_string(width) + " x " + std::to_string(height)});
  };
  for (std::uint64_t width = 0; width < 15; ++width)
    for (std::uint64_t height = 0; height < 15; ++height) {
      if (width * height == 0 || width * height > 12)
        refuse(width, height);
      else
        CHECK_NOTHROW(mds::detail::check_image_size(width, height, limits));
    }
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  refuse(most, most);
  refuse(std::uint64_t{1} << 32, std::uint64_t{1} << 32);  // the product would be 0
  refuse(2, (std::uint64_t{1} << 63) + 1);
  CHECK_NOTHROW(mds::detail::check_image_size(1 << 14, 1 << 14, {}));
  support::expect_error([] { mds::detail::check_image_size(1 << 14, (1 << 14) + 1, {}); },
                        mds::errc::corrupt);
}
