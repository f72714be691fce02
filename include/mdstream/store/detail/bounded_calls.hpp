#pragma once

/// A store's calls in the order of need, as many at a time as the store bears, each given up when
/// it brings nothing for too long.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/call_gate.hpp>

#include <chrono>
#include <cstddef>
#include <memory>

namespace mdstream::inline v0::detail {

/// Calls of a store that are under way at most.
inline constexpr std::size_t most_calls = 64;

/// A gate for all calls of a store. One whose calls each occupy a thread of the pool gets no more
/// than there are threads: the others would wait there, where nobody can tell them from calls that
/// hang.
[[nodiscard]] std::shared_ptr<call_gate> make_gate(const runtime& threads,
                                                   const any_async_store& store);

/// A store whose calls pass a gate, with a place in it. A call that the gate let in and that has
/// brought no byte for `most_silence` is stopped and fails with `errc::unavailable`: bytes that
/// came before stay right, and another call can go on behind them. Time that a call waits for the
/// gate does not count. Calls that occupy a thread cannot be stopped and are not timed; a read of
/// an asynchronous store that does not stream brings its bytes at its end. The runtime has to
/// outlive the calls.
class bounded_calls final : public any_async_store {
 public:
  bounded_calls(runtime& threads, any_async_store inner, std::shared_ptr<call_gate> gate,
                std::chrono::nanoseconds most_silence, std::shared_ptr<const call_place> place);
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/bounded_calls.ipp>
#endif
