#pragma once

/// A callable that may be moved and is called once: C++23's `std::move_only_function` for C++20,
/// as far as completion handlers need it.

#include <mdstream/core/detail/handler_memory.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace mdstream::inline v0::detail {

template <class Signature>
class unique_function;

/// Owns any callable of the signature. Calling an empty one is a precondition violation.
/// One allocation to make, none to call; handler_memory.hpp says what happens without memory.
/// Not thread-safe, as any handler.
///
/// Each handler of the library instantiates it, so it asks as little as it can of templates:
/// std::make_unique would make a unique_ptr of each target as well.
template <class Result, class... Args>
class unique_function<Result(Args...)> {
 public:
  unique_function() = default;

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function> &&
             requires(std::decay_t<F>& f, Args... args) {
               static_cast<Result>(f(std::forward<Args>(args)...));
             })
  unique_function(F&& f)  // implicit, as for std::function: handlers are written in place
      : target_(new target<std::decay_t<F>>(std::forward<F>(f))) {}

  Result operator()(Args... args) { return target_->call(std::forward<Args>(args)...); }

  explicit operator bool() const noexcept { return target_ != nullptr; }

 private:
  struct base : in_handler_memory {
    virtual ~base() = default;
    virtual Result call(Args... args) = 0;
  };

  template <class F>
  struct target final : base {
    explicit target(F f) : function(std::move(f)) {}
    Result call(Args... args) override { return function(std::forward<Args>(args)...); }
    F function;
  };

  std::unique_ptr<base> target_;
};

}  // namespace mdstream::inline v0::detail
