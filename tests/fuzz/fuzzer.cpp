// The entry that libFuzzer calls, for the target that the build names.

#include <cstdlib>

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::MDSTREAM_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
