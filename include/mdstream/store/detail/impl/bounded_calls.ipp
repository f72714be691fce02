#pragma once

#include <mdstream/store/detail/bounded_calls.hpp>
#include <mdstream/version.hpp>

#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void store_limit::came(std::uint64_t bytes, std::chrono::nanoseconds now,
                                       bool bound) noexcept {
  carries_.came(bytes, now, bound && carries_.most() <= bears_.most());
}

MDSTREAM_INLINE std::shared_ptr<store_gate> make_gate(const runtime& threads,
                                                      const any_async_store& store) {
  const std::size_t most = store.occupies_threads() ? threads.threads() : most_calls;
  return std::make_shared<store_gate>(store_limit(most));
}

MDSTREAM_INLINE bounded_calls::bounded_calls(runtime& threads, any_async_store inner,
                                             std::shared_ptr<store_gate> gate,
                                             std::chrono::nanoseconds most_silence,
                                             std::shared_ptr<const call_place> place)
    : store_adapter<bounded_calls, any_async_store>(std::move(inner)),
      threads_(&threads),
      gate_(std::move(gate)),
      place_(std::move(place)),
      most_silence_(this->inner()->occupies_threads() ? std::chrono::nanoseconds(0)
                                                      : most_silence) {}

MDSTREAM_INLINE bounded_calls::one_call::one_call(runtime& t, std::shared_ptr<store_gate> g,
                                                  std::chrono::nanoseconds silence,
                                                  std::stop_token token, diagnostics& w)
    : threads(t), gate(std::move(g)), most_silence(silence), outer(std::move(token)), where(w) {}

MDSTREAM_INLINE std::stop_token bounded_calls::one_call::begin(store_gate::ticket let_in) {
  ticket = let_in;
  if (most_silence.count() == 0) return outer;
  passes.emplace(outer, passes_stop{attempt});
  watch(0);
  return attempt.get_token();
}

MDSTREAM_INLINE void bounded_calls::one_call::came(std::uint64_t count) {
  bytes.fetch_add(count, std::memory_order_relaxed);
  gate->came(count);
}

MDSTREAM_INLINE void bounded_calls::one_call::watch(std::uint64_t seen) {
  threads.after(most_silence, over.get_token(),
                [self = shared_from_this(), seen](std::error_code canceled) {
                  if (canceled) return;
                  const std::uint64_t now = self->bytes.load(std::memory_order_relaxed);
                  if (now != seen) return self->watch(now);
                  self->silent = true;
                  self->attempt.request_stop();
                });
}

MDSTREAM_INLINE std::error_code bounded_calls::one_call::ended(std::error_code code) {
  passes.reset();
  over.request_stop();
  if (code != errc::canceled || !silent || outer.stop_requested()) return code;
  const double seconds = std::chrono::duration<double>(most_silence).count();
  where = {.what = "the store sent nothing for " + std::to_string(seconds) + " s",
           .url = std::move(where.url)};
  return errc::unavailable;
}

}  // namespace mdstream::inline v0::detail
