#pragma once

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/prefixed.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

class prefixed_calls final : public store_adapter {
 public:
  prefixed_calls(any_async_store inner, std::string prefix)
      : store_adapter(std::move(inner)), prefix_(std::move(prefix)) {
    while (prefix_.ends_with('/')) prefix_.pop_back();
    if (prefix_.empty()) return;
    require_safe_key(prefix_, this->inner().url(""));
    prefix_ += '/';
  }

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    call.key.insert(0, prefix_);
    inner().async_call(std::move(call), std::move(stop), where,
                       [cut = prefix_.size(), done = std::move(done)](std::error_code code,
                                                                      store_answer answer) mutable {
                         for (object_info& each : answer.objects) each.key.erase(0, cut);
                         done(code, std::move(answer));
                       });
  }

  [[nodiscard]] std::string url(std::string_view key) const override {
    std::string inner_key = prefix_ + std::string(key);
    while (inner_key.ends_with('/')) inner_key.pop_back();
    return inner().url(inner_key);
  }

 private:
  std::string prefix_;
};

}  // namespace detail

MDSTREAM_INLINE prefixed::prefixed(any_async_store inner, std::string prefix)
    : any_async_store(
          std::make_shared<const detail::prefixed_calls>(std::move(inner), std::move(prefix))) {}

}  // namespace mdstream::inline v0
