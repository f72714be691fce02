// Reads one shuffled epoch of "reviews", which write.cpp has written.

#include <mdstream/mdstream.hpp>

#include <cstdio>
#include <string_view>

namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"text", mds::str>, mds::column<"label", std::int64_t>>,
                  mds::collate::ragged>;

int main() {
  mds::loader<policies> loader({.remote = "reviews", .batch_size = 32});
  std::size_t bytes = 0, positive = 0, samples = 0;
  for (auto& batch : loader.epoch()) {
    for (const std::string_view text : batch.get<"text">()) bytes += text.size();
    for (const std::int64_t label : batch.get<"label">()) positive += label == 1;
    samples += batch.size();
  }
  std::printf("%zu samples, %zu bytes of text, %zu of them positive\n", samples, bytes, positive);
}
