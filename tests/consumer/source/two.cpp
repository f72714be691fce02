// Writes the dataset.
#include "consumer.hpp"

void write_dataset(const std::string& where) {
  using namespace mds::literals;
  mds::writer<policies> out({.out = where, .compression = "zstd:1", .size_limit = 4_KiB});
  for (std::uint32_t i = 0; i < sample_count; ++i) out.write(i, i * 0.5);
  out.finish();
}
