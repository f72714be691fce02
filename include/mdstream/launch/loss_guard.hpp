#pragma once

/// Notices a loss that is no number or leaps up, and leaves the batches at fault out of the run
/// when it goes back to a checkpoint. Pure: no clock, no I/O.

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
  go_back,  ///< load a checkpoint of before, and this guard's state with it
  give_up,  ///< as `go_back`, but going back has not helped often enough
};

/// What a bad loss is.
struct loss_guard_options {
  /// Losses that the median and the spread are taken of. Until so many are known, only NaN and
  /// infinity are bad.
  std::size_t window = 64;
  /// A loss is a spike that lies above the median by so many standard deviations, estimated by the
  /// median absolute deviation,
  double deviations = 10;
  /// and by this part of the median.
  double part = 0.2;
  /// Batches to leave out: the one that had the bad loss, and those before it. A batch can damage
  /// the model and the loss leap one or two later.
  std::uint64_t batches = 1;
  std::uint64_t most_returns = 16;  ///< of a run; after that `give_up`
};

/// Batches of a run, counted from 0 over all epochs.
struct batch_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const batch_range&, const batch_range&) = default;
};

/// Judges the loss of each step. Ranks that give it the same losses, those of the global batch,
/// come to the same verdicts without talking, on any world and after any restart.
///
///     mds::launch::loss_guard guard;
///     const std::string at_start = guard.state();
///     ...
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
/// To go back: make a new loader, load the last checkpoint's tensors and loader state, and the
/// guard's own text from it, or `at_start` where there is no checkpoint; then train on. What was
/// left out so far stays left out. Where the process dies before it saves again, the same losses
/// come back and are judged alike.
///
/// Thread safety: none. Cost: a step sorts the window twice, microseconds.
class loss_guard {
 public:
  /// Throws `errc::invalid_argument` for options that cannot be right.
  explicit loss_guard(const loss_guard_options& options = {});

  /// Counts the next batch of the run. False where it is left out: the loop takes the next one in
  /// its place, and counts no step, or counts a step that changes nothing.
  [[nodiscard]] bool take();

  /// Judges the loss of the batch that was taken last.
  [[nodiscard]] loss_verdict judge(double loss);

  /// Batches that are left out, ascending; those that the run has yet to reach, too.
  [[nodiscard]] const std::vector<batch_range>& left_out() const noexcept { return left_out_; }
  /// How often the run has gone back.
  [[nodiscard]] std::uint64_t returns() const noexcept { return returns_; }
  /// Batches that were counted.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }

  /// All that a later judgement depends on, as one line of JSON: 64 losses take 1.5 KB.
  [[nodiscard]] std::string state() const;
  /// Goes to the place of a state; batches that this guard leaves out stay left out, and its
  /// returns stay counted. Throws `errc::corrupt` for text that is no state.
  void load_state(std::string_view text);

 private:
  [[nodiscard]] bool is_bad(double loss) const;
  void leave_out(batch_range range);

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
