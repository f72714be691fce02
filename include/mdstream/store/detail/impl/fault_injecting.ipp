#pragma once

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/fault_injecting.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

class faulty_calls final : public store_adapter {
 public:
  faulty_calls(runtime& threads, any_async_store inner, fault_plan plan)
      : store_adapter(std::move(inner)),
        threads_(threads),
        plan_(std::move(plan)),
        random_(plan_.seed) {}

  struct counted {
    std::uint64_t calls = 0;
    std::uint64_t faults = 0;
  };
  [[nodiscard]] counted so_far() const {
    const std::lock_guard lock(mutex_);
    return counted_;
  }

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    const store_fault what = next();
    switch (what) {
      case store_fault::none:
        return inner().async_call(std::move(call), std::move(stop), where, std::move(done));
      case store_fault::unavailable:
        where = {.what = "injected: unavailable", .url = url(call.key)};
        return done(errc::unavailable, {});
      case store_fault::stall:
        return threads_.after(plan_.stall, stop,
                              [inner = inner(), call = std::move(call), stop, &where,
                               done = std::move(done)](std::error_code) mutable {
                                inner.async_call(std::move(call), std::move(stop), where,
                                                 std::move(done));
                              });
      default: return spoil(what, std::move(call), std::move(stop), where, std::move(done));
    }
  }

 private:
  [[nodiscard]] store_fault next() const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t number = counted_.calls++;
    store_fault what = store_fault::none;
    if (const auto at = plan_.script.find(number); at != plan_.script.end()) {
      what = at->second;
    } else if (plan_.chance > 0 && std::uniform_real_distribution<>()(random_) < plan_.chance) {
      what = plan_.kinds.at(random_() % plan_.kinds.size());
    }
    if (what != store_fault::none) ++counted_.faults;
    return what;
  }

  /// Makes a call and changes what it gave, where it is of the kind that the fault is of.
  void spoil(store_fault what, store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const {
    const bool stats = call.verb == store_verb::stat;
    const bool reads = call.reads_into_memory();
    inner().async_call(call, std::move(stop), where,
                       [what, stats, reads, into = call.into, &where, url = url(call.key),
                        done = std::move(done)](std::error_code code, store_answer answer) mutable {
                         if (what == store_fault::reset) {
                           where = {.what = "injected: reset", .url = std::move(url)};
                           code = errc::io_error;
                         } else if (stats && what == store_fault::wrong_size) {
                           ++answer.object.bytes;
                         } else if (reads) {
                           if (what == store_fault::wrong_byte && answer.bytes > 0)
                             into[answer.bytes / 2] ^= std::byte{1};
                           if (what == store_fault::broken_off && !code) {
                             where = {.what = "injected: broken off"};
                             code = errc::unavailable;
                           }
                           if (what == store_fault::short_read || what == store_fault::broken_off)
                             answer.bytes /= 2;
                         }
                         done(code, std::move(answer));
                       });
  }

  runtime& threads_;
  const fault_plan plan_;
  mutable std::mutex mutex_;
  mutable std::mt19937_64 random_;
  mutable counted counted_;
};

}  // namespace detail

MDSTREAM_INLINE fault_injecting::fault_injecting(runtime& threads, any_async_store inner,
                                                 fault_plan plan)
    : any_async_store(std::make_shared<const detail::faulty_calls>(threads, std::move(inner),
                                                                   std::move(plan))) {}

MDSTREAM_INLINE std::uint64_t fault_injecting::calls() const {
  return static_cast<const detail::faulty_calls&>(*behind()).so_far().calls;
}

MDSTREAM_INLINE std::uint64_t fault_injecting::faults() const {
  return static_cast<const detail::faulty_calls&>(*behind()).so_far().faults;
}

}  // namespace mdstream::inline v0
