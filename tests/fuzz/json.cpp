#include <mdstream/core/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// What is accepted and written again is read as the same text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace json = mdstream::json;
  try {
    const std::string text = json::dump(json::parse({reinterpret_cast<const char*>(data), size}));
    if (json::dump(json::parse(text)) != text) std::abort();
  } catch (const mdstream::error&) {
  }
  return 0;
}
