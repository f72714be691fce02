#pragma once

/// Asio's timer, for definitions only: it is a tenth of Asio, and no header needs it.

#include <mdstream/async/detail/asio.hpp>

#include <asio/steady_timer.hpp>
