// What libFuzzer calls: the target that MDSTREAM_FUZZ_TARGET names. One program for all, since each
// would link everything.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "fuzz/targets.hpp"

namespace {

const fuzz::target& chosen() {
  const char* const name = std::getenv("MDSTREAM_FUZZ_TARGET");
  for (const fuzz::target& each : fuzz::targets)
    if (name != nullptr && std::string_view(name) == each.name) return each;
  std::fprintf(stderr, "fuzz: MDSTREAM_FUZZ_TARGET names none of these:");
  for (const fuzz::target& each : fuzz::targets) std::fprintf(stderr, " %s", each.name);
  std::fprintf(stderr, "\n");
  std::_Exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::target& target = chosen();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
