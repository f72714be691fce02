#pragma once

/// Repeats what a store failed at.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

namespace mdstream::inline v0 {

/// A store whose calls are repeated as `retry_policy` says and not before the store wants it
/// (Retry-After), within a budget that all calls of the store share: when little succeeds, little
/// is repeated, and the error's `what` says that the budget is spent. A call that repeats what it
/// is made of, as an upload in parts does, is not repeated as a whole (`diagnostics::is_final`),
/// nor is a stream, which `streamed_read` goes on with. Who repeats calls by other means, as
/// `ranged_read` does, is given the same budget. The diagnostics are those of the last attempt. The
/// runtime has to outlive the calls.
///
/// An `async_create` that finds an object after an attempt that failed is `errc::io_error`: that
/// attempt may have written it, with its answer lost, or somebody else. Who has to know reads it.
class retrying final : public any_async_store {
 public:
  retrying(runtime& threads, any_async_store inner, retry_policy policy,
           detail::shared_retry_budget budget = {});
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/retrying.ipp>
#endif
