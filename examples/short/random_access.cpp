// Samples by number, and parts of a dataset that a seed draws.

#include <mdstream/mdstream.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace mds = mdstream;

int main() {
  mds::dataset<> reviews({.remote = "reviews"});  // no schema: columns by name
  const mds::sample one = reviews[1'234];
  std::printf("\"%s\" has label %d\n", std::string(one.get<std::string_view>("text")).c_str(),
              int(one.get<std::int64_t>("label")));

  const auto parts = reviews.split({0.9, 0.1}, 17);
  std::printf("%zu samples to train on, %zu to validate\n", std::size_t(parts[0].size()),
              std::size_t(parts[1].size()));
}
