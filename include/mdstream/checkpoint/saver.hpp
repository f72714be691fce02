#pragma once

/// Saves tensors and state during training, and finds the checkpoint to resume from.

#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/checkpoint/metadata.hpp>
#include <mdstream/checkpoint/options.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>
#include <mdstream/core/detail/process.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace mdstream::inline v0 {

namespace detail {
class saving;
}  // namespace detail

/// What `checkpoint_saver::resume` restored.
///
///     const mds::resumed_run run = saver.resume(mine, loader);
///     step = run.step;  // 0 in a new run
struct resumed_run {
  std::uint64_t step = 0;    ///< 0: a new run
  std::string checkpoint{};  ///< its name; empty: a new run
  /// The user's own, of `save_options::metadata`.
  checkpoint_metadata metadata{};
  /// What this rank had saved as `save_options::own`, such as the state of its random numbers;
  /// empty if the run resumes with another number of ranks.
  std::string own{};
};

/// Saves tensors and state during training, and finds the checkpoint to resume from. Each rank of a
/// training run has one saver.
///
/// `save` returns at once: the saver's threads copy the tensors to memory of the saver, and upload
/// them from there. Call `wait_snapshot` before the tensors change: it returns when they are
/// copied. Tensors on a device are copied in the order of its streams, and no thread waits. A
/// checkpoint exists when all ranks have stored their parts and rank 0 has created its manifest. An
/// incomplete one is never loaded.
///
/// Lifetime: tensors must neither change nor be freed until `wait_snapshot` returns or the saver is
/// destroyed, so create them before the saver. The destructor abandons a save that is not complete;
/// `finish` waits for it.
/// Thread safety: one thread at a time. It cannot be used in a forked child.
///
/// Errors: if a save fails, the next `save` or `finish` throws the error, or
/// `saver_options::on_saved` gets it. The saver stays usable. A `save` that throws has not begun:
/// call it again to save that step. `errc::superseded`: a later start of the same run has taken
/// over, and no further save succeeds. Each rank gets it with its next save at the latest.
///
/// Cost: a copy of the tensors at the speed of memory, in the background; the first save touches
/// new memory and takes twice as long. `saver_options::memory` bytes. Requests: one for each file,
/// or part of one, and three more. Rank 0 also sends one for each rank, about twelve others, and
/// listings while it waits.
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
  /// Makes no request. Throws `errc::invalid_argument` for wrong options, such as several ranks
  /// without a token or a broadcast.
  explicit checkpoint_saver(saver_options options);
  checkpoint_saver(checkpoint_saver&&) noexcept;
  checkpoint_saver& operator=(checkpoint_saver&&) noexcept;
  ~checkpoint_saver();

  /// The checkpoint to resume from, the same on all ranks: the newest complete one of the run. If
  /// that is damaged, the one before, and `saver_options::warn` gets the reason. Nothing in a new
  /// run. All ranks have to call it before they save; it waits for rank 0.
  ///
  /// Throws `errc::corrupt` if there are checkpoints and none can be used,
  /// `errc::invalid_argument` for a token that another launch has used, and the store's errors: a
  /// failure is never "no checkpoint". If a load from it finds damage, the next start takes the
  /// checkpoint before.
  /// Cost: rank 0 sends about twelve requests; others send two, and one every 0.25 to 10 s while
  /// they wait.
  [[nodiscard]] std::optional<checkpoint> resume_point();

  /// Resumes in one call: `resume_point`, `load_state` of the loader, and `load` of the tensors.
  /// The loader comes first: a state that was saved with other options throws
  /// `errc::state_mismatch`, which names the option, before a tensor is read. A new run changes
  /// neither. Cost: that of `checkpoint::load`, and a request.
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
            .own = own_of(*last)};
  }

  /// Begins to save these tensors with their values of now. All ranks have to call it for the same
  /// steps, each higher than the one before. Waits for the save before. If that failed, throws its
  /// error, and this save has not begun. Throws `errc::invalid_argument` for a step that is not
  /// higher. Tensors on a device are saved after the work that `stream` holds now; null: the
  /// default stream.
  void save(std::uint64_t step, const tensor_list& tensors, save_options what = {},
            stage::stream_handle stream = nullptr);

  /// Returns when all tensors of the last save are copied, or the save has failed; at once if there
  /// was no save. Call it before tensors change. Throws only errors of a device.
  void wait_snapshot();

  /// The same for tensors on a device: later work on `stream` waits. This thread only waits if
  /// `saver_options::memory` is too small.
  void wait_snapshot(stage::stream_handle stream);

  /// Returns when the last save is complete; on ranks other than 0, when this rank's part is
  /// stored. If it failed, throws its error, once.
  void finish();

  /// Requests that were retried.
  [[nodiscard]] std::uint64_t repeated_requests() const;

 private:
  [[nodiscard]] detail::saving& here() const;
  [[nodiscard]] std::string own_of(const checkpoint& from) const;

  detail::unique_where_made<detail::saving> saving_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/saver.ipp>
#endif
