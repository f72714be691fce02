#pragma once

/// What stands behind an adapter around a store.

#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/call.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

/// Its base. An adapter defines `start`, through which every call passes, and passes calls on by
/// `inner().async_call`. What a call needs after `start` has returned it holds itself: the adapter
/// may be dropped while calls are under way.
class store_adapter : public store_interface {
 public:
  explicit store_adapter(any_async_store inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string url(std::string_view key) const override { return inner_.url(key); }
  [[nodiscard]] store_abilities abilities() const override { return inner_.abilities(); }
  [[nodiscard]] std::string credentials() const override { return inner_.credentials(); }

 protected:
  [[nodiscard]] const any_async_store& inner() const noexcept { return inner_; }

 private:
  any_async_store inner_;
};

}  // namespace mdstream::inline v0::detail
