#pragma once

/// Warnings: problems that do not stop the program, such as a file of credentials that everybody
/// may read.

#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace mdstream::inline v0 {

/// Gets warnings, from any thread. Must not throw.
///
///     options.warn = [](const std::string& text) { std::clog << text << '\n'; };
using warning_function = std::function<void(const std::string& text)>;

/// Writes `mdstream: warning: …` to standard error.
inline void warn_on_stderr(const std::string& text) {
  std::fputs(("mdstream: warning: " + text + '\n').c_str(), stderr);
}

/// Keeps warnings until a function is there to get them. The destructor writes those that no
/// function got to standard error. Thread-safe.
class kept_warnings {
 public:
  kept_warnings() = default;
  kept_warnings(const kept_warnings&) = delete;
  kept_warnings& operator=(const kept_warnings&) = delete;
  ~kept_warnings() {
    for (const std::string& each : texts_) warn_on_stderr(each);
  }

  void add(const std::string& text);
  /// Passes the kept warnings to `tell`, and all later ones until the next call; null: keeps them.
  /// Calls of `tell` do not overlap. After the return, the function before is not called again.
  void pass_to(warning_function tell);

 private:
  std::mutex mutex_;
  warning_function tell_;
  std::vector<std::string> texts_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/warning.ipp>
#endif
