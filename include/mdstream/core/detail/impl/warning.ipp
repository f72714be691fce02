#pragma once

#include <mdstream/core/warning.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0 {

MDSTREAM_INLINE void kept_warnings::add(const std::string& text) {
  const std::lock_guard lock(mutex_);
  tell_ ? tell_(text) : texts_.push_back(text);
}

MDSTREAM_INLINE void kept_warnings::pass_to(warning_function tell) {
  const std::lock_guard lock(mutex_);
  tell_ = std::move(tell);
  if (!tell_) return;
  for (const std::string& each : std::exchange(texts_, {})) tell_(each);
}

}  // namespace mdstream::inline v0
