// images DIRECTORY FOLDER [THREADS]: trains a classifier on FOLDER/CLASS/*.jpg.
//
// JPEG files are stored as they are; the loader's threads decode, crop, flip and normalise them.
// What is drawn for a sample depends on the seed, the epoch and the sample alone: any number of
// threads, or of ranks, trains on the very same pixels. The dataset is written to DIRECTORY first.

#include <mdstream/image/jpeg.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace mds = mdstream;
using namespace mds::literals;

using files = mds::schema<mds::column<"image", mds::jpeg>, mds::column<"label", mds::int_>>;

/// A random part of the picture, scaled to 32 x 32, perhaps mirrored, as floats around 0.
struct augment {
  static constexpr std::size_t side = 32;
  using output = mds::schema<mds::column<"pixels", mds::ndarray<float, 3, side, side>>,
                             mds::column<"label", mds::int_>>;

  void operator()(const mds::sample_view<files>& in, mds::sample_writer<output>& out,
                  mds::sample_generator& random) const {
    const mds::decoded_image image = mds::decode_jpeg(in.get<"image">());
    const double part = 0.6 + 0.4 * random.uniform();
    const double width = part * image.width, height = part * image.height;
    const double left = random.uniform() * (image.width - width);
    const double top = random.uniform() * (image.height - height);
    const bool mirrored = random.below(2) == 1;
    std::array<float, 3 * side * side> pixels;
    for (std::size_t channel = 0; channel < 3; ++channel)
      for (std::size_t y = 0; y < side; ++y)
        for (std::size_t x = 0; x < side; ++x) {
          const std::size_t column = mirrored ? side - 1 - x : x;
          pixels[(channel * side + y) * side + x] =
              interpolate(image, left + (static_cast<double>(column) + 0.5) * width / side - 0.5,
                          top + (static_cast<double>(y) + 0.5) * height / side - 0.5, channel) /
                  127.5F -
              1.0F;
        }
    out.write(pixels, in.get<"label">());
  }

 private:
  /// The image at a place between its pixels. Gray pictures have one channel for all three.
  static float interpolate(const mds::decoded_image& image, double x, double y,
                           std::size_t channel) {
    x = std::clamp(x, 0.0, image.width - 1.0);
    y = std::clamp(y, 0.0, image.height - 1.0);
    const auto left = static_cast<std::size_t>(x), top = static_cast<std::size_t>(y);
    const std::size_t right = std::min<std::size_t>(left + 1, image.width - 1);
    const std::size_t bottom = std::min<std::size_t>(top + 1, image.height - 1);
    const std::size_t c = image.channels >= 3 ? channel : 0;
    const auto at = [&](std::size_t row, std::size_t column) {
      return static_cast<double>(image.pixels[(row * image.width + column) * image.channels + c]);
    };
    const double dx = x - static_cast<double>(left), dy = y - static_cast<double>(top);
    return static_cast<float>((1 - dy) * ((1 - dx) * at(top, left) + dx * at(top, right)) +
                              dy * ((1 - dx) * at(bottom, left) + dx * at(bottom, right)));
  }
};

using policies = mds::policies<files, augment, mds::collate::dense>;

/// Writes the pictures of every class; returns the classes' names, whose places are the labels.
std::vector<std::string> write_dataset(const std::string& where, const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> classes;
  for (const auto& each : fs::directory_iterator(folder))
    if (each.is_directory()) classes.push_back(each.path().filename());
  std::ranges::sort(classes);
  mds::writer<policies> out(
      {.out = where, .size_limit = 1_MiB, .existing = mds::existing_dataset::replace});
  for (std::size_t label = 0; label < classes.size(); ++label) {
    std::vector<fs::path> pictures;
    for (const auto& each : fs::directory_iterator(fs::path(folder) / classes[label]))
      if (each.path().extension() == ".jpg") pictures.push_back(each.path());
    std::ranges::sort(pictures);
    for (const fs::path& picture : pictures) {
      std::ifstream file(picture, std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      out.write(mds::as_bytes(bytes), label);
    }
  }
  out.finish();
  return classes;
}

/// A softmax over all pixels: in its place stands your network.
class classifier {
 public:
  explicit classifier(std::size_t classes) : classes_(classes), weights_(classes * inputs) {}

  /// One step of gradient descent; returns how many of the batch were right before it.
  std::size_t learn(std::span<const float> pixels, std::span<const std::int64_t> labels) {
    std::vector<float> gradient(weights_.size());
    std::size_t right = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto picture = pixels.subspan(i * inputs, inputs);
      std::vector<float> p(classes_);
      for (std::size_t c = 0; c < classes_; ++c)
        for (std::size_t k = 0; k < inputs; ++k) p[c] += weights_[c * inputs + k] * picture[k];
      const auto highest = std::ranges::max_element(p);
      right += highest - p.begin() == labels[i] ? 1U : 0U;
      const float shift = *highest;
      float total = 0.0F;
      for (float& each : p) total += each = std::exp(each - shift);
      for (std::size_t c = 0; c < classes_; ++c) {
        const float slope =
            p[c] / total - (static_cast<std::int64_t>(c) == labels[i] ? 1.0F : 0.0F);
        for (std::size_t k = 0; k < inputs; ++k) gradient[c * inputs + k] += slope * picture[k];
      }
    }
    const float rate = 0.01F / static_cast<float>(labels.size());
    for (std::size_t k = 0; k < weights_.size(); ++k) weights_[k] -= rate * gradient[k];
    return right;
  }

 private:
  static constexpr std::size_t inputs = 3 * augment::side * augment::side;
  std::size_t classes_;
  std::vector<float> weights_;
};

int main(int count, char** words) try {
  if (count < 3) {
    std::fprintf(stderr, "usage: images DIRECTORY FOLDER [THREADS]\n");
    return 2;
  }
  const std::string directory = words[1];
  const std::vector<std::string> classes = write_dataset(directory, words[2]);
  const unsigned threads = count > 3 ? static_cast<unsigned>(std::atoi(words[3])) : 0;

  mds::loader<policies> loader(
      {.local = directory, .batch_size = 16, .seed = 11, .threads = threads});
  classifier learner(classes.size());
  for (int epoch = 0; epoch < 5; ++epoch) {
    std::size_t samples = 0, right = 0;
    mds::fnv1a pixels_seen;  // so that two runs can be compared
    for (auto& batch : loader.epoch()) {
      const auto pixels = batch.get<"pixels">();  // shape {16, 3, 32, 32}
      const auto labels = batch.get<"label">();
      right += learner.learn(pixels.values(), labels);
      samples += batch.size();
      pixels_seen.add(mds::as_text(std::as_bytes(pixels.values())));
    }
    std::printf("epoch %d: %zu pictures of %zu classes, %.0f %% right, pixels %016llx\n", epoch,
                samples, classes.size(),
                100.0 * static_cast<double>(right) / static_cast<double>(samples),
                static_cast<unsigned long long>(pixels_seen.value()));
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "images: error: %s\n", e.what());
  return 1;
}
