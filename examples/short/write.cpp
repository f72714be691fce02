// Writes two datasets into the working directory, which the other short examples read.

#include <mdstream/mdstream.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mds = mdstream;
using namespace mds::literals;

using policies = mds::policies<
    mds::schema<mds::column<"text", mds::str>, mds::column<"tokens", mds::ndarray<std::uint16_t>>,
                mds::column<"label", std::int64_t>>>;

void write(const std::string& name, std::int64_t count) {
  mds::writer<policies> out(
      {.out = name, .size_limit = 64_KiB, .existing = mds::existing_dataset::replace});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string text = name + " number " + std::to_string(i);
    const std::vector<std::uint16_t> tokens(text.begin(), text.end());
    out.write(text, tokens, i % 2);
  }
  out.finish();  // writes the index, which makes the shards a dataset
}

int main() {
  write("reviews", 5'000);
  write("questions", 1'000);
}
