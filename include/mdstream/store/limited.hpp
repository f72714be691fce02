#pragma once

/// Bounds how many calls of a store are under way: by a number, or by what the store bears.

#include <mdstream/schedule/adaptive_limit.hpp>
#include <mdstream/store/adapter.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

/// What adapters that hold calls back have in common. `Limit` says how many may be under way.
template <class Adapter, async_store S, class Limit>
class limited_by : public store_adapter<Adapter, S> {
 public:
  /// Calls under way now.
  [[nodiscard]] std::size_t in_flight() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->in_flight;
  }

  /// Calls that may be under way now.
  [[nodiscard]] std::size_t limit() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->limit.most();
  }

  /// For `store_adapter`.
  template <class... Result, class Start>
  void run(store_call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    shared_->begin([common = shared_, stop = std::move(stop), &where, start = std::move(start),
                    done = std::move(done)](typename Limit::ticket ticket) mutable {
      start(stop, where,
            store_handler<Result...>([common, ticket, done = std::move(done)](
                                         std::error_code code, Result... values) mutable {
              done(code, std::move(values)...);
              common->end(ticket, code);
            }));
    });
  }

 protected:
  limited_by(S inner, Limit limit)
      : store_adapter<Adapter, S>(std::move(inner)),
        shared_(std::make_shared<shared>(std::move(limit))) {}

 private:
  using call = unique_function<void(typename Limit::ticket)>;

  struct shared {
    explicit shared(Limit l) : limit(std::move(l)) {}

    void begin(call next) {
      std::unique_lock lock(mutex);
      waiting.push_back(std::move(next));
      start_waiting(lock);
    }
    void end(typename Limit::ticket ticket, const std::error_code& code) {
      std::unique_lock lock(mutex);
      --in_flight;
      limit.ended(ticket, code);
      start_waiting(lock);
    }

    /// One thread at a time starts calls, in a loop: a store whose calls complete at once would
    /// otherwise start each one from within the one before.
    void start_waiting(std::unique_lock<std::mutex>& lock) {
      if (starting) return;  // who starts looks again
      starting = true;
      while (!waiting.empty() && in_flight < limit.most()) {
        call next = std::move(waiting.front());
        waiting.pop_front();
        ++in_flight;
        const auto ticket = limit.started();
        lock.unlock();
        next(ticket);
        lock.lock();
      }
      starting = false;
    }

    std::mutex mutex;
    Limit limit;
    std::size_t in_flight = 0;
    bool starting = false;
    std::deque<call> waiting;
  };

  std::shared_ptr<shared> shared_;
};

}  // namespace detail

/// A store with at most `most` calls under way; the others wait in the order in which they came.
/// A stop does not take a waiting call out of the queue; it ends when its turn comes.
template <async_store S>
class limited : public detail::limited_by<limited<S>, S, fixed_limit> {
 public:
  limited(S inner, std::size_t most)
      : detail::limited_by<limited, S, fixed_limit>(std::move(inner), fixed_limit(most)) {}
};

/// A store with as many calls under way as it bears: fewer while it answers that it is
/// overloaded, more again when it does not, see `adaptive_limit`. Stands between `retrying` and the
/// store, so that it sees every failure: `retrying(threads, adaptive(store), policy)`.
template <async_store S>
class adaptive : public detail::limited_by<adaptive<S>, S, adaptive_limit> {
 public:
  explicit adaptive(S inner, adaptive_limits limits = {})
      : detail::limited_by<adaptive, S, adaptive_limit>(std::move(inner), adaptive_limit(limits)) {}
};

}  // namespace mdstream::inline v0
