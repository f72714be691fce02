#include <mdstream/stream/state.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// A state is refused with an mdstream::error, or written again it says the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto state = mdstream::parse_state({reinterpret_cast<const char*>(data), size});
    const auto text = mdstream::to_text(state);
    if (mdstream::to_text(mdstream::parse_state(text)) != text) std::abort();
  } catch (const mdstream::error&) {
  }
  return 0;
}
