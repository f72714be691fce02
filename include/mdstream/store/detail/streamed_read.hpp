#pragma once

/// Reads an object in its order, as its bytes come, and goes on where a connection broke off.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace mdstream::inline v0::detail {

/// Gives `take` the object's bytes from its first on, `most` at most, and completes with the
/// object that they are of: what comes after a break is of the version that came before it, and all
/// of it is of `held` where that is given. An
/// attempt that brought bytes counts as the first again, and is final where they are corrupt; so is
/// what `take` throws. Others take from the budget. `take` is called from one thread at a time; it
/// and `where` stay until `done`, and the runtime outlives that.
void async_stream_resumed(runtime& threads, any_async_store store, std::string key,
                          std::uint64_t most, byte_taker take, retry_policy retry,
                          shared_retry_budget budget, std::stop_token stop, diagnostics& where,
                          store_handler<object_version> done,
                          std::optional<object_version> held = std::nullopt);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/streamed_read.ipp>
#endif
