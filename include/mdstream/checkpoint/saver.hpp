#pragma once

/// Saves what a training run needs to go on, while it goes on, and finds where to go on from.

#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/checkpoint/detail/saving.hpp>
#include <mdstream/checkpoint/options.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>
#include <mdstream/core/detail/process.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// What `checkpoint_saver::resume` restored.
struct resumed_run {
  std::uint64_t step = 0;    ///< 0: a new run
  std::string checkpoint{};  ///< its name; empty: a new run
  /// The user's own, of `save_options::metadata`.
  std::vector<std::pair<std::string, std::string>> metadata{};
  /// What the rank of this number had saved as `save_options::own`, as the state of its random
  /// numbers; empty where the run goes on on another number of ranks.
  std::string own{};
};

/// Saves tensors and state while training goes on, and finds the checkpoint to go on from. One for
/// each rank of a training run.
///
/// `save` returns at once: threads of the saver copy the tensors to memory of its own, and upload
/// them from there. `wait_snapshot` returns when they are copied, so that the optimizer may write
/// to them; tensors on a device are copied in the order of its streams, and no thread waits for
/// that. A checkpoint exists once rank 0 has created its manifest, when all ranks have stored
/// their parts. One that lacks anything is never loaded.
///
/// Lifetime: tensors have to stay until `wait_snapshot` returns, or the saver is destroyed: make
/// them before it. The destructor gives up what is not yet saved; `finish` waits for it.
/// Thread safety: one thread at a time. In a forked child it cannot be used.
///
/// Errors: what a save fails with is thrown by the next `save` or by `finish`, or given to
/// `saver_options::on_saved`; the saver can go on. A `save` that throws has not begun: call it
/// again to save that step. `errc::superseded`: a later start of the same run has taken over, and
/// no further save succeeds. Each rank gets it with its next save at the latest.
///
/// Cost: a copy of the tensors at the speed of memory, in the background; `saver_options::memory`
/// bytes, where the first save touches new memory and takes twice as long to copy. Requests: one
/// for each file, or part of one, and three more; of rank 0 also one for each rank, about twelve,
/// and the listings while it waits.
///
///     mds::checkpoint_saver saver({.run = mds::full_store::open("s3://bucket/7b"),
///                                  .world = world, .keep = {.last = 3}});
///     auto step = saver.resume(mine, loader).step;
///     while (++step <= steps) {
///       forward_backward();
///       saver.wait_snapshot();
///       optimizer_step();
///       if (step % 1000 == 0) saver.save(step, mine, {.loader_state = loader.state()});
///     }
///     saver.finish();
class checkpoint_saver {
 public:
  /// Makes no request. Throws `errc::invalid_argument` for options that cannot be right, as those
  /// of several ranks that have no way to agree.
  explicit checkpoint_saver(saver_options options);

  /// The checkpoint to go on from, the same on all ranks: the newest complete one of the run's
  /// line; if that is damaged, the one before, and `saver_options::warn` gets why. Nothing in a new
  /// run. Called by all ranks, before they save; waits for rank 0. Throws `errc::corrupt` where
  /// there are checkpoints and none can be used, `errc::invalid_argument` for a token that another
  /// launch has used, and what the store fails with: a failure is never "no checkpoint". A load
  /// from it that finds damage notes that for the next start, which takes the one before. Cost:
  /// about twelve requests of rank 0; of others two, and one every 0.25 to 10 s while they wait.
  [[nodiscard]] std::optional<checkpoint> resume_point() { return here().resume_point(); }

  /// The same with all that it leads to: fills the tensors from `resume_point()`, and has the
  /// loader go on there. The loader comes first: a state that was saved under other options throws
  /// `errc::state_mismatch`, which names the option, before anything is read. A new run leaves both
  /// as they are. Cost: what `checkpoint::load` does, and a request.
  template <class Loader>
  [[nodiscard]] resumed_run resume(const tensor_list& tensors, Loader& loader,
                                   const read_options& options = {}) {
    const std::optional<checkpoint> last = resume_point();
    if (!last) return {};
    if (!last->loader_state().empty()) loader.load_state(last->loader_state());
    last->load(tensors, options);
    return {.step = last->step(),
            .checkpoint = last->name(),
            .metadata = last->metadata(),
            .own = here().own_of(*last)};
  }

  /// Begins to save these tensors as they are now. All ranks call it for the same steps, each
  /// higher than the one before. Waits for the save before, and throws what that failed with; then
  /// this one has not begun. Throws `errc::invalid_argument` for a step that is not higher. Tensors
  /// on a device are saved as `stream` leaves them with what it holds now; null: the default
  /// stream.
  void save(std::uint64_t step, const tensor_list& tensors, save_options what = {},
            stage::stream_handle stream = nullptr) {
    here().save(step, tensors, std::move(what), stream);
  }

  /// Returns when all tensors of the last save have been copied, or it has failed; at once without
  /// a save. Throws only what a device fails with.
  void wait_snapshot() { here().wait_snapshot(); }

  /// The same for tensors on a device: later work on `stream` waits, this thread only where there
  /// is too little `saver_options::memory`.
  void wait_snapshot(stage::stream_handle stream) { here().wait_snapshot(stream); }

  /// Returns when the last save is complete, on ranks other than 0 when this rank's part is stored.
  /// Throws what it failed with, once.
  void finish() { here().finish(); }

  /// Requests that were repeated because the store had trouble.
  [[nodiscard]] std::uint64_t repeated_requests() const { return here().repeated(); }

 private:
  [[nodiscard]] detail::saving& here() const;

  detail::unique_where_made<detail::saving> saving_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/saver.ipp>
#endif
