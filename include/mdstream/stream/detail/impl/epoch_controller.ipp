#pragma once

#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/stream/detail/epoch_controller.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool epoch_controller::has_begun() const {
  const std::lock_guard lock(mutex_);
  return states_.at != epoch_state::none;
}

MDSTREAM_INLINE void epoch_controller::begin(epoch_key key, maker make, reservation needed_before) {
  {
    const std::lock_guard lock(mutex_);
    key_ = std::move(key);
    make_ = std::move(make);
    needed_before_ = std::move(needed_before);
    static_cast<void>(states_.on(epoch_event::begin));
  }
  want(readiness::read);
}

MDSTREAM_INLINE void epoch_controller::want(readiness wanted) {
  {
    const std::lock_guard lock(mutex_);
    if (states_.on(epoch_event::want, wanted) != epoch_action::post) return;
  }
  post([self = shared_from_this()] { self->go_on(); });
}

MDSTREAM_INLINE void epoch_controller::fetch_on() {
  const std::lock_guard lock(mutex_);
  if (states_.reached >= readiness::fetched && next_) next_->fetch_on();
}

MDSTREAM_INLINE void epoch_controller::yield(std::uint32_t shard) {
  const auto self = shared_from_this();  // the end of an epoch may be that of all
  end_left();
  std::unique_lock lock(mutex_);
  while (ending_ != 0) wait(lock);
  if (next_) next_->yield(shard);
}

MDSTREAM_INLINE std::uint64_t epoch_controller::next_use(std::uint32_t shard,
                                                         std::uint64_t from) const {
  const std::lock_guard lock(mutex_);
  return next_ && states_.reached != readiness::none ? next_->next_use(shard, from) : never;
}

MDSTREAM_INLINE epoch_controller::epoch_pointer epoch_controller::take(const epoch_key& key) {
  epoch_pointer found;
  {
    std::unique_lock lock(mutex_);
    epoch_action action{};
    while ((action = states_.on(epoch_event::take)) == epoch_action::wait) wait(lock);
    if (action != epoch_action::hand_over) return nullptr;
    found = std::move(next_);
    make_ = {};
    if (key_ == key) return found;
  }
  leave(std::move(found));
  clear();
  return nullptr;
}

MDSTREAM_INLINE void epoch_controller::leave(epoch_pointer ended) {
  if (!ended) return;
  if (ended->is_idle()) {
    end_left();
    const std::lock_guard lock(mutex_);
    left_ = std::move(ended);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    static_cast<void>(states_.on(epoch_event::leave));
    if (!others_gone_.stop_possible()) others_gone_ = std::stop_source();
  }
  end(std::move(ended));
}

MDSTREAM_INLINE void epoch_controller::clear() {
  post([self = shared_from_this()] { self->go_on(); });
}

MDSTREAM_INLINE std::stop_token epoch_controller::others_gone() const {
  const std::lock_guard lock(mutex_);
  return others_gone_.get_token();
}

MDSTREAM_INLINE void epoch_controller::close(epoch_pointer current, unique_function<void()> then) {
  const auto self = shared_from_this();  // `then` may release the owner's
  {
    const std::lock_guard lock(mutex_);
    current_ = std::move(current);
    then_ = std::move(then);
    if (states_.on(epoch_event::close) != epoch_action::leave_all) return;
  }
  leave_all();
}

MDSTREAM_INLINE void epoch_controller::go_on() {
  end_left();
  std::unique_lock lock(mutex_);
  epoch_action action = states_.on(epoch_event::go_on);
  while (action == epoch_action::step) {
    const readiness next = states_.next_step();
    lock.unlock();
    const bool done = step(next);
    lock.lock();
    action = states_.on(done ? epoch_event::stepped : epoch_event::failed);
  }
  if (action == epoch_action::wake) wake();
  lock.unlock();
  if (action == epoch_action::leave_all) leave_all();
}

MDSTREAM_INLINE bool epoch_controller::step(readiness next) noexcept {
  try {
    if (next == readiness::read) {
      epoch_pointer made = make_();
      made->read_first();
      const std::lock_guard lock(mutex_);
      next_ = std::move(made);
    } else if (next == readiness::fetched) {
      next_->fetch_first(needed_before_);
    } else {
      next_->build_first();
    }
    return true;
  } catch (...) {
    return false;
  }
}

MDSTREAM_INLINE void epoch_controller::leave_all() {
  end_left();
  for (epoch_pointer* const each : {&next_, &current_}) {
    std::unique_lock lock(mutex_);
    epoch_pointer ended = leaving(*each);
    lock.unlock();
    if (ended) end(std::move(ended));
  }
  has_ended(nullptr);
}

MDSTREAM_INLINE void epoch_controller::end_left() {
  std::unique_lock lock(mutex_);
  epoch_pointer spent = leaving(left_);
  if (!spent) return;
  ++ending_;
  lock.unlock();
  end(std::move(spent));
  lock.lock();
  --ending_;
  wake();
}

MDSTREAM_INLINE epoch_controller::epoch_pointer epoch_controller::leaving(epoch_pointer& from) {
  if (from) static_cast<void>(states_.on(epoch_event::leave));
  return std::move(from);
}

MDSTREAM_INLINE void epoch_controller::end(epoch_pointer ended) noexcept {
  epoch_steps* const gone = ended.release();
  gone->async_end([self = shared_from_this(), gone] { self->has_ended(epoch_pointer(gone)); });
}

MDSTREAM_INLINE void epoch_controller::has_ended(epoch_pointer spent) {
  spent.reset();
  std::stop_source others(std::nostopstate);
  unique_function<void()> then;
  {
    const std::lock_guard lock(mutex_);
    const epoch_action action = states_.on(epoch_event::gone);
    if (action == epoch_action::announce) std::swap(others, others_gone_);
    if (action == epoch_action::finish) then = std::move(then_);
  }
  others.request_stop();
  if (then) then();
}

}  // namespace mdstream::inline v0::detail
