#include <mdstream/format/index.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// An index is refused with an mdstream::error, or every question about it has an answer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto index = mdstream::dataset_index::parse({reinterpret_cast<const char*>(data), size});
    std::uint64_t sum = index.samples();
    for (std::size_t i = 0; i < index.shards(); ++i) {
      sum += index.raw(i).bytes + index.layout(i).size() + index.compression(i).size();
      if (const auto zip = index.zip(i)) sum += zip->name.size();
    }
    (void)sum;
  } catch (const mdstream::error&) {
  }
  return 0;
}
