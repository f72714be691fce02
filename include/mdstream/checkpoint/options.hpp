#pragma once

/// Where and how checkpoints are saved.

#include <mdstream/checkpoint/metadata.hpp>
#include <mdstream/core/sizes.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/stage/device_copies.hpp>
#include <mdstream/store/opened_store.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Which checkpoints stay. The newest, the one that the job resumed from, and pinned ones always
/// stay. A damaged checkpoint does not count as one of the `last`.
///
///     mds::keep_rules keep{.last = 3, .every = 10'000};  // steps
struct keep_rules {
  std::uint64_t last = 0;   ///< this many of the newest; 0: all, and no checkpoint is removed
  std::uint64_t every = 0;  ///< also those whose step is a multiple of this; 0: no others
  /// The data of a removed checkpoint stay for this long, so that a process that reads them can
  /// finish. Data that dead jobs left stay for this long after they were first seen.
  std::chrono::milliseconds grace = std::chrono::hours(1);
};

/// The result of a save, for `saver_options::on_saved`.
///
///     options.on_saved = [](std::exception_ptr failure, const mds::saved_checkpoint& saved) {
///       if (!failure && saved.complete) use(saved.step, saved.name);
///     };
struct saved_checkpoint {
  std::uint64_t step = 0;
  std::string name{};  ///< of the checkpoint
  /// On rank 0: the checkpoint is complete. On other ranks: the part of this rank is stored.
  bool complete = false;
};

/// Options of a `checkpoint_saver`; only `run` has no default.
///
///     mds::saver_options options{.run = mds::full_store::open("s3://bucket/7b"),
///                                .world = {.nodes = 64, .ranks_per_node = 8, .rank = rank},
///                                .keep = {.last = 3}};
struct saver_options {
  /// The place of all checkpoints of one training run, and of nothing else.
  opened_store run;
  /// Other stores for the same run. Each save goes to all of them. A run resumes from the newest
  /// checkpoint of any store, and reads each block from the first store that has it undamaged,
  /// `run` first. All stores have to answer when the run starts. If one fails later, `warn` gets a
  /// message, and the run continues without it until it works again.
  std::vector<opened_store> mirrors{};
  /// All ranks of the job, and which of them this process is: as `loader::ranks()`. The default is
  /// one rank.
  mdstream::world world{};
  /// A text that all ranks of this launch have, and that no other launch of the run has or had. By
  /// it, ranks agree on the checkpoint to resume from. The default is the one of Slurm, torchrun or
  /// PMIx (`launch::token_from_environment`). One rank needs none.
  std::string token{};
  /// Another way to agree. Each rank calls it once, on the thread that calls `resume_point`. It has
  /// to give the text of rank 0 to all ranks, as MPI_Bcast does: some KB, or an empty text if rank
  /// 0 could not start.
  std::function<void(std::string&)> broadcast{};
  /// Whether the run may resume from a checkpoint with this `save_options::metadata`, for example
  /// for a `launch::loss_guard`. Called on rank 0 when the run starts, for the newest checkpoint
  /// first: the first accepted one counts. If it accepts no checkpoint, a run that still has its
  /// first checkpoint begins anew, and any other fails as if all were damaged. If not set, all are
  /// accepted.
  std::function<bool(const checkpoint_metadata& metadata)> accept{};
  /// Where all tensors of the rank are. On a device, set `stage::cuda_copies()`. The default is
  /// host memory.
  stage::device_copies device{};
  /// Memory for snapshots, pinned if there is a device. If a rank saves more, `wait_snapshot` waits
  /// for uploads.
  byte_size memory{std::uint64_t{2} << 30};
  /// Approximate size of a file, at most a quarter of `memory`.
  byte_size file_bytes{std::uint64_t{512} << 20};
  /// Files that are uploaded at a time. A store may send several parts of each.
  unsigned uploads = 4;
  /// Threads that copy tensors in host memory to the snapshot.
  unsigned copy_threads = 4;
  /// Which checkpoints stay. The default is all of them.
  keep_rules keep{};
  /// How long requests that fail with transient errors are retried.
  std::chrono::milliseconds patience = default_patience;
  /// How long rank 0 waits for the parts of the slowest rank, and the others for rank 0's start.
  std::chrono::milliseconds rank_patience = std::chrono::hours(1);
  /// Gets warnings, from any thread: damaged checkpoints that are passed over, stores that fail.
  warning_function warn = &warn_on_stderr;
  /// Called once for each save, from a thread of the saver, before the next one begins. Must not
  /// throw, nor call the saver. If set, it gets the failures, and only `errc::superseded` is
  /// thrown.
  std::function<void(const std::exception_ptr& failure, const saved_checkpoint&)> on_saved{};
};

/// What is saved beside the tensors.
///
///     saver.save(step, mine, {.loader_state = loader.state(),
///                             .metadata = {{"loss", "2.5"}},
///                             .own = generator});  // of this rank's random numbers
struct save_options {
  /// `loader::state()`; the same on all ranks that give one.
  std::string loader_state{};
  /// Texts of rank 0, for people and programs, such as "loss" or "commit".
  checkpoint_metadata metadata{};
  /// Up to 64 KiB of this rank alone, such as the state of its random numbers: `checkpoint::own`.
  std::string own{};
};

}  // namespace mdstream::inline v0
