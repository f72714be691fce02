#pragma once

/// A place to keep what was computed for an epoch, so that a restart need not compute it again.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// Two functions of the caller, which does the input and output. Names are file names without a
/// path. What `load` returns is checked before it is used; nothing, or something else, is as good
/// as absent.
struct plan_store {
  std::function<std::vector<std::byte>(std::string_view name)> load{};
  std::function<void(std::string_view name, bytes_view content)> save{};
};

}  // namespace mdstream::inline v0::detail
