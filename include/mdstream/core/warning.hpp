#pragma once

/// Warnings: what is wrong but can be worked with, such as a file of credentials that everybody may
/// read.

#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace mdstream::inline v0 {

/// Who is told, from any thread. Must not throw.
using warning_function = std::function<void(const std::string& text)>;

/// Writes `mdstream: warning: …` to standard error.
inline void warn_on_stderr(const std::string& text) {
  std::fputs(("mdstream: warning: " + text + '\n').c_str(), stderr);
}

/// Passes warnings on to one who comes later: keeps those of before. What nobody was told of goes
/// to standard error in the end. Thread-safe.
class kept_warnings {
 public:
  kept_warnings() = default;
  kept_warnings(const kept_warnings&) = delete;
  kept_warnings& operator=(const kept_warnings&) = delete;
  ~kept_warnings() {
    for (const std::string& each : texts_) warn_on_stderr(each);
  }

  void add(const std::string& text);
  /// Tells of what is kept, and of all that comes until this is called again; null: nobody. One at
  /// a time; when it returns, who was told before is no longer.
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
