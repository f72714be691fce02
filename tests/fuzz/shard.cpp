#include <mdstream/core/bytes.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Every byte of every column of every sample is read, or an mdstream::error says why not.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto layout = mdstream::sample_layout::mds(
      {{"a", "str"}, {"b", "int"}, {"c", "ndarray"}, {"d", "bytes"}, {"e", "uint16"}});
  std::uint32_t samples = 0;
  if (size >= sizeof samples) std::memcpy(&samples, data, sizeof samples);
  unsigned sum = 0;
  try {
    const mdstream::mds_shard_view shard(std::as_bytes(std::span(data, size)), samples);
    for (std::uint64_t i = 0; i < shard.size(); ++i) {
      try {
        const mdstream::bytes_view sample = shard[i];
        for (const std::byte b : sample) sum += std::to_integer<unsigned>(b);
        for (std::size_t column = 0; column < layout.size(); ++column) {
          for (const std::byte b : layout.locate(sample, column)) {
            sum += std::to_integer<unsigned>(b);
          }
        }
      } catch (const mdstream::error&) {
      }
    }
  } catch (const mdstream::error&) {
  }
  volatile unsigned result = sum;  // so that no read is left out
  (void)result;
  return 0;
}
