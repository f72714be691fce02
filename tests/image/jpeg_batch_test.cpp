#include <mdstream/image/jpeg.hpp>
#include <mdstream/image/jpeg_batch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/jpeg_files.hpp"

namespace {

namespace mds = mdstream;

std::vector<mds::bytes_view> views(const std::vector<std::string>& files) {
  std::vector<mds::bytes_view> out;
  for (const std::string& file : files) out.push_back(mds::as_bytes(file));
  return out;
}

bool is_plain(const jpeg_files::kind& about) {
  const std::string file = jpeg_files::make(about);
  const mds::bytes_view view = mds::as_bytes(file);
  return mds::lay_out_jpegs({&view, 1}).images[0].plain;
}

}  // namespace

TEST_CASE("images of a batch lie side by side", "[image]") {
  const std::vector<std::string> files{
      jpeg_files::make({.width = 33, .height = 17}),
      jpeg_files::make({.width = 1, .height = 1, .pixels = JCS_GRAYSCALE}),
      jpeg_files::make({.width = 96, .height = 80})};
  const auto layout = mds::lay_out_jpegs(views(files));
  REQUIRE(layout.images.size() == 3);
  CHECK(layout.images[0].at == 0);
  CHECK(layout.images[0].width == 33);
  CHECK(layout.images[0].height == 17);
  CHECK(layout.images[0].bytes() == 1683);
  CHECK(layout.images[1].at == 1792);
  CHECK(layout.images[2].at == 2048);
  CHECK(layout.bytes == 2048 + 23040);
  CHECK(mds::lay_out_jpegs({}).bytes == 0);
}

TEST_CASE("gray files become RGB, others are what decode_jpeg gives", "[image]") {
  const bool gray = GENERATE(false, true);
  const std::string file =
      jpeg_files::make({.pixels = gray ? JCS_GRAYSCALE : JCS_RGB, .progressive = gray});
  const mds::bytes_view view = mds::as_bytes(file);
  const auto layout = mds::lay_out_jpegs({&view, 1});
  std::vector<std::byte> made(layout.images[0].bytes() + 1, std::byte{0x5a});
  mds::decode_jpeg_rgb(view, layout.images[0], made.data());
  CHECK(made.back() == std::byte{0x5a});
  made.pop_back();
  const auto twin = mds::decode_jpeg(view);
  std::vector<std::byte> expected;
  for (const std::byte value : twin.pixels)
    for (int i = 0; i < (gray ? 3 : 1); ++i) expected.push_back(value);
  CHECK(twin.channels == (gray ? 1 : 3));
  CHECK((made == expected));
}

TEST_CASE("plain files are known by their headers", "[image]") {
  CHECK(is_plain({}));
  CHECK(is_plain({.luma_h = 1, .luma_v = 1}));
  CHECK(is_plain({.luma_h = 2, .luma_v = 1}));
  CHECK(is_plain({.luma_h = 1, .luma_v = 2}));
  CHECK(is_plain({.pixels = JCS_GRAYSCALE}));
  CHECK_FALSE(is_plain({.luma_h = 4, .luma_v = 1}));
  CHECK_FALSE(is_plain({.progressive = true}));
  CHECK_FALSE(is_plain({.stored = JCS_RGB}));
}

TEST_CASE("what can not become RGB is refused by the image's number", "[image]") {
  using mds::errc;
  std::vector<std::string> files(3, jpeg_files::make({}));
  const auto refused = [&files](errc code, std::initializer_list<std::string_view> pieces,
                                mds::image_limits limits = {}) {
    support::expect_error([&] { (void)mds::lay_out_jpegs(views(files), limits); }, code, pieces);
  };
  refused(errc::corrupt, {"image 0 of the batch", "96 x 80"}, {.max_pixels = 7679});
  CHECK(mds::lay_out_jpegs(views(files), {.max_pixels = 7680}).images.size() == 3);
  files[2] = jpeg_files::make({.pixels = JCS_CMYK});
  refused(errc::unsupported, {"image 2 of the batch", "4 channels"});
  files[1] = "GIF89a";
  refused(errc::corrupt, {"image 1 of the batch", "can not be decoded"});
  files[1].clear();
  refused(errc::corrupt, {"image 1 of the batch"});

  std::string cut = jpeg_files::make({});
  cut.resize(cut.size() - 100);
  const mds::bytes_view view = mds::as_bytes(cut);
  const auto layout = mds::lay_out_jpegs({&view, 1});
  CHECK_FALSE(layout.images[0].plain);
  std::vector<std::byte> pixels(layout.bytes);
  support::expect_error([&] { mds::decode_jpeg_rgb(view, layout.images[0], pixels.data()); },
                        errc::corrupt, {"damaged or cut short"});
  mds::rgb_image other = layout.images[0];
  ++other.width;
  support::expect_error([&] { mds::decode_jpeg_rgb(view, other, pixels.data()); }, errc::corrupt,
                        {"size"});
}
