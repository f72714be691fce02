// The device's images are libjpeg's. Where there is no device, making a decoder says so.

#include <mdstream/image/nvjpeg.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/jpeg_files.hpp"
#include "support/seed.hpp"

namespace {

namespace mds = mdstream;

bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

/// Ends the program where there is nothing to run on, with the status that CTest shows as skipped:
/// none of the selected tests could run.
bool skipped() {
  if (!has_device()) {
    std::cout << "skipped: there is no CUDA device\n";
    std::exit(77);
  }
  try {
    const mds::nvjpeg_decoder decoder;
    return false;
  } catch (const mds::error& e) {
    if (e.code() != mds::errc::unsupported) throw;
    std::cout << "skipped: the CUDA device has no JPEG engines\n";
    std::exit(77);
  }
}

/// A batch of files, and memory for its images on the device.
class batch {
 public:
  explicit batch(std::vector<std::string> files) : files_(std::move(files)) {
    for (const std::string& file : files_) views.push_back(mds::as_bytes(file));
    layout = mds::lay_out_jpegs(views);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&block), layout.bytes) == cudaSuccess);
    REQUIRE(cudaMemset(block, gap, layout.bytes) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;
  ~batch() { cudaFree(block); }

  /// Checks every image, and that nothing was written between them.
  void check() const {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    std::vector<unsigned char> made(layout.bytes);
    REQUIRE(cudaMemcpy(made.data(), block, made.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (std::size_t i = 0; i < views.size(); ++i) {
      const mds::rgb_image& image = layout.images[i];
      INFO("image " << i << ", " << image.width << " x " << image.height);
      std::vector<std::byte> expected(image.bytes());
      mds::decode_jpeg_rgb(views[i], image, expected.data());
      int farthest = 0;
      std::uint64_t off = 0;
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const int distance = std::abs(int{made[image.at + k]} - std::to_integer<int>(expected[k]));
        farthest = std::max(farthest, distance);
        off += distance != 0 ? 1 : 0;
      }
      CHECK(farthest <= 2);
      CHECK(off * 100 <= expected.size());
      const std::uint64_t end = i + 1 < views.size() ? layout.images[i + 1].at : layout.bytes;
      CHECK(std::all_of(&made[0] + image.at + image.bytes(), &made[0] + end,
                        [](unsigned char value) { return value == gap; }));
    }
  }

  std::vector<mds::bytes_view> views{};
  mds::rgb_layout layout{};
  std::byte* block = nullptr;

 private:
  static constexpr unsigned char gap = 0x5a;
  std::vector<std::string> files_;
};

std::vector<std::string> plain_files(unsigned count, unsigned seed) {
  std::vector<std::string> out;
  std::mt19937 random(seed);
  for (unsigned i = 0; i < count; ++i)
    out.push_back(jpeg_files::make({.width = 64 + static_cast<unsigned>(random() % 300),
                                    .height = 64 + static_cast<unsigned>(random() % 300),
                                    .pixels = i % 5 == 4 ? JCS_GRAYSCALE : JCS_RGB,
                                    .luma_h = 1 + static_cast<int>(i % 2),
                                    .luma_v = 1 + static_cast<int>(i / 2 % 2),
                                    .seed = static_cast<unsigned>(random())}));
  return out;
}

}  // namespace

TEST_CASE("without a device a decoder of JPEG files says so when it is made", "[image]") {
  if (has_device()) {
    SUCCEED("there is a device");
    return;
  }
  support::expect_error([] { const mds::nvjpeg_decoder decoder; }, mds::errc::device_error,
                        {"no CUDA device can be used", "cudaError"});
  CHECK(mds::detail::blames_files(NVJPEG_STATUS_BAD_JPEG));
  CHECK_FALSE(mds::detail::blames_files(NVJPEG_STATUS_EXECUTION_FAILED));
}

TEST_CASE("images on the device are libjpeg's", "[image][device]") {
  if (skipped()) return;
  mds::nvjpeg_decoder decoder;
  for (unsigned round = 0; round < 5; ++round) {
    std::vector<std::string> files = plain_files(20 + round % 2, round);
    files.push_back(jpeg_files::make({.progressive = true}));
    files.push_back(jpeg_files::make({.stored = JCS_RGB}));
    files.push_back(jpeg_files::make({.luma_h = 4, .luma_v = 1}));
    files.push_back(jpeg_files::make({.width = 1, .height = 1}));
    files.push_back(files[0] + "more");
    const batch one(std::move(files));
    decoder.decode(one.views, one.layout, one.block, nullptr);
    one.check();
  }
  decoder.decode({}, {}, nullptr, nullptr);
}

TEST_CASE("calls follow one another on several streams", "[image][device]") {
  if (skipped()) return;
  mds::nvjpeg_decoder decoder;
  std::vector<std::unique_ptr<batch>> batches;
  std::vector<cudaStream_t> streams(3);
  for (cudaStream_t& stream : streams)
    REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  for (unsigned i = 0; i < 9; ++i) {
    batches.push_back(std::make_unique<batch>(plain_files(10 + i % 3, 100 + i)));
    decoder.decode(batches[i]->views, batches[i]->layout, batches[i]->block, streams[i % 3]);
  }
  for (const auto& each : batches) each->check();
  for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
}

TEST_CASE("damaged files are refused by number or decoded, and the decoder lives on",
          "[image][device]") {
  if (skipped()) return;
  mds::nvjpeg_decoder decoder;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::string> files = plain_files(8, 3);
  std::vector<std::string> cut = files;
  cut[5].resize(cut[5].size() / 2);
  const batch short_one(std::move(cut));
  support::expect_error(
      [&] { decoder.decode(short_one.views, short_one.layout, short_one.block, nullptr); },
      mds::errc::corrupt, {"image 5 of the batch", "cut short"});
  for (int i = 0; i < 60; ++i) {
    std::vector<std::string> changed = files;
    std::string& file = changed[random() % changed.size()];
    const std::size_t within = i % 2 == 0 ? std::min<std::size_t>(file.size(), 700) : file.size();
    for (int k = 0; k < 4; ++k) file[random() % within] = static_cast<char>(random());
    try {
      std::vector<mds::bytes_view> views;
      for (const std::string& each : changed) views.push_back(mds::as_bytes(each));
      (void)mds::lay_out_jpegs(views, {.max_pixels = 1 << 20});
      const batch one(std::move(changed));
      decoder.decode(one.views, one.layout, one.block, nullptr);
    } catch (const mds::error& e) {
      CHECK(e.code() != mds::errc::device_error);
    }
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }
  const batch whole(std::move(files));
  decoder.decode(whole.views, whole.layout, whole.block, nullptr);
  whole.check();
  support::expect_error([&] { decoder.decode(whole.views, {}, whole.block, nullptr); },
                        mds::errc::invalid_argument, {"other files"});
}
