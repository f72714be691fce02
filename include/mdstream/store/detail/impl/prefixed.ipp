#pragma once

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/prefixed.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

/// What stands before the keys of a part of a store: nothing, or a prefix and its slash.
class key_prefix {
 public:
  /// `root`: the URL of the whole store, for errors.
  key_prefix(std::string prefix, const std::string& root) : text_(std::move(prefix)) {
    while (text_.ends_with('/')) text_.pop_back();
    if (text_.empty()) return;
    require_safe_key(text_, root);
    text_ += '/';
  }

  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] store_call with_prefix(store_call call) const {
    call.key.insert(0, text_);
    return call;
  }
  /// The key whose URL is that of `key`.
  [[nodiscard]] std::string with_prefix(std::string_view key) const {
    std::string out = text_ + std::string(key);
    while (out.ends_with('/')) out.pop_back();
    return out;
  }

 private:
  std::string text_;
};

/// The answer with keys that are shorter by so much.
[[nodiscard]] MDSTREAM_INLINE store_answer without_prefix(std::size_t size, store_answer answer) {
  for (object_info& each : answer.objects) each.key.erase(0, size);
  return answer;
}

class prefixed_calls final : public store_adapter {
 public:
  prefixed_calls(any_async_store inner, key_prefix prefix)
      : store_adapter(std::move(inner)), prefix_(std::move(prefix)) {}

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    inner().async_call(prefix_.with_prefix(std::move(call)), std::move(stop), where,
                       [size = prefix_.size(), done = std::move(done)](
                           std::error_code code, store_answer answer) mutable {
                         done(code, without_prefix(size, std::move(answer)));
                       });
  }

  [[nodiscard]] std::string url(std::string_view key) const override {
    return inner().url(prefix_.with_prefix(key));
  }

 private:
  key_prefix prefix_;
};

class prefixed_blocking final : public blocking_interface {
 public:
  prefixed_blocking(std::shared_ptr<const blocking_interface> inner, key_prefix prefix)
      : inner_(std::move(inner)), prefix_(std::move(prefix)) {}

  [[nodiscard]] store_answer make(const store_call& call,
                                  const std::stop_token& stop) const override {
    return without_prefix(prefix_.size(), inner_->make(prefix_.with_prefix(call), stop));
  }
  [[nodiscard]] std::string url(std::string_view key) const override {
    return inner_->url(prefix_.with_prefix(key));
  }
  [[nodiscard]] bool creates() const override { return inner_->creates(); }

 private:
  std::shared_ptr<const blocking_interface> inner_;
  key_prefix prefix_;
};

MDSTREAM_INLINE opened_store prefixed_store(opened_store inner, std::string prefix) {
  const key_prefix keys(std::move(prefix), inner.url(""));
  if (inner.blocking_)
    inner.blocking_ = std::make_shared<const prefixed_blocking>(std::move(inner.blocking_), keys);
  if (inner.async_)
    inner.async_ =
        std::make_shared<const prefixed_calls>(any_async_store(std::move(inner.async_)), keys);
  return inner;
}

}  // namespace detail

MDSTREAM_INLINE prefixed::prefixed(any_async_store inner, std::string prefix)
    : any_async_store(std::make_shared<const detail::prefixed_calls>(
          inner, detail::key_prefix(std::move(prefix), inner.url("")))) {}

}  // namespace mdstream::inline v0
