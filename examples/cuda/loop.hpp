#pragma once

// The training loop: batches of full size, epoch after epoch, until the steps are done. It saves as
// it goes, and begins where the last checkpoint was made.

#include <mdstream/checkpoint/saver.hpp>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace cuda_quickstart {

/// Takes steps of `trainer` up to step `steps` with the loader's batches of `rows` rows; others are
/// passed over. Saves every `save_every` steps. Throws std::runtime_error where an epoch has no
/// batch of that size.
template <class Loader, class Trainer>
void train(Loader& loader, Trainer& trainer, mdstream::checkpoint_saver& saver, std::uint64_t rows,
           std::uint64_t steps, std::uint64_t save_every) {
  std::uint64_t step = 0;
  if (const auto last = saver.resume_point()) {
    last->load(trainer.tensors());
    loader.load_state(last->loader_state());
    step = last->step();
    trainer.go_on_at(step);
    std::printf("goes on from step %llu\n", static_cast<unsigned long long>(step));
  }
  while (step < steps) {
    const std::uint64_t before = step;
    for (auto& batch : loader.epoch()) {
      if (batch.size() != rows) continue;
      batch.ready_on(trainer.stream());  // the trainer's stream waits for the copy, not the host
      trainer.learn(batch.template get<"text">().data());
      saver.wait_snapshot(trainer.stream());  // so does the update for what is still being saved
      trainer.update();
      if (++step % 50 == 0 || step == steps)
        std::printf("step %llu: %.4f nats a byte\n", static_cast<unsigned long long>(step),
                    trainer.loss());
      if (step % save_every == 0)
        saver.save(step, trainer.tensors(), {.loader_state = loader.state()}, trainer.stream());
      if (step == steps) break;
    }
    if (step == before)
      throw std::runtime_error("no batch of the epoch has " + std::to_string(rows) +
                               " rows; this example trains on one rank");
  }
  saver.finish();
}

}  // namespace cuda_quickstart
