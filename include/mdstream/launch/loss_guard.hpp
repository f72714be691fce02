#pragma once

/// Detects a loss that is NaN or jumps, and skips the batches that caused it when the run returns
/// to a checkpoint. Pure: no clock, no I/O.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::launch {

/// What a training loop does after a step.
enum class loss_verdict {
  go_on,
  go_back,  ///< load an earlier checkpoint, and the guard's state with it
  give_up,  ///< the loss is bad again after `most_returns` returns
};

/// What a bad loss is.
///
///     mds::launch::loss_guard guard({.deviations = 6, .batches = 2});
struct loss_guard_options {
  /// The number of last losses for the median and the deviation. Before there are as many, only NaN
  /// and infinity are bad.
  std::size_t window = 64;
  /// A loss is a spike if it is above the median by more than this many standard deviations, and by
  /// more than `part`. The deviation is estimated by the median absolute deviation.
  double deviations = 10;
  /// The least part of the median by which a spike is above it.
  double part = 0.2;
  /// Batches to skip: the one with the bad loss, and those before it. A batch can damage the model
  /// one or two steps before the loss jumps.
  std::uint64_t batches = 1;
  /// Returns to a checkpoint in a run, at most. After that the verdict is `give_up`.
  std::uint64_t most_returns = 16;
};

/// Batches of a run, counted from 0 over all epochs.
struct batch_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const batch_range&, const batch_range&) = default;
};

/// Judges the loss of each step. If all ranks give it the loss of the global batch, they get the
/// same verdicts without communication, on any number of ranks and after any restart.
///
///     mds::launch::loss_guard guard;
///     mds::checkpoint_saver saver({.run = run, .accept = [&](const auto& saved) {
///       return guard.accepts(saved.text("guard"));
///     }});
///     if (guard.load_state(saver.resume(tensors, loader).metadata.text("guard"))) save_now();
///     for (auto& batch : loader.epoch()) {
///       if (!guard.take()) continue;  // left out: the next one takes its place
///       saver.wait_snapshot();  // before the model changes
///       const double loss = train_step(batch);  // the mean over all ranks
///       if (guard.judge(loss) != mds::launch::loss_verdict::go_on) return false;  // go back
///       ++step;
///       if (step % 100 == 0) saver.save(step, tensors, {.loader_state = loader.state(),
///                                                       .metadata = {{"guard", guard.state()}}});
///     }
///
/// To go back: make a new loader and a new saver, and begin as above, with the same guard.
/// `load_state` returns true then. Save at once: the run's next start skips the same batches. If
/// the process dies before it has saved, the next start sees the same losses and judges them alike.
///
/// Thread safety: none. Cost: a step sorts the window twice, microseconds.
class loss_guard {
 public:
  /// Throws `errc::invalid_argument` for options that cannot be right.
  explicit loss_guard(const loss_guard_options& options = {});

  /// Counts the next batch of the run. False if the loop has to skip it: it then takes the next one
  /// in its place.
  [[nodiscard]] bool take();

  /// Judges the loss of the batch that was taken last. Throws `errc::invalid_argument` before the
  /// first `take`.
  [[nodiscard]] loss_verdict judge(double loss);

  /// Whether a checkpoint with this state of the guard has learnt nothing that is left out by now.
  /// The last one has learnt some, where it was saved between the first batch at fault and the bad
  /// loss: see `loss_guard_options::batches`. For `saver_options::accept`. Text and errors as of
  /// `load_state`; throws `errc::invalid_argument` for an empty one if something is left out.
  [[nodiscard]] bool accepts(std::string_view state) const;

  /// Batches that are left out, ascending; those that the run has yet to reach, too.
  [[nodiscard]] const std::vector<batch_range>& left_out() const noexcept { return left_out_; }
  /// How often the run has gone back.
  [[nodiscard]] std::uint64_t returns() const noexcept { return returns_; }
  /// Batches that were counted.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }

  /// The state of the guard as one line of JSON; 64 losses take 1.5 KB. Save it with the model.
  [[nodiscard]] std::string state() const;
  /// Continues from a state; an empty text is the state of a new guard, for a run without a
  /// checkpoint. Batches that this guard skips stay skipped, and its returns stay counted. Returns
  /// whether there are any that the state does not have: save at once, so that the run's next start
  /// has them. Throws `errc::corrupt` for text that is no state.
  bool load_state(std::string_view text);

 private:
  [[nodiscard]] bool is_bad(double loss) const;
  void leave_out(batch_range range);
  [[nodiscard]] loss_guard read(std::string_view text) const;

  loss_guard_options options_;
  std::deque<double> losses_;  // the last good ones
  std::vector<batch_range> left_out_;
  std::uint64_t batches_ = 0;
  std::uint64_t returns_ = 0;
};

}  // namespace mdstream::inline v0::launch

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/launch/detail/impl/loss_guard.ipp>
#endif
