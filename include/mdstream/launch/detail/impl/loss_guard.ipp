#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/launch/loss_guard.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mdstream::inline v0::launch {

namespace detail {

/// The upper one of two middle numbers: without arithmetic every machine has the same.
[[nodiscard]] MDSTREAM_INLINE double median_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

[[noreturn]] MDSTREAM_INLINE void refuse_guard_state(const std::string& why) {
  throw error(errc::corrupt, "cannot load the loss guard's state: " + why);
}

}  // namespace detail

MDSTREAM_INLINE loss_guard::loss_guard(const loss_guard_options& options) : options_(options) {
  if (options.window < 2 || !(options.deviations > 0) || !(options.part >= 0) ||
      options.batches == 0)
    throw error(errc::invalid_argument,
                "cannot judge losses: loss_guard_options need a window of 2 or more, deviations "
                "above 0, a part that is not negative, and at least one batch to leave out");
}

MDSTREAM_INLINE bool loss_guard::take() {
  const std::uint64_t number = batches_++;
  const auto next = std::ranges::upper_bound(left_out_, number, {}, &batch_range::begin);
  return next == left_out_.begin() || std::prev(next)->end <= number;
}

MDSTREAM_INLINE loss_verdict loss_guard::judge(double loss) {
  if (batches_ == 0)
    throw error(errc::invalid_argument,
                "cannot judge a loss: take() was not called for the batch that it is of");
  if (!is_bad(loss)) {
    losses_.push_back(loss);
    if (losses_.size() > options_.window) losses_.pop_front();
    return loss_verdict::go_on;
  }
  leave_out({batches_ - std::min(batches_, options_.batches), batches_});
  return ++returns_ > options_.most_returns ? loss_verdict::give_up : loss_verdict::go_back;
}

MDSTREAM_INLINE bool loss_guard::is_bad(double loss) const {
  if (!std::isfinite(loss)) return true;
  if (losses_.size() < options_.window) return false;
  std::vector<double> numbers(losses_.begin(), losses_.end());
  const double median = detail::median_of(numbers);
  for (double& each : numbers) each = std::abs(each - median);
  // For normal noise the standard deviation is 1.4826 times the median absolute deviation. Sums
  // are kept out of the products: a machine that fuses them would come to another verdict.
  const double deviation = 1.4826 * detail::median_of(std::move(numbers));
  const double above = loss - median;
  return above > options_.deviations * deviation && above > options_.part * std::abs(median);
}

MDSTREAM_INLINE void loss_guard::leave_out(batch_range range) {
  // What overlaps or touches becomes one.
  const auto first = std::ranges::lower_bound(left_out_, range.begin, {}, &batch_range::end);
  auto last = first;
  for (; last != left_out_.end() && last->begin <= range.end; ++last)
    range = {std::min(range.begin, last->begin), std::max(range.end, last->end)};
  left_out_.insert(left_out_.erase(first, last), range);
}

MDSTREAM_INLINE std::string loss_guard::state() const {
  json::array losses, left_out;
  for (const double each : losses_) losses.emplace_back(each);
  for (const auto& [begin, end] : left_out_)
    left_out.emplace_back(json::array{json::value(begin), json::value(end)});
  return json::dump(json::object{{"version", 1},
                                 {"batches", batches_},
                                 {"returns", returns_},
                                 {"left_out", std::move(left_out)},
                                 {"losses", std::move(losses)}});
}

MDSTREAM_INLINE bool loss_guard::accepts(std::string_view state) const {
  if (state.empty() && !left_out_.empty())
    throw error(
        errc::invalid_argument,
        "a checkpoint has no text of the loss guard: it does not tell whether it has learnt "
        "the batches that are left out; save guard.state() with every checkpoint");
  const loss_guard saved = read(state);
  return std::ranges::all_of(left_out_, [&](const batch_range& each) {
    const std::uint64_t end = std::min(each.end, saved.batches_);
    return each.begin >= end || std::ranges::any_of(saved.left_out_, [&](const batch_range& known) {
             return known.begin <= each.begin && end <= known.end;
           });
  });
}

MDSTREAM_INLINE bool loss_guard::load_state(std::string_view text) {
  const loss_guard saved = read(text);
  loss_guard loaded = saved;
  loaded.returns_ = std::max(returns_, saved.returns_);
  for (const batch_range& each : left_out_) loaded.leave_out(each);
  *this = std::move(loaded);
  return returns_ != saved.returns_ || left_out_ != saved.left_out_;
}

/// A guard with these options as it was when it gave this state.
MDSTREAM_INLINE loss_guard loss_guard::read(std::string_view text) const {
  if (text.empty()) return loss_guard(options_);
  const json::value from = json::parse(text, diagnostics{.url = "the loss guard's state"});
  if (from.get<std::uint64_t>("version") != 1)
    detail::refuse_guard_state("it is of another version; this program reads version 1");
  loss_guard loaded(options_);
  loaded.batches_ = from.get<std::uint64_t>("batches");
  loaded.returns_ = from.get<std::uint64_t>("returns");
  for (const json::value& each : from.get<json::array>("losses")) {
    loaded.losses_.push_back(each.as<double>("losses"));
    if (!std::isfinite(loaded.losses_.back()))
      detail::refuse_guard_state("a loss of its window is no number");
    if (loaded.losses_.size() > options_.window) loaded.losses_.pop_front();
  }
  for (const json::value& each : from.get<json::array>("left_out")) {
    const json::array& ends = each.as<json::array>("left_out");
    if (ends.size() != 2) detail::refuse_guard_state("batches to leave out have no two ends");
    const batch_range range{ends[0].as<std::uint64_t>("left_out"),
                            ends[1].as<std::uint64_t>("left_out")};
    if (range.begin >= range.end)
      detail::refuse_guard_state("batches to leave out end before they begin");
    loaded.leave_out(range);
  }
  return loaded;
}

}  // namespace mdstream::inline v0::launch
