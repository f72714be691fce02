#pragma once

/// An adapter that retries failed calls of a store.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

namespace mdstream::inline v0 {

/// Retries failed calls of a store, as `retry_policy` says and not before the store's Retry-After.
/// All calls of the store share a budget of retries: if few calls succeed, few are retried, and the
/// error says that the budget is spent. A call that retries its own requests, such as an upload in
/// parts, is not retried as a whole (`diagnostics::is_final`), and neither is a stream. What fails
/// after a stop is `errc::canceled`. The diagnostics are those of the last attempt. The runtime has
/// to outlive the calls.
///
/// If an `async_create` finds an object after a failed attempt, the result is `errc::io_error`:
/// that attempt may have written it although its answer was lost, or another program did. Read the
/// object to find out.
///
///     const mds::retrying patient(threads, store, mds::patient_requests(std::chrono::minutes(5)));
class retrying final : public any_async_store {
 public:
  retrying(runtime& threads, any_async_store inner, retry_policy policy,
           detail::shared_retry_budget budget = {});
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/retrying.ipp>
#endif
