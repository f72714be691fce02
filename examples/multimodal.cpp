// multimodal DIRECTORY FOLDER: pictures with captions and boxes, as a model of vision and language
// takes them.
//
// FOLDER/annotations.jsonl has a line a sample: {"image": "a.jpg", "caption": "...", "boxes": [[x,
// y, width, height], ...]}. The dataset that is written to DIRECTORY has the picture as its JPEG
// file, the whole line as JSON and the caption as text. In a batch, pictures are a dense block,
// the boxes, of which every picture has another number, are padded, and captions are ragged.

#include <mdstream/collate/padded.hpp>
#include <mdstream/core/json.hpp>
#include <mdstream/image/jpeg.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace mds = mdstream;
using namespace mds::literals;

using rows = mds::schema<mds::column<"image", mds::jpeg>, mds::column<"about", mds::json_text>,
                         mds::column<"caption", mds::str>>;

/// Decodes the picture to 64 x 64 pixels, and takes its boxes out of the JSON, scaled likewise.
struct decode {
  static constexpr std::size_t side = 64;
  using output = mds::schema<mds::column<"pixels", mds::ndarray<std::uint8_t, side, side, 3>>,
                             mds::column<"boxes", mds::ndarray<float>>,  // four numbers a box
                             mds::column<"caption", mds::str>>;

  void operator()(const mds::sample_view<rows>& in, mds::sample_writer<output>& out,
                  mds::sample_generator&) const {
    const mds::decoded_image image = mds::decode_jpeg(in.get<"image">());
    std::array<std::uint8_t, side * side * 3> pixels;
    for (std::size_t y = 0; y < side; ++y)
      for (std::size_t x = 0; x < side; ++x)
        for (std::size_t c = 0; c < 3; ++c) {
          const std::size_t row = y * image.height / side, column = x * image.width / side;
          const std::size_t channel = image.channels >= 3 ? c : 0;
          pixels[(y * side + x) * 3 + c] = std::to_integer<std::uint8_t>(
              image.pixels[(row * image.width + column) * image.channels + channel]);
        }
    std::vector<float> boxes;
    const mds::json::value about = mds::json::parse(in.get<"about">());
    for (const mds::json::value& box : about.get<mds::json::array>("boxes")) {
      const auto& numbers = box.as<mds::json::array>("boxes");
      for (std::size_t i = 0; i < 4; ++i) {
        const double extent = i % 2 == 0 ? image.width : image.height;
        boxes.push_back(static_cast<float>(numbers.at(i).as<double>("boxes") / extent));
      }
    }
    out.write(pixels, boxes, in.get<"caption">());
  }
};

using policies =
    mds::policies<rows, decode, mds::collate::padded<mds::collate::padding{.multiple = 4}>>;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_dataset(const std::string& where, const std::string& folder) {
  mds::writer<policies> out(
      {.out = where, .size_limit = 1_MiB, .existing = mds::existing_dataset::replace});
  std::ifstream lines(folder + "/annotations.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const mds::json::value about = mds::json::parse(line);
    const std::string picture = read_file(folder + '/' + about.get<std::string>("image"));
    out.write(mds::as_bytes(picture), about, about.get<std::string>("caption"));
  }
  out.finish();
}

int main(int count, char** words) try {
  if (count != 3) {
    std::fprintf(stderr, "usage: multimodal DIRECTORY FOLDER\n");
    return 2;
  }
  const std::string directory = words[1];
  write_dataset(directory, words[2]);

  mds::loader<policies> loader({.local = directory, .batch_size = 8, .seed = 3});
  std::size_t samples = 0, boxes_seen = 0, caption_bytes = 0;
  for (auto& batch : loader.epoch()) {
    const auto pixels = batch.get<"pixels">();     // shape {8, 64, 64, 3}
    const auto boxes = batch.get<"boxes">();       // shape {8, 4 * most boxes}, mask, lengths
    const auto captions = batch.get<"caption">();  // values and offsets
    double red = 0.0;
    for (std::size_t i = 0; i < pixels.values().size(); i += 3) red += pixels.values()[i];
    std::printf("batch %llu: pixels {%llu, 64, 64, 3}, red %.1f; boxes {%llu, %llu}; \"%.*s\"\n",
                static_cast<unsigned long long>(batch.number()),
                static_cast<unsigned long long>(pixels.shape()[0]),
                red / static_cast<double>(pixels.values().size() / 3),
                static_cast<unsigned long long>(boxes.shape()[0]),
                static_cast<unsigned long long>(boxes.shape()[1]),
                static_cast<int>(captions[0].size()), captions[0].data());
    for (const std::int64_t length : boxes.lengths())
      boxes_seen += static_cast<std::size_t>(length) / 4;
    caption_bytes += captions.values().size();
    samples += batch.size();
  }
  std::printf("%zu samples, %zu boxes, %zu bytes of captions\n", samples, boxes_seen,
              caption_bytes);
} catch (const std::exception& e) {
  std::fprintf(stderr, "multimodal: error: %s\n", e.what());
  return 1;
}
