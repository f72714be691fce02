#pragma once

/// An adapter for a part of a store.

#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/opened_store.hpp>

#include <string>

namespace mdstream::inline v0 {

/// The objects of an asynchronous store whose keys begin with `prefix` and a slash. Here their keys
/// do not have that prefix. An empty prefix stands for the whole store. Throws
/// `errc::invalid_argument` for a prefix that is no safe key (`key_is_safe`).
///
///     const mds::prefixed train(store, "c4/train");  // train.url("one") ends with c4/train/one
class prefixed final : public any_async_store {
 public:
  prefixed(any_async_store inner, std::string prefix);
};

namespace detail {

/// The same of a store of either kind, which stays of that kind.
[[nodiscard]] opened_store prefixed_store(opened_store inner, std::string prefix);

}  // namespace detail

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/prefixed.ipp>
#endif
