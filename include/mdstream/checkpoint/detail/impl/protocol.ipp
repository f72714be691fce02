#pragma once

#include <mdstream/checkpoint/detail/protocol.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE protocol_channel::operation protocol_channel::ask(protocol_request::verb what,
                                                                  std::vector<std::string> keys,
                                                                  std::string bytes) {
  request_ = {.what = what, .keys = std::move(keys), .bytes = std::move(bytes)};
  return operation(*this);
}

MDSTREAM_INLINE protocol_channel::operation protocol_channel::write(std::string key,
                                                                    std::string bytes) {
  return ask(protocol_request::verb::write, one(std::move(key)), std::move(bytes));
}

MDSTREAM_INLINE protocol_channel::operation protocol_channel::create(std::string key,
                                                                     std::string bytes) {
  return ask(protocol_request::verb::create, one(std::move(key)), std::move(bytes));
}

MDSTREAM_INLINE protocol_channel::operation protocol_channel::pause(
    std::chrono::milliseconds time) {
  request_ = {.what = protocol_request::verb::pause, .pause = time};
  return operation(*this);
}

MDSTREAM_INLINE void protocol_channel::answer(protocol_answer with) {
  answer_ = std::move(with);
  waiting_.resume();
}

MDSTREAM_INLINE std::vector<std::string> protocol_channel::one(std::string key) {
  std::vector<std::string> out;
  out.push_back(std::move(key));
  return out;
}

MDSTREAM_INLINE protocol_answer require(protocol_answer answer, const char* what) {
  if (!answer.failure) return answer;
  diagnostics where = std::move(answer.where);
  where.what = std::string(what) + (where.what.empty() ? "" : ": " + where.what);
  throw error(answer.failure, std::move(where));
}

MDSTREAM_INLINE protocol protocol::promise_type::get_return_object() noexcept {
  return protocol(std::coroutine_handle<promise_type>::from_promise(*this));
}

MDSTREAM_INLINE void protocol::finish() {
  if (frame_.promise().failure) std::rethrow_exception(frame_.promise().failure);
}

MDSTREAM_INLINE std::coroutine_handle<> protocol::await_suspend(
    std::coroutine_handle<> caller) noexcept {
  frame_.promise().caller = caller;
  return frame_;
}

MDSTREAM_INLINE void run_protocol(
    protocol_channel& channel, protocol made,
    const std::function<protocol_answer(const protocol_request&)>& perform) {
  made.start();
  while (!made.done()) channel.answer(perform(channel.request()));
  made.finish();
}

}  // namespace mdstream::inline v0::detail
