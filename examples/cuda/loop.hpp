#pragma once

// The training loop: batches of full size, epoch after epoch, until the steps are done.

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace cuda_quickstart {

/// Takes `steps` steps of `trainer` with the loader's batches of `rows` rows; others are passed
/// over. Throws std::runtime_error where an epoch has none of that size.
template <class Loader, class Trainer>
void train(Loader& loader, Trainer& trainer, std::uint64_t rows, std::uint64_t steps) {
  for (std::uint64_t step = 0; step < steps;) {
    const std::uint64_t before = step;
    for (auto& batch : loader.epoch()) {
      if (batch.size() != rows) continue;
      batch.ready_on(trainer.stream());  // the trainer's stream waits for the copy, not the host
      trainer.step(batch.template get<"text">().data());
      if (++step % 50 == 0 || step == steps)
        std::printf("step %llu: %.4f nats a byte\n", static_cast<unsigned long long>(step),
                    trainer.loss());
      if (step == steps) break;
    }
    if (step == before)
      throw std::runtime_error("no batch of the epoch has " + std::to_string(rows) +
                               " rows; this example trains on one rank");
  }
}

}  // namespace cuda_quickstart
