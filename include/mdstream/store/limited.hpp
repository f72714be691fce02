#pragma once

/// Bounds how many calls of a store are under way.

#include <mdstream/store/adapter.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

/// A store with at most `most` calls under way; the others wait in the order in which they came.
/// A stop does not take a waiting call out of the queue; it ends when its turn comes.
template <async_store S>
class limited : public store_adapter<limited<S>, S> {
 public:
  limited(S inner, std::size_t most)
      : store_adapter<limited, S>(std::move(inner)), shared_(std::make_shared<shared>(most)) {}

  /// Calls under way now.
  [[nodiscard]] std::size_t in_flight() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->in_flight;
  }

 private:
  friend class store_adapter<limited, S>;

  struct shared {
    explicit shared(std::size_t m) : most(std::max<std::size_t>(m, 1)) {}

    void begin(unique_function<void()> call) {
      std::unique_lock lock(mutex);
      waiting.push_back(std::move(call));
      start_waiting(lock);
    }
    void end() {
      std::unique_lock lock(mutex);
      --in_flight;
      start_waiting(lock);
    }

    /// One thread at a time starts calls, in a loop: a store whose calls complete at once would
    /// otherwise start each one from within the one before.
    void start_waiting(std::unique_lock<std::mutex>& lock) {
      if (starting) return;  // who starts looks again
      starting = true;
      while (!waiting.empty() && in_flight < most) {
        unique_function<void()> next = std::move(waiting.front());
        waiting.pop_front();
        ++in_flight;
        lock.unlock();
        next();
        lock.lock();
      }
      starting = false;
    }

    const std::size_t most;
    std::mutex mutex;
    std::size_t in_flight = 0;
    bool starting = false;
    std::deque<unique_function<void()>> waiting;
  };

  template <class... Result, class Start>
  void run(store_call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    shared_->begin([common = shared_, stop = std::move(stop), &where, start = std::move(start),
                    done = std::move(done)]() mutable {
      start(stop, where,
            store_handler<Result...>(
                [common, done = std::move(done)](std::error_code code, Result... values) mutable {
                  done(code, std::move(values)...);
                  common->end();
                }));
    });
  }

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0
