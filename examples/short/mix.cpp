// Mixes two datasets: three of four samples of each batch are reviews.

#include <mdstream/mdstream.hpp>

#include <cstdio>

namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"label", std::int64_t>>, mds::collate::dense>;

int main() {
  mds::loader<policies> loader({
      .streams = {{.remote = "reviews", .proportion = 0.75},
                  {.remote = "questions", .proportion = 0.25}},
      .batch_size = 64,
      .epoch_size = 6'400,
      .batching = mds::batching_method::stratified,
  });
  std::size_t of_stream[2] = {};
  for (auto& batch : loader.epoch())
    for (const std::int64_t id : batch.ids()) ++of_stream[loader.origin(id).stream];
  std::printf("%zu reviews, %zu questions\n", of_stream[0], of_stream[1]);
}
