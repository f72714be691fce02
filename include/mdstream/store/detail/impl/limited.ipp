#pragma once

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/call_gate.hpp>
#include <mdstream/store/limited.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

/// Holds calls back at a gate.
class gated_calls final : public store_adapter {
 public:
  gated_calls(any_async_store inner, std::shared_ptr<call_gate> gate)
      : store_adapter(std::move(inner)), gate_(std::move(gate)) {}

  [[nodiscard]] const std::shared_ptr<call_gate>& gate() const noexcept { return gate_; }

  void start(store_call call, std::stop_token stop, diagnostics& where,
             answer_handler done) const override {
    const std::stop_token waits_with = stop;
    gate_->begin(waits_with,
                 [gate = gate_, inner = inner(), call = std::move(call), stop = std::move(stop),
                  &where, done = std::move(done)](std::optional<call_gate::ticket> ticket) mutable {
                   if (!ticket) {
                     where = {.what = "the call was cancelled while it waited for others"};
                     return done(errc::canceled, {});
                   }
                   inner.async_call(std::move(call), std::move(stop), where,
                                    [gate, ticket = *ticket, done = std::move(done)](
                                        std::error_code code, store_answer answer) mutable {
                                      done(code, std::move(answer));
                                      gate->end(ticket, code);
                                    });
                 });
  }

 private:
  std::shared_ptr<call_gate> gate_;
};

MDSTREAM_INLINE gated::gated(any_async_store inner, std::shared_ptr<call_gate> gate)
    : any_async_store(std::make_shared<const gated_calls>(std::move(inner), std::move(gate))) {}

MDSTREAM_INLINE const std::shared_ptr<call_gate>& gated::gate() const noexcept {
  return static_cast<const gated_calls&>(*behind()).gate();
}

MDSTREAM_INLINE std::size_t gated::in_flight() const { return gate()->in_flight(); }

MDSTREAM_INLINE std::size_t gated::limit() const { return gate()->most(); }

}  // namespace detail

MDSTREAM_INLINE limited::limited(any_async_store inner, std::size_t most)
    : gated(std::move(inner), detail::call_gate::of(most)) {}

MDSTREAM_INLINE adaptive::adaptive(any_async_store inner, detail::adaptive_limits limits)
    : gated(std::move(inner), std::make_shared<detail::call_gate>(limits)) {}

MDSTREAM_INLINE adaptive::adaptive(any_async_store inner, const adaptive& beside)
    : gated(std::move(inner), beside.gate()) {}

}  // namespace mdstream::inline v0
