#pragma once

#include <mdstream/checkpoint/detail/start.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::chrono::milliseconds jittered_pauses::next() {
  const auto whole = static_cast<std::uint64_t>(next_.count());
  next_ = std::min(2 * next_, most_);
  return std::chrono::milliseconds(whole / 2 + random_() % (whole / 2 + 1));
}

MDSTREAM_INLINE error used_token(const std::string& token) {
  return {errc::invalid_argument,
          "the token \"" + token +
              "\" has started this run before; each launch, restarts too, needs another one: give "
              "it as an option"};
}

}  // namespace mdstream::inline v0::detail
