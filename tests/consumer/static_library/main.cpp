#include <mdstream/image/png.hpp>

#include <cstddef>
#include <vector>

int main() {
  const std::vector<std::byte> pixels(3 * 4 * 4, std::byte{7});
  const auto file = mdstream::encode_png({.width = 4, .height = 4, .pixels = pixels});
  return mdstream::decode_png(file).pixels == pixels ? 0 : 1;
}
