#pragma once

/// A store that fails on purpose, by a script or by chance with a seed: for tests of what is built
/// on stores, the user's own among them.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/detail/adapter.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// What can go wrong with a call, for tests.
enum class store_fault : std::uint8_t {
  none,
  unavailable,  ///< `errc::unavailable` instead of the call
  reset,        ///< the call is made, and `errc::io_error` is said of it
  stall,        ///< the call is made after a pause
  short_read,   ///< half of what was read is said to be all; calls of other kinds pass
  broken_off,   ///< a read ends with `errc::unavailable` after half of it; others pass
  wrong_byte,   ///< a read has one wrong byte, which only a hash shows; others pass
  wrong_size,   ///< a size is one too many; others pass
};

/// Which calls of `fault_injecting` fail, and how.
struct fault_plan {
  std::map<std::uint64_t, store_fault> script{};  ///< by number of the call, from 0
  double chance = 0;                              ///< of a fault in any other call
  /// Those that chance picks from.
  std::vector<store_fault> kinds{store_fault::unavailable, store_fault::reset, store_fault::stall,
                                 store_fault::short_read};
  std::uint64_t seed = 0;
  std::chrono::nanoseconds stall = std::chrono::milliseconds(10);
};

/// The runtime has to outlive the calls. The same plan and the same order of calls give the same
/// faults.
template <async_store S>
class fault_injecting : public detail::store_adapter<fault_injecting<S>, S> {
 public:
  fault_injecting(runtime& threads, S inner, fault_plan plan)
      : detail::store_adapter<fault_injecting, S>(std::move(inner)),
        shared_(std::make_shared<shared>(threads, std::move(plan))) {}

  /// Calls so far, and those that were made to fail.
  [[nodiscard]] std::uint64_t calls() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->calls;
  }
  [[nodiscard]] std::uint64_t faults() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->faults;
  }

 private:
  friend class detail::store_adapter<fault_injecting, S>;

  struct shared {
    shared(runtime& t, fault_plan p) : threads(t), plan(std::move(p)), random(plan.seed) {}

    store_fault next() {
      const std::lock_guard lock(mutex);
      const std::uint64_t number = calls++;
      store_fault what = store_fault::none;
      if (const auto at = plan.script.find(number); at != plan.script.end()) {
        what = at->second;
      } else if (plan.chance > 0 && std::uniform_real_distribution<>()(random) < plan.chance) {
        what = plan.kinds.at(random() % plan.kinds.size());
      }
      if (what != store_fault::none) ++faults;
      return what;
    }

    runtime& threads;
    const fault_plan plan;
    std::mutex mutex;
    std::mt19937_64 random;
    std::uint64_t calls = 0;
    std::uint64_t faults = 0;
  };

  template <class... Result, class Start>
  void run(detail::store_call call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    const store_fault what = shared_->next();
    switch (what) {
      case store_fault::none: return start(std::move(stop), where, std::move(done));
      case store_fault::unavailable:
        where = {.what = "injected: unavailable", .url = this->url(call.key)};
        return done(errc::unavailable, Result{}...);
      case store_fault::stall:
        return shared_->threads.after(
            shared_->plan.stall, stop,
            [stop, &where, start = std::move(start), done = std::move(done)](
                std::error_code) mutable { start(std::move(stop), where, std::move(done)); });
      case store_fault::reset:
        return start(
            std::move(stop), where,
            store_handler<Result...>([&where, url = this->url(call.key), done = std::move(done)](
                                         std::error_code, Result... values) mutable {
              where = {.what = "injected: reset", .url = std::move(url)};
              done(errc::io_error, std::move(values)...);
            }));
      default: return spoil(what, std::move(stop), where, start, std::move(done));
    }
  }

  /// Changes what a call gave, where it is of the kind that the fault is of.
  template <class Start, class... Result>
  void spoil(store_fault what, std::stop_token stop, diagnostics& where, const Start& start,
             store_handler<Result...> done) const {
    if constexpr (requires { start.into; }) {
      start(std::move(stop), where,
            store_handler<std::size_t>([what, &where, into = start.into, done = std::move(done)](
                                           std::error_code code, std::size_t got) mutable {
              if (what == store_fault::wrong_byte && got > 0) into[got / 2] ^= std::byte{1};
              if (what == store_fault::broken_off && !code) {
                where = {.what = "injected: broken off"};
                code = errc::unavailable;
              }
              const bool half = what == store_fault::short_read || what == store_fault::broken_off;
              done(code, half ? got / 2 : got);
            }));
    } else if constexpr (std::is_same_v<void(Result...), void(std::uint64_t)> ||
                         std::is_same_v<void(Result...), void(object_version)>) {
      start(std::move(stop), where,
            store_handler<Result...>(
                [what, done = std::move(done)](std::error_code code, Result... value) mutable {
                  if (what == store_fault::wrong_size) (add_one(value), ...);
                  done(code, std::move(value)...);
                }));
    } else {
      start(std::move(stop), where, std::move(done));
    }
  }
  static void add_one(std::uint64_t& bytes) { ++bytes; }
  static void add_one(object_version& found) { ++found.bytes; }

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0
