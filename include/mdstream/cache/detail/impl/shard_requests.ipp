#pragma once

#include <mdstream/cache/detail/shard_ref.hpp>
#include <mdstream/cache/detail/shard_requests.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::shared_ptr<shard_requests::entry> shard_requests::add(
    std::uint32_t shard, urgency why, std::stop_token stop, diagnostics& where, handler done) {
  std::shared_ptr<entry> begun;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(shard);
    const auto of = at == entries_.end() ? std::make_shared<entry>() : at->second;
    number = next_number_++;
    of->waiters_.emplace(number, waiter{why, &where, std::move(done), nullptr});
    if (at == entries_.end()) {
      entries_.emplace(shard, of);
      begun = of;
      of->place->ticket = number;
    }
    if (why == urgency::now) of->place->now = true;
  }
  if (stop.stop_possible()) watch(shard, number, std::move(stop));
  return begun;
}

MDSTREAM_INLINE bool shard_requests::wanted_now(const entry& of) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(of.waiters_.begin(), of.waiters_.end(),
                     [](const auto& each) { return each.second.why == urgency::now; });
}

MDSTREAM_INLINE void shard_requests::finish(std::uint32_t shard, const std::shared_ptr<entry>& of,
                                            std::error_code code, const diagnostics& where,
                                            shard_ref ref) {
  std::map<std::uint64_t, waiter> waiters;
  {
    const std::lock_guard lock(mutex_);
    waiters.swap(of->waiters_);
    forget(shard, of);
  }
  for (auto& [number, each] : waiters) {
    const bool last = number == waiters.rbegin()->first;
    complete(each, code, where, last ? std::exchange(ref, {}) : ref);
  }
}

MDSTREAM_INLINE bool shard_requests::dismiss_ahead(std::uint32_t shard,
                                                   const std::shared_ptr<entry>& of,
                                                   std::error_code code, const diagnostics& where) {
  std::vector<waiter> dismissed;
  bool over = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = of->waiters_.begin(); at != of->waiters_.end();) {
      if (at->second.why == urgency::now) {
        ++at;
        continue;
      }
      dismissed.push_back(std::move(at->second));
      at = of->waiters_.erase(at);
    }
    over = of->waiters_.empty();
    if (over) forget(shard, of);
  }
  for (waiter& each : dismissed) complete(each, code, where, {});
  return over;
}

MDSTREAM_INLINE void shard_requests::stop_all() {
  std::vector<std::shared_ptr<entry>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [shard, each] : entries_) all.push_back(each);
  }
  for (const std::shared_ptr<entry>& each : all) each->stop.request_stop();
}

MDSTREAM_INLINE void shard_requests::complete(waiter& who, std::error_code code,
                                              const diagnostics& where, shard_ref ref) {
  who.cancel.reset();
  try {
    if (code) *who.where = where;
  } catch (const std::bad_alloc&) {  // the code has to do
  }
  who.done(code, std::move(ref));
}

MDSTREAM_INLINE void shard_requests::forget(std::uint32_t shard, const std::shared_ptr<entry>& of) {
  const auto at = entries_.find(shard);
  if (at != entries_.end() && at->second == of) entries_.erase(at);
}

MDSTREAM_INLINE void shard_requests::watch(std::uint32_t shard, std::uint64_t number,
                                           std::stop_token stop) {
  auto callback = std::allocate_shared<std::stop_callback<canceller>>(
      handler_allocator<std::stop_callback<canceller>>(), std::move(stop),
      canceller{this, shard, number});
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(shard);
  if (at == entries_.end()) return;
  const auto who = at->second->waiters_.find(number);
  if (who != at->second->waiters_.end()) who->second.cancel = std::move(callback);
}

MDSTREAM_INLINE void shard_requests::cancel(std::uint32_t shard, std::uint64_t number) {
  std::optional<waiter> gone;
  std::shared_ptr<entry> abandoned;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(shard);
    if (at == entries_.end()) return;
    auto& waiters = at->second->waiters_;
    const auto who = waiters.find(number);
    if (who == waiters.end()) return;
    gone.emplace(std::move(who->second));
    waiters.erase(who);
    if (waiters.empty()) {
      abandoned = std::move(at->second);
      entries_.erase(at);  // a request that comes now begins anew
    }
  }
  if (abandoned) abandoned->stop.request_stop();
  *gone->where = {.what = "the request was cancelled"};
  gone->done(errc::canceled, {});
}

}  // namespace mdstream::inline v0::detail
