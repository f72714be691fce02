#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/launch/detail/stop_signals.hpp>
#include <mdstream/launch/stop_request.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::launch {

namespace detail {

MDSTREAM_INLINE std::int64_t stop_signals::clock() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

MDSTREAM_INLINE void stop_signals::take(int signal) {
  stop_signals& all = instance();
  const std::int64_t now = clock();
  std::int64_t before = never;
  if (all.came.compare_exchange_strong(before, now)) {
    all.first = signal;
    all.ask(now, all.warnings[static_cast<std::size_t>(signal)]);
  } else if (now - before >= all.repeats_within) {
    std::signal(signal, SIG_DFL);
    (void)std::raise(signal);  // takes effect when this returns
  }
}

}  // namespace detail

MDSTREAM_INLINE stop_request::stop_request(const stop_options& options)
    : exit_status_(options.exit_status) {
  detail::stop_signals& all = detail::stop_signals::instance();
  if (all.in_use.exchange(true))
    throw error(errc::invalid_argument,
                "cannot hear signals: another stop_request of this process does; share that one");
  all.first = 0;
  all.came = all.deadline = detail::stop_signals::never;
  all.repeats_within = options.repeats_within.count();
  shortest_ = options.signals.empty() ? stop_signal{}.warning : options.signals.front().warning;
  struct sigaction note{};
  note.sa_handler = &detail::stop_signals::take;
  note.sa_flags = SA_RESTART;
  for (const auto& [number, warning] : options.signals) {
    struct sigaction before{};
    const bool is_signal = number > 0 && number < NSIG;
    if (is_signal) all.warnings[static_cast<std::size_t>(number)] = warning.count();
    if (!is_signal || ::sigaction(number, &note, &before) != 0) {
      const std::error_code why(is_signal ? errno : EINVAL, std::system_category());
      give_back();
      throw error(errc::invalid_argument,
                  "cannot catch signal " + std::to_string(number) + ": " + why.message());
    }
    before_.push_back({number, before});
    shortest_ = std::min(shortest_, warning);
  }
}

MDSTREAM_INLINE stop_request::~stop_request() { give_back(); }

MDSTREAM_INLINE void stop_request::give_back() noexcept {
  // The last first: a signal that was named twice gets back what it had at the beginning.
  for (auto each = before_.rbegin(); each != before_.rend(); ++each)
    ::sigaction(each->number, &each->action, nullptr);
  detail::stop_signals::instance().in_use = false;
}

MDSTREAM_INLINE bool stop_request::requested() const noexcept {
  return detail::stop_signals::instance().deadline != detail::stop_signals::never;
}

MDSTREAM_INLINE void stop_request::request(std::chrono::nanoseconds warning) noexcept {
  detail::stop_signals::instance().ask(detail::stop_signals::clock(), warning.count());
}

MDSTREAM_INLINE void stop_request::request() noexcept {
  if (!requested()) request(shortest_);
}

MDSTREAM_INLINE int stop_request::signal() const noexcept {
  return detail::stop_signals::instance().first;
}

MDSTREAM_INLINE std::chrono::nanoseconds stop_request::time_left() const noexcept {
  const std::int64_t deadline = detail::stop_signals::instance().deadline;
  if (deadline == detail::stop_signals::never) return std::chrono::nanoseconds::max();
  return std::chrono::nanoseconds(deadline - detail::stop_signals::clock());
}

}  // namespace mdstream::inline v0::launch
