// The quickstart's training loop on a GPU. `quickstart prepare` makes its data:
//
//     quickstart prepare --work /tmp/q && cuda_quickstart /tmp/q 1000
//
// It goes on from its last checkpoint; `prepare` removes it.

#include "loop.hpp"
#include "train.hpp"

#include <mdstream/launch/environment.hpp>
#include <mdstream/stage/cuda.hpp>
#include <mdstream/stage/cuda_copies.hpp>

#include "../quickstart/data.hpp"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

namespace {

namespace mds = mdstream;
using namespace mds::literals;

using policies = quickstart::policies::with<mds::stage::cuda<3>>;

void train(const quickstart::places& where, std::uint64_t steps) {
  // Opened first: where there is no device, the loader says so.
  mds::loader<policies> loader(
      {.streams = {{.remote = where.store() + "/prose", .proportion = quickstart::prose_share},
                   {.remote = where.store() + "/code", .proportion = quickstart::code_share}},
       .local = where.cache(),
       .cache_limit = 7_MiB,
       .global_batch_size = quickstart::global_batch,
       .seed = 9176,
       .epoch_size = 400 * quickstart::global_batch,
       .shuffle_block_size = 2'000,
       .num_canonical_nodes = 1,
       .predownload = 1'000});
  cuda_quickstart::device_trainer trainer(
      {.rows = quickstart::global_batch, .row_bytes = quickstart::row_bytes, .steps = steps});
  mds::checkpoint_saver saver({.run = policies::store::open(where.checkpoints("cuda").front()),
                               .device = mds::stage::cuda_copies(),
                               .memory = 64_MiB,
                               .keep = {.last = 3}});
  cuda_quickstart::train(loader, trainer, saver, quickstart::global_batch, steps, 50);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: cuda_quickstart WORK [STEPS]\n");
    return 2;
  }
  try {
    train({.work = words[1]}, count > 2 ? std::stoull(words[2]) : 1000);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cuda_quickstart: error: %s\n", e.what());
    return 1;
  }
}
