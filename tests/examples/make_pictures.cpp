// make_pictures FOLDER: JPEG files of several sizes, gray ones among them, in FOLDER/disks and
// FOLDER/stripes, and FOLDER/annotations.jsonl about them. FOLDER/sums is what they sum up to.

#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h uses FILE without including it
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace {

struct picture {
  unsigned width, height, channels;
  std::vector<unsigned char> pixels =
      std::vector<unsigned char>(std::size_t{width} * height * channels);
  template <class Color>
  void fill(const Color& color) {
    for (unsigned y = 0; y < height; ++y)
      for (unsigned x = 0; x < width; ++x)
        for (unsigned c = 0; c < channels; ++c)
          pixels[(std::size_t{y} * width + x) * channels + c] =
              static_cast<unsigned char>(color(x, y, c));
  }
};

void write_jpeg(const std::string& path, const picture& from) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             &std::fclose);
  if (!file) throw std::runtime_error("cannot write " + path);
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);  // prints and exits
  jpeg_create_compress(&state);
  jpeg_stdio_dest(&state, file.get());
  state.image_width = from.width;
  state.image_height = from.height;
  state.input_components = static_cast<int>(from.channels);
  state.in_color_space = from.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, 85, TRUE);
  jpeg_start_compress(&state, TRUE);
  while (state.next_scanline < from.height) {
    auto* line = const_cast<unsigned char*>(
        &from.pixels[std::size_t{state.next_scanline} * from.width * from.channels]);
    jpeg_write_scanlines(&state, &line, 1);
  }
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
}

}  // namespace

int main(int count, char** words) {
  const std::string folder = count > 1 ? words[1] : "pictures";
  std::filesystem::remove_all(folder);
  for (const char* each : {"/disks", "/stripes"})
    std::filesystem::create_directories(folder + each);
  std::ofstream annotations(folder + "/annotations.jsonl");
  std::mt19937 random(2);
  const auto below = [&random](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  std::size_t samples = 0, boxes = 0, caption_bytes = 0;
  for (int i = 0; i < 120; ++i) {
    picture made{
        .width = 40 + below(60), .height = 40 + below(60), .channels = i % 10 == 9 ? 1U : 3U};
    const bool disks = i % 2 == 0;
    const unsigned radius = 10 + below(8), x0 = radius + below(made.width - 2 * radius),
                   y0 = radius + below(made.height - 2 * radius), period = 6 + below(6);
    made.fill([&](unsigned x, unsigned y, unsigned c) {
      const unsigned noise = below(40);
      const unsigned dx = x - x0, dy = y - y0;
      if (disks) return dx * dx + dy * dy < radius * radius ? 200 + noise : 30 + noise + 10 * c;
      return x / period % 2 == 0 ? 180 + noise : 60 + noise - 10 * c;
    });
    const std::string name = (disks ? "disks/" : "stripes/") + std::to_string(i) + ".jpg";
    write_jpeg(folder + '/' + name, made);

    // A disk has one box, stripes have one each; captions have letters beyond ASCII.
    std::string list;
    std::size_t found = 0;
    const auto add = [&](unsigned x, unsigned y, unsigned width, unsigned height) {
      if (found++ != 0) list += ", ";
      list += '[' + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(width) +
              ", " + std::to_string(height) + ']';
    };
    if (disks) add(x0 - radius, y0 - radius, 2 * radius, 2 * radius);
    for (unsigned x = 0; !disks && x + period <= made.width; x += 2 * period)
      add(x, 0, period, made.height);
    const std::string caption =
        disks ? "a disk, \u00d8 " + std::to_string(2 * radius) + " pixels"
              : std::to_string(found) + " stripes" + std::string(below(20), '.');
    annotations << R"({"image": ")" << name << R"(", "caption": ")" << caption << R"(", "boxes": [)"
                << list << "]}\n";
    ++samples;
    boxes += found;
    caption_bytes += caption.size();
  }
  annotations.close();
  std::ofstream(folder + "/sums") << samples << " samples, " << boxes << " boxes, " << caption_bytes
                                  << " bytes of captions\n";
}
