#pragma once

#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/stream/detail/next_epoch.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE next_epoch::~next_epoch() {
  drop();
  epoch_pointer last;  // that no thread has taken yet; goes after the lock
  std::unique_lock lock(it_->mutex);
  last = std::move(it_->retired);
  it_->idle.wait(lock, [this] { return it_->ending == 0 && !it_->busy; });
}

MDSTREAM_INLINE bool next_epoch::has_begun() const {
  const std::lock_guard lock(it_->mutex);
  return it_->key.has_value();
}

MDSTREAM_INLINE void next_epoch::begin(epoch_key key, maker make) {
  drop();
  {
    const std::lock_guard lock(it_->mutex);
    it_->key = std::move(key);
    it_->make = std::move(make);
  }
  want(readiness::read);
}

MDSTREAM_INLINE void next_epoch::want(readiness wanted) {
  {
    const std::lock_guard lock(it_->mutex);
    if (!it_->key || it_->wanted >= wanted) return;
    it_->wanted = wanted;
  }
  threads_.post([it = it_] { it->go_on(); });
}

MDSTREAM_INLINE void next_epoch::fetch_on() {
  const std::lock_guard lock(it_->mutex);
  if (it_->reached >= readiness::fetched && it_->feed) it_->feed->fetch_on();
}

MDSTREAM_INLINE void next_epoch::yield(std::uint32_t shard) {
  epoch_pointer gone;  // goes after the lock
  const std::lock_guard lock(it_->mutex);
  gone = std::move(it_->retired);
  if (it_->feed) it_->feed->yield(shard);
}

MDSTREAM_INLINE std::uint64_t next_epoch::next_use(std::uint32_t shard, std::uint64_t from) const {
  const std::lock_guard lock(it_->mutex);
  return it_->feed && it_->reached != readiness::none ? it_->feed->next_use(shard, from) : never;
}

MDSTREAM_INLINE next_epoch::epoch_pointer next_epoch::take(const epoch_key& key) {
  epoch_pointer found;
  if (take(found) != key) retire(std::move(found));
  return found;
}

MDSTREAM_INLINE next_epoch::epoch_pointer next_epoch::take_any() {
  epoch_pointer found;
  take(found);
  return found;
}

MDSTREAM_INLINE void next_epoch::retire(epoch_pointer ended) {
  if (!ended) return;
  if (!ended->is_idle()) return end(ended.release());
  {
    const std::lock_guard lock(it_->mutex);
    std::swap(it_->retired, ended);
  }
  threads_.post([it = it_] { it->go_on(); });
}

MDSTREAM_INLINE void next_epoch::lay_aside(epoch_pointer ended) {
  if (!ended || !ended->is_idle()) return retire(std::move(ended));
  const std::lock_guard lock(it_->mutex);
  std::swap(it_->retired, ended);
}

MDSTREAM_INLINE void next_epoch::clear() {
  threads_.post([it = it_] { it->go_on(); });
}

MDSTREAM_INLINE std::stop_token next_epoch::others_gone() const {
  const std::lock_guard lock(it_->mutex);
  return it_->ending == 0 ? std::stop_token() : it_->gone.get_token();
}

MDSTREAM_INLINE void next_epoch::when_others_gone(unique_function<void()> then) {
  {
    const std::lock_guard lock(it_->mutex);
    if (it_->ending != 0) {
      it_->then = std::move(then);
      return;
    }
  }
  then();
}

MDSTREAM_INLINE void next_epoch::state::go_on() {
  std::unique_lock lock(mutex);
  if (busy) return;  // who is at it looks again before it ends
  busy = true;
  if (epoch_pointer spent = std::move(retired)) {
    lock.unlock();
    spent.reset();
    lock.lock();
  }
  while (!stopped && reached < wanted) {
    const auto next = static_cast<readiness>(static_cast<std::uint8_t>(reached) + 1);
    lock.unlock();
    const bool done = step(next);
    lock.lock();
    reached = done ? next : (wanted = readiness::built);  // once is enough
  }
  busy = false;
  idle.notify_all();
}

MDSTREAM_INLINE void next_epoch::state::has_ended(epoch_pointer spent) {
  spent.reset();
  std::stop_source last(std::nostopstate);
  unique_function<void()> next;
  {
    const std::lock_guard lock(mutex);
    if (--ending != 0) return;
    last = std::exchange(gone, std::stop_source());
    next = std::exchange(then, {});
    idle.notify_all();
  }
  last.request_stop();
  if (next) next();
}

MDSTREAM_INLINE bool next_epoch::state::step(readiness next) noexcept {
  try {
    if (next == readiness::read) {
      epoch_pointer made = make();
      made->read_first();
      const std::lock_guard lock(mutex);
      feed = std::move(made);
    } else if (next == readiness::fetched) {
      feed->fetch_first(needed_before);
    } else {
      feed->build_first();
    }
    return true;
  } catch (...) {
    return false;
  }
}

MDSTREAM_INLINE std::optional<epoch_key> next_epoch::take(epoch_pointer& found) {
  std::unique_lock lock(it_->mutex);
  it_->stopped = true;
  it_->idle.wait(lock, [this] { return !it_->busy; });
  it_->stopped = false;
  found = std::move(it_->feed);
  it_->make = {};
  it_->wanted = it_->reached = readiness::none;
  return std::exchange(it_->key, std::nullopt);
}

MDSTREAM_INLINE void next_epoch::end(epoch_steps* ended) {
  {
    const std::lock_guard lock(it_->mutex);
    ++it_->ending;
  }
  ended->async_end([it = it_, ended] { it->has_ended(epoch_pointer(ended)); });
}

}  // namespace mdstream::inline v0::detail
