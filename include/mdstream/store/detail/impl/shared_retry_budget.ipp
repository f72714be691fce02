#pragma once

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/schedule/detail/trouble.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint64_t shared_retry_budget::repeated() const {
  const std::lock_guard lock(state_->mutex);
  return state_->repeated;
}

MDSTREAM_INLINE void shared_retry_budget::repeats(const std::error_code& failure,
                                                  const diagnostics& where) const {
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->repeated;
  }
  if (state_->on_trouble) state_->on_trouble(failure, where);
}

MDSTREAM_INLINE void shared_retry_budget::succeeded() const {
  const std::lock_guard lock(state_->mutex);
  state_->budget.succeeded();
}

MDSTREAM_INLINE void shared_retry_budget::give_back(unsigned repetitions) const {
  const std::lock_guard lock(state_->mutex);
  state_->budget.give_back(repetitions);
}

MDSTREAM_INLINE bool shared_retry_budget::try_take() const {
  const std::lock_guard lock(state_->mutex);
  return state_->budget.try_take();
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE shared_retry_budget::trouble_function tells_of_trouble(
    std::function<void(const std::string&)> warn, std::string stream,
    std::chrono::nanoseconds patience) {
  if (!warn || patience.count() == 0) return {};
  struct state {
    std::mutex mutex{};
    trouble_log log{};
  };
  return
      [warn = std::move(warn), stream = std::move(stream), patience,
       mine = std::make_shared<state>()](const std::error_code& failure, const diagnostics& where) {
        if (!is_transient(failure)) return;
        {
          const std::lock_guard lock(mine->mutex);
          if (!mine->log.failed(std::chrono::steady_clock::now())) return;
        }
        diagnostics what = where;
        what.stream = stream;
        what.cause.clear();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience).count();
        warn("a store has trouble: " + std::string(error(failure, std::move(what)).what()) +
             "; a request is repeated for up to " + std::to_string(seconds) + " s");
      };
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::optional<std::chrono::nanoseconds> call_attempts::pause_after(
    const std::error_code& failure, diagnostics& where, clock::time_point now) {
  const bool goes_on = std::exchange(goes_on_, false);
  if (where.is_final) return std::nullopt;
  const double chance = detail::chance();
  const std::chrono::nanoseconds futile = now - *(since_ ? since_ : since_ = now);
  const bool waits = policy_.patience.count() > 0 && is_transient(failure);
  const unsigned failed = ++(waits ? waited_ : failed_);
  const auto pause_for = [&](std::optional<std::chrono::milliseconds> asked) {
    return pause_before_retry(policy_, failed, failure, chance, asked, before_, futile);
  };
  const auto own = pause_for(std::nullopt);
  auto pause = pause_for(where.retry_after);
  if (!own || !pause) {
    if (waits) tell_of_end(futile, where);
    return std::nullopt;
  }
  const bool told = where.retry_after && *own < *where.retry_after && *where.retry_after <= *pause;
  if (!goes_on && !told && !take()) {
    if (!waits) {
      if (where.what.empty()) where.what = failure.message();
      where.what += "; the retry budget is spent";
      return std::nullopt;
    }
    pause = std::min(std::max(*pause, policy_.longest), policy_.patience - futile);
  }
  before_ = *own;
  budget_.repeats(failure, where);
  return pause;
}

MDSTREAM_INLINE void call_attempts::led_on() {
  failed_ = waited_ = 0;
  before_ = {};
  since_.reset();
  goes_on_ = true;
  if (taken_ > 0) budget_.give_back(std::exchange(taken_, 0));
}

MDSTREAM_INLINE void call_attempts::succeeded() {
  led_on();
  budget_.succeeded();
}

MDSTREAM_INLINE bool call_attempts::take() {
  if (!budget_.try_take()) return false;
  ++taken_;
  return true;
}

MDSTREAM_INLINE void call_attempts::tell_of_end(std::chrono::nanoseconds futile,
                                                diagnostics& where) const {
  if (!where.cause.empty()) where.cause += '\n';
  where.cause += "this was tried " + std::to_string(failed_ + waited_) + " times within " +
                 std::to_string(std::chrono::duration_cast<std::chrono::seconds>(futile).count()) +
                 " s";
  where.is_final = true;
}

}  // namespace mdstream::inline v0::detail
