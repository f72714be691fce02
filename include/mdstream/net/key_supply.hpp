#pragma once

/// The credentials of requests, of whatever kind: providers, asked one after
/// another, and keys kept until they are about to expire.

#include <mdstream/async/detail/waiting_call.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/time_text.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

// `Keys` are a value with `expires` (where it is known) and `source` (for messages). One that is
// made of a source alone lets requests go without keys. `same_keys(a, b)` says whether a server
// could tell them apart.

/// No code and keys; no code and nothing: this provider is not set up here, another may be asked;
/// or a code: it is set up and failed, which is to be told.
template <class Keys>
using keys_handler = mdstream::detail::unique_function<void(std::error_code, std::optional<Keys>)>;

/// What supplies keys. `async_find` completes exactly once, on any thread, also before it returns;
/// the diagnostics stay until then. It is called again when what it gave is about to expire or was
/// refused.
template <class P, class Keys>
concept keys_provider =
    requires(const P& provider, std::stop_token stop, diagnostics& where, keys_handler<Keys> done) {
      provider.async_find(stop, where, std::move(done));
    };

/// Any provider, shared by its copies.
template <class Keys>
class any_keys {
 public:
  template <class P>
    requires(!std::same_as<P, any_keys> && keys_provider<P, Keys>)
  any_keys(P provider)  // implicit: an option takes any provider
      : provider_(std::make_shared<model<P>>(std::move(provider))) {}

  void async_find(std::stop_token stop, diagnostics& where, keys_handler<Keys> done) const {
    provider_->find(std::move(stop), where, std::move(done));
  }

 private:
  struct interface {
    virtual ~interface() = default;
    virtual void find(std::stop_token, diagnostics&, keys_handler<Keys>) const = 0;
  };
  template <class P>
  struct model final : interface {
    explicit model(P p) : provider(std::move(p)) {}
    void find(std::stop_token stop, diagnostics& where, keys_handler<Keys> done) const override {
      provider.async_find(std::move(stop), where, std::move(done));
    }
    P provider;
  };

  std::shared_ptr<const interface> provider_;
};

/// Asks each provider in turn until one has keys or fails; nothing where none has any.
template <class Keys>
class key_chain {
 public:
  explicit key_chain(std::vector<any_keys<Keys>> providers)
      : providers_(std::make_shared<const std::vector<any_keys<Keys>>>(std::move(providers))) {}

  void async_find(std::stop_token stop, diagnostics& where, keys_handler<Keys> done) const {
    ask(providers_, 0, std::move(stop), where, std::move(done));
  }

 private:
  using list = std::shared_ptr<const std::vector<any_keys<Keys>>>;

  static void ask(list providers, std::size_t next, std::stop_token stop, diagnostics& where,
                  keys_handler<Keys> done) {
    if (next == providers->size()) return done({}, std::nullopt);
    const any_keys<Keys>& provider = (*providers)[next];
    provider.async_find(
        stop, where,
        [providers = std::move(providers), next, stop, &where, done = std::move(done)](
            std::error_code code, std::optional<Keys> keys) mutable {
          if (code || keys) return done(code, std::move(keys));
          ask(std::move(providers), next + 1, std::move(stop), where, std::move(done));
        });
  }

  list providers_;
};

/// How long before they expire keys are asked for again.
inline constexpr std::chrono::seconds usual_margin = std::chrono::minutes(5);

/// Keeps what a provider gave. Copies share it. Keys are asked for again `margin` before they
/// expire, by one question, while callers get the old ones at once. Only a caller that comes when
/// there are none, or they have expired or were refused, waits for the answer; a failure is told to
/// all that wait and asked again by the next. Within the margin the provider is asked every half a
/// minute at most: one that fails, or has nothing newer yet, is not to be asked with each request.
///
/// Where the provider has none, the answer is anonymous, and the provider is asked again in the
/// same way: it may have been set up meanwhile, or have been out of reach; at once where its first
/// answer was refused. Once it had keys, that it has none is a failure, `errc::unavailable`.
template <class Keys>
class cached_keys {
 public:
  using clock = std::function<wall_clock::time_point()>;

  explicit cached_keys(any_keys<Keys> provider, std::chrono::seconds margin = usual_margin,
                       clock now = &wall_clock::now)
      : shared_(std::make_shared<shared>(std::move(provider), margin, std::move(now))) {}

  /// As a provider's. A stop ends the waiting, on the thread that requests it, but not the
  /// question, for which others may wait too. The question may go on after the answer.
  void async_find(std::stop_token stop, diagnostics& where, keys_handler<Keys> done) const {
    if (stop.stop_requested()) return done(errc::canceled, std::nullopt);
    std::optional<Keys> kept;
    std::shared_ptr<waiter> waits;
    bool ask = false;
    {
      const std::lock_guard lock(shared_->mutex);
      const bool fresh = shared_->fresh();
      if (fresh || shared_->still_good()) {
        kept = shared_->keys;
      } else {
        waits = std::make_shared<waiter>(&where, std::move(done));
        shared_->waiting.push_back(waits);
      }
      ask = !fresh && !std::exchange(shared_->asking, true);
    }
    // Outside the lock: with a stop that came meanwhile it runs at once.
    if (waits) {
      mdstream::detail::waiting_call::wait_for_stop(std::move(stop), std::weak_ptr(shared_), waits);
    }
    if (ask) ask_provider(shared_);
    if (kept) done({}, std::move(kept));
  }

  /// The keys that a server refused as expired or unknown are not given again. That the provider
  /// has none stands once it was asked twice.
  void refuse(const Keys& refused) const {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->of_nobody && shared_->answers > 1) return;
    if (shared_->keys && same_keys(*shared_->keys, refused)) shared_->keys.reset();
  }

 private:
  struct waiter : mdstream::detail::waiting_call {
    waiter(diagnostics* w, keys_handler<Keys> d) : where(w), done(std::move(d)) {}
    diagnostics* where;
    keys_handler<Keys> done;
  };

  struct shared {
    shared(any_keys<Keys> p, std::chrono::seconds m, clock c)
        : provider(std::move(p)), margin(m), now(std::move(c)) {}

    [[nodiscard]] bool fresh() const {
      if (!keys) return false;
      const wall_clock::time_point at = now();
      if (at < rests_until) return true;
      return !of_nobody && (!keys->expires || *keys->expires - margin > at);
    }
    [[nodiscard]] bool still_good() const {
      return keys && (!keys->expires || *keys->expires > now());
    }

    void cancel(const std::shared_ptr<waiter>& one) {
      {
        const std::lock_guard lock(mutex);
        if (std::erase(waiting, one) == 0) return;  // it has its answer
      }
      one->done(errc::canceled, std::nullopt);
    }

    const any_keys<Keys> provider;
    const std::chrono::seconds margin;
    const clock now;
    std::mutex mutex;
    std::optional<Keys> keys;
    bool of_nobody = false;                ///< `keys` are anonymous because the provider had none
    std::optional<std::string> had;        ///< whose keys the last were that it did have
    wall_clock::time_point rests_until{};  ///< the provider is not asked again before
    bool asking = false;
    std::size_t answers = 0;
    std::vector<std::shared_ptr<waiter>> waiting;
  };

  /// A caller that waits may hold these keys: with a question that is dropped because the runtime
  /// ends, they are as well.
  struct question {
    explicit question(std::shared_ptr<shared> c) : common(std::move(c)) {}
    question(const question&) = delete;
    question& operator=(const question&) = delete;
    ~question() {
      std::vector<std::shared_ptr<waiter>> dropped;
      if (is_answered) return;
      const std::lock_guard lock(common->mutex);
      common->asking = false;
      dropped.swap(common->waiting);
    }
    const std::shared_ptr<shared> common;
    diagnostics where{};
    bool is_answered = false;
  };

  static void ask_provider(const std::shared_ptr<shared>& common) {
    const auto asked = std::make_shared<question>(common);
    try {
      common->provider.async_find({}, asked->where,
                                  [asked](std::error_code code, std::optional<Keys> keys) {
                                    asked->is_answered = true;
                                    answer(*asked->common, code, asked->where, std::move(keys));
                                  });
    } catch (const std::exception&) {  // must not be, but callers would wait for ever
      asked->is_answered = true;
      answer(*common, errc::io_error, {.what = "a credentials provider threw an exception"},
             std::nullopt);
    }
  }

  static void answer(shared& common, std::error_code code, diagnostics where,
                     std::optional<Keys> keys) {
    std::vector<std::shared_ptr<waiter>> waiting;
    {
      const std::lock_guard lock(common.mutex);
      common.asking = false;
      ++common.answers;
      waiting.swap(common.waiting);
      const wall_clock::time_point rest = common.now() + std::chrono::seconds(30);
      if (!code && !keys && common.had) {
        // What let requests in an hour ago is out of reach, not gone: unsigned ones would be
        // refused.
        code = errc::unavailable;
        where = {.what =
                     "there are no credentials any more; the last were those of " + *common.had};
      }
      if (!code) {
        common.of_nobody = !keys;
        if (keys) common.had = keys->source;
        common.keys = keys ? std::move(keys) : Keys{.source = "nobody (anonymous)"};
        // Also of what has expired by this clock: it may be wrong, and if not the server says so.
        common.rests_until = rest;
      } else if (common.still_good()) {
        common.rests_until = std::min(rest, common.keys->expires.value_or(rest));
        code = {};
      }
      keys = common.keys;
    }
    for (const std::shared_ptr<waiter>& each : waiting) {
      if (code) *each->where = where;
      each->done(code, code ? std::nullopt : keys);
    }
  }

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0::net
