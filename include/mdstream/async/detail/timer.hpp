#pragma once

/// Asio's timer, for definitions only: it is a tenth of Asio, and no header needs it.

#include <mdstream/async/detail/asio.hpp>

#include <asio/basic_waitable_timer.hpp>
#include <asio/io_context.hpp>
#include <asio/wait_traits.hpp>
#include <chrono>

namespace mdstream::inline v0::detail {

/// `asio::steady_timer` on an io_context alone: one for any executor takes far longer to compile.
using io_timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                            asio::wait_traits<std::chrono::steady_clock>,
                                            asio::io_context::executor_type>;

}  // namespace mdstream::inline v0::detail
