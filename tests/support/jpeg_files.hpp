#pragma once

// JPEG files to decode: pictures with soft and hard edges, written by libjpeg.

#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h uses FILE without including it
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace jpeg_files {

struct kind {
  unsigned width = 96, height = 80;
  int quality = 90;
  J_COLOR_SPACE pixels = JCS_RGB;    ///< of the picture: JCS_GRAYSCALE, JCS_RGB or JCS_CMYK
  J_COLOR_SPACE stored = JCS_YCbCr;  ///< of the file, where the picture is JCS_RGB
  int luma_h = 2, luma_v = 2;        ///< 2 by 2: colours are halved both ways
  bool progressive = false;
  unsigned seed = 1;
};

inline std::string make(const kind& about) {
  const unsigned channels = about.pixels == JCS_GRAYSCALE ? 1 : about.pixels == JCS_CMYK ? 4 : 3;
  std::mt19937 random(about.seed);
  std::vector<unsigned char> pixels(std::size_t{about.width} * about.height * channels);
  const unsigned edge = 8 + static_cast<unsigned>(random() % 40);
  const unsigned base = static_cast<unsigned>(random() % 100);
  std::size_t at = 0;
  for (unsigned y = 0; y < about.height; ++y)
    for (unsigned x = 0; x < about.width; ++x)
      for (unsigned c = 0; c < channels; ++c)
        pixels[at++] =
            static_cast<unsigned char>(base + x * (c + 1) % 90 / 2 + y / 3 % 40 +
                                       (x / edge + y / edge + c) % 2 * 60 + random() % 8);

  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);  // prints and exits
  jpeg_create_compress(&state);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &out, &size);
  state.image_width = about.width;
  state.image_height = about.height;
  state.input_components = static_cast<int>(channels);
  state.in_color_space = about.pixels;
  jpeg_set_defaults(&state);
  if (about.pixels == JCS_RGB) jpeg_set_colorspace(&state, about.stored);
  if (about.pixels == JCS_RGB && about.stored == JCS_YCbCr) {
    state.comp_info[0].h_samp_factor = about.luma_h;
    state.comp_info[0].v_samp_factor = about.luma_v;
  }
  jpeg_set_quality(&state, about.quality, TRUE);
  if (about.progressive) jpeg_simple_progression(&state);
  jpeg_start_compress(&state, TRUE);
  while (state.next_scanline < about.height) {
    unsigned char* line = &pixels[std::size_t{state.next_scanline} * about.width * channels];
    jpeg_write_scanlines(&state, &line, 1);
  }
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  std::string file(reinterpret_cast<const char*>(out), size);
  std::free(out);
  return file;
}

}  // namespace jpeg_files
