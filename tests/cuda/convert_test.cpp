#include <mdstream/cuda/convert.cuh>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace cuda_convert_test {

namespace mds = mdstream;
namespace collate = mdstream::collate;
namespace kernels = mdstream::kernels;

template <class T>
std::vector<T> random_numbers(std::uint64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> out(count);
  for (T& x : out) x = static_cast<T>(random());
  return out;
}

template <class In, class Out>
void compare_widen(std::uint64_t count, Out offset) {
  const auto in = random_numbers<In>(count, 1);
  std::vector<Out> host(count, 9), device(count, 8);
  collate::widen(in.data(), count, host.data(), offset);
  kernels::widen<In, Out, kernels::grain::stretch>(in.data(), count, device.data(), offset);
  CHECK(host == device);
  std::fill(device.begin(), device.end(), Out{8});
  kernels::widen<In, Out, kernels::grain::word>(in.data(), count, device.data(), offset);
  CHECK(host == device);
  for (std::uint64_t i = 0; i < count; i += 97)
    CHECK(host[i] ==
          static_cast<Out>(static_cast<std::uint64_t>(in[i]) + static_cast<std::uint64_t>(offset)));
}

/// The one number that `in` becomes, by the host and by both kernels.
template <class In, class Out>
Out widened(In in, Out offset) {
  Out host{}, stretch{};
  alignas(kernels::word) Out word{};
  collate::widen(&in, 1, &host, offset);
  kernels::widen<In, Out, kernels::grain::stretch>(&in, 1, &stretch, offset);
  kernels::widen<In, Out, kernels::grain::word>(&in, 1, &word, offset);
  CHECK(host == stretch);
  CHECK(host == word);
  return host;
}

template <class Out>
void compare_normalise(const collate::image_rows& about) {
  const std::uint64_t count = about.images * about.pixels * about.channels;
  const auto in = random_numbers<std::uint8_t>(count, 7);
  std::vector<Out> host(count);
  collate::normalise(in.data(), about, host.data());
  const auto compare = [&](const auto& kernel) {
    std::vector<Out> device(count);
    kernel(device.data());
    CHECK((count == 0 || std::memcmp(host.data(), device.data(), count * sizeof(Out)) == 0));
  };
  compare(
      [&](Out* out) { kernels::normalise<Out, kernels::grain::stretch>(in.data(), about, out); });
  compare([&](Out* out) { kernels::normalise<Out, kernels::grain::word>(in.data(), about, out); });
}

}  // namespace cuda_convert_test

using namespace cuda_convert_test;

TEST_CASE("numbers are widened as on the host", "[cuda]") {
  for (const std::uint64_t count : {0U, 1U, 4095U, 4096U, 4097U, 100000U}) {
    compare_widen<std::uint16_t, std::int64_t>(count, 0);
    compare_widen<std::uint8_t, std::int64_t>(count, 259);  // bytes behind special tokens
    compare_widen<std::uint32_t, std::int32_t>(count, -1);
    compare_widen<std::int16_t, std::int64_t>(count, 0);
  }
}

TEST_CASE("what does not fit when it is widened wraps", "[cuda]") {
  using int32 = std::numeric_limits<std::int32_t>;
  using int64 = std::numeric_limits<std::int64_t>;
  CHECK(widened<std::uint32_t, std::int32_t>(1U << 31, -1) == int32::max());
  CHECK(widened<std::uint32_t, std::int32_t>(int32::max(), 1) == int32::min());
  CHECK(widened<std::uint64_t, std::int64_t>(std::uint64_t{1} << 63, -1) == int64::max());
  CHECK(widened<std::int64_t, std::int64_t>(int64::max(), 1) == int64::min());
  CHECK(widened<std::uint16_t, std::int16_t>(0x7FFF, 2) == -0x7FFF);
  CHECK(widened<std::uint8_t, std::uint8_t>(255, 2) == 1);
  CHECK(widened<std::uint8_t, float>(255, 0.5F) == 255.5F);
}

TEST_CASE("labels are the tokens that follow, in the same row and document", "[cuda]") {
  const std::vector<std::uint16_t> tokens{1, 2, 3, 4, 5, 6, 7, 8};
  collate::label_rows about{.rows = 2, .row_elements = 4};
  std::vector<std::int64_t> host(8), device(8);
  const auto both = [&] {
    collate::shift_labels(tokens.data(), about, host.data());
    kernels::shift_labels<std::uint16_t, kernels::grain::stretch>(tokens.data(), about,
                                                                  device.data());
    CHECK(host == device);
    kernels::shift_labels<std::uint16_t, kernels::grain::word>(tokens.data(), about, device.data());
    CHECK(host == device);
    return host;
  };
  CHECK(both() == std::vector<std::int64_t>{2, 3, 4, -100, 6, 7, 8, -100});
  const std::vector<std::uint8_t> mask{1, 1, 0, 0, 1, 0, 0, 0};
  about.mask = mask.data();
  CHECK(both() == std::vector<std::int64_t>{2, -100, -100, -100, -100, -100, -100, -100});
  const std::vector<std::int32_t> segment_ids{0, 0, 1, 1, 2, 2, 2, -1};
  about.mask = nullptr;
  about.segment_ids = segment_ids.data();
  about.ignored = -1;
  CHECK(both() == std::vector<std::int64_t>{2, -1, 4, -1, 6, 7, -1, -1});
}

TEST_CASE("images are normalised by channel, to the bit", "[cuda]") {
  const auto imagenet = collate::image_rows{.images = 3, .pixels = 35}.normalised_by(
      {0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F, 1});
  for (const auto order : {collate::channel_order::first, collate::channel_order::last}) {
    for (const std::uint64_t channels : {1U, 2U, 3U, 4U}) {
      for (const std::uint64_t pixels : {35U, 36U, 48U}) {  // of words of neither, one, both types
        auto about = imagenet;
        about.to = order;
        about.channels = channels;
        about.pixels = pixels;
        compare_normalise<float>(about);
        compare_normalise<mds::float16>(about);
        about.images = 0;
        compare_normalise<float>(about);
      }
    }
  }
  // NHWC to NCHW, and the value of one pixel: (200 / 255 - 0.456) / 0.224.
  std::vector<std::uint8_t> in(2 * 3);
  in[3 + 1] = 200;
  std::vector<float> out(6);
  auto about = imagenet;
  about.images = 1;
  about.pixels = 2;
  collate::normalise(in.data(), about, out.data());
  CHECK(out[1 * 2 + 1] == Approx((200 / 255.0 - 0.456) / 0.224));
}

TEST_CASE("means and deviations that make numbers of no pixel are refused", "[cuda]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const collate::image_rows images{.images = 1, .pixels = 1, .channels = 3};
  const auto refused = [&](float mean, float deviation, const char* what) {
    INFO(mean << ", " << deviation);
    support::expect_error([&] { (void)images.normalised_by({0, 0, mean}, {1, 1, deviation}); },
                          mds::errc::invalid_argument, {"channel 2", what});
  };
  for (const float deviation : {0.0F, -0.0F, nan, infinity, -infinity, 1e-45F})
    refused(0.5F, deviation, "deviation");
  for (const float mean : {nan, infinity, -infinity, std::numeric_limits<float>::max()})
    refused(mean, 1, "mean");
  // What is given for channels that the images do not have is not looked at.
  const auto about = images.normalised_by({0.5F, 0.5F, 0.5F, nan}, {0.25F, 0.25F, 0.25F});
  CHECK(about.scale[2] == static_cast<float>(1 / (255.0 * 0.25)));
  CHECK(about.mean[3] == 0);
  CHECK(about.scale[3] == 1);
}
