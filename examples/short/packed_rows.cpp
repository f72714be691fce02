// Packs sequences of any length into rows of 128 tokens, as language models are trained.

#include <mdstream/collate/packed.hpp>
#include <mdstream/mdstream.hpp>

#include <cstdio>

namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t>>>,
                  mds::collate::packed<mds::collate::packing{.row = 128, .group = 32}>>;

int main() {
  mds::loader<policies> loader({.remote = "reviews", .batch_size = 64});
  std::size_t rows = 0, tokens = 0;
  for (auto& batch : loader.epoch()) {
    rows += batch.get<"tokens">().size();  // a view of shape {rows, 128}
    for (const mds::packed_run& run : batch.packing())
      if (!run.is_padding()) tokens += run.size;  // tokens of sample `run.sample`
  }
  std::printf("%zu tokens in %zu rows, %.0f %% full\n", tokens, rows,
              100.0 * double(tokens) / (128.0 * double(rows)));
}
