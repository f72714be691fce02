#pragma once

/// Reads an object in its order, as its bytes come, and goes on where a connection broke off.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace mdstream::inline v0::detail {

/// Gives `take` the object's bytes from its first on, `most` at most, and completes with the
/// object that they are of. Bytes after a break are of the same version as those before it. With
/// `held`, all bytes are of that version, otherwise `errc::corrupt`. An attempt that brought bytes
/// counts as the first again, and is final where they are corrupt; so is what `take` throws. Others
/// take from the budget. `take` is called from one thread at a time; it and `where` stay until
/// `done`, and the runtime outlives that.
void async_stream_resumed(runtime& threads, any_async_store store, std::string key,
                          std::uint64_t most, byte_taker take, retry_policy retry,
                          shared_retry_budget budget, std::stop_token stop, diagnostics& where,
                          store_handler<object_version> done,
                          std::optional<object_version> held = std::nullopt);

/// Reads an object from its first byte on, and completes with how many bytes came. With `held`, all
/// bytes are of that version, otherwise `errc::corrupt`.
///
/// A store that streams is sent one request, which is repeated behind the bytes that came. It is
/// asked for `most` bytes; those beyond `into.bytes` are counted and dropped, so that `most` of one
/// byte more than an object should have shows one that is longer. Another store reads into memory
/// of `most` bytes: by one request, or, with `held`, in ranges, because a large read that brings
/// its bytes at its end cannot be told from one that hangs. `into.put` only for stores that stream.
/// The memory and `where` stay until `done`, and the runtime outlives that.
void async_read_whole(runtime& threads, any_async_store store, std::string key, std::uint64_t most,
                      ranged_target into, std::optional<object_version> held, retry_policy retry,
                      shared_retry_budget budget, std::stop_token stop, diagnostics& where,
                      store_handler<std::uint64_t> done);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/streamed_read.ipp>
#endif
