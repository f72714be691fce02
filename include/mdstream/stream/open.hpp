#pragma once

/// Opening loaders and datasets without blocking.

#include <mdstream/async/detail/asio.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/opened_streams.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

/// One call of `async_open`; it lives as long as what is under way.
template <class Opened, class... Parts>
struct opening : std::enable_shared_from_this<opening<Opened, Parts...>> {
  opening(runtime& on, typename Opened::options what, Parts... more)
      : threads(on), options(std::move(what)), parts(std::move(more)...) {}

  /// On the pool, as the next one.
  void begin() {
    std::exception_ptr failure;
    try {
      streams.emplace(Opened::streams_of(options), threads,
                      storage_of<typename Opened::policies>());
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure) return done(std::move(failure), std::nullopt);
    streams->async_load(stop.get_token(), [self = this->shared_from_this()](
                                              std::exception_ptr thrown) { self->end(thrown); });
  }

  void end(std::exception_ptr failure) {
    std::optional<Opened> opened;
    try {
      if (failure) std::rethrow_exception(failure);
      std::apply(
          [&](Parts&... each) { opened.emplace(*streams, std::move(options), std::move(each)...); },
          parts);
    } catch (...) {
      failure = std::current_exception();
    }
    done(std::move(failure), std::move(opened));
  }

  runtime& threads;
  typename Opened::options options;
  std::tuple<Parts...> parts;
  std::stop_source stop;
  std::optional<opened_streams> streams;
  unique_function<void(std::exception_ptr, std::optional<Opened>)> done;
};

}  // namespace detail

/// Opens a loader or dataset without blocking, for any completion token, with
/// `void(std::exception_ptr, std::optional<Opened>)`. `parts` are the transform and the observer of
/// a loader. A cancellation slot ends it with `errc::canceled`, also while a server says nothing; a
/// blocking store has to return first. What the constructor throws comes as the exception. What is
/// opened works on `threads`, which has to outlive the call and it. The handler runs on its
/// associated executor, else on the runtime's io thread.
///
///     const mds::loader_options options{.remote = "s3://bucket/c4", .batch_size = 32};
///     auto loader = co_await mds::async_open<mds::loader<policies>>(threads, options,
///                                                                   asio::use_awaitable);
///
/// The options have a name, because g++ 12 destroys a temporary in braces twice when it is part of
/// a `co_await`; a temporary does not compile.
///
/// Saving and loading a state asks no store, so there is nothing to wait for.
template <class Opened, class Token, class... Parts>
auto async_open(runtime& threads, const typename Opened::options& given, Token&& token,
                Parts... parts) {
  using signature = void(std::exception_ptr, std::optional<Opened>);
  auto options = given;
  options.shared_runtime = &threads;
  auto call = std::make_shared<detail::opening<Opened, Parts...>>(threads, std::move(options),
                                                                  std::move(parts)...);
  return detail::initiate<signature>(std::forward<Token>(token), [call](auto handler) {
    detail::stop_on_cancel(handler, call->stop);
    call->done = detail::deliver_on<signature>(call->threads.get_executor(), std::move(handler));
    call->threads.post([call] { call->begin(); });
  });
}
template <class Opened, class Token, class... Parts>
void async_open(runtime& threads, typename Opened::options&& temporary, Token&& token,
                Parts... parts) = delete;  // give the options a name, see above

}  // namespace mdstream::inline v0
