// Encoders whose memory runs out.

#include <mdstream/image/jpeg.hpp>
#include <mdstream/image/png.hpp>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace out_of_memory_test {

/// What is larger than this is refused, on this thread.
thread_local std::size_t largest = std::numeric_limits<std::size_t>::max();

void* allocate(std::size_t bytes) noexcept {
  return bytes > largest ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

/// Noise, which no encoder makes smaller.
mdstream::decoded_image noise(std::uint32_t side) {
  mdstream::decoded_image out{.width = side, .height = side, .channels = 3};
  std::mt19937 random(1);
  out.pixels.resize(std::size_t{side} * side * 3);
  for (std::byte& each : out.pixels) each = static_cast<std::byte>(random());
  return out;
}

/// Encodes with more and more memory; returns how often it did not do.
template <class Encode>
int failures_of(Encode encode) {
  const mdstream::decoded_image image = noise(200);
  const std::vector<std::byte> whole = encode(image);
  int failures = 0;
  for (std::size_t limit = 16; limit < 4 * whole.size(); limit *= 2) {
    std::vector<std::byte> got;
    bool failed = false;
    largest = limit;
    try {
      got = encode(image);
    } catch (const std::bad_alloc&) {
      failed = true;
    } catch (...) {
      largest = std::numeric_limits<std::size_t>::max();
      throw;
    }
    largest = std::numeric_limits<std::size_t>::max();
    INFO("no more than " << limit << " bytes at once");
    if (failed)
      ++failures;
    else
      CHECK((got == whole));
  }
  CHECK((encode(image) == whole));
  return failures;
}

}  // namespace out_of_memory_test

// Those of arrays call these.
void* operator new(std::size_t bytes) {
  if (void* const out = out_of_memory_test::allocate(bytes)) return out;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return out_of_memory_test::allocate(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

TEST_CASE("a jpeg encoder that runs out of memory says so, and loses none", "[image]") {
  using namespace out_of_memory_test;
  CHECK(failures_of([](const auto& image) { return mdstream::encode_jpeg(image); }) > 3);
}

TEST_CASE("a png encoder that runs out of memory says so, and loses none", "[image]") {
  using namespace out_of_memory_test;
  CHECK(failures_of([](const auto& image) { return mdstream::encode_png(image); }) > 3);
}
