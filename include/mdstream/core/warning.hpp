#pragma once

/// Warnings: what is wrong but can be worked with, such as a file of keys that everybody may read.

#include <mdstream/version.hpp>

#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Who is told, from any thread. Must not throw.
using warning_function = std::function<void(const std::string& text)>;

/// Writes `mdstream: warning: …` to standard error.
inline void warn_on_stderr(const std::string& text) {
  std::fputs(("mdstream: warning: " + text + '\n').c_str(), stderr);
}

/// Keeps warnings for one who takes them on a thread of its own. What nobody took goes to standard
/// error in the end. Thread-safe.
class kept_warnings {
 public:
  kept_warnings() = default;
  kept_warnings(const kept_warnings&) = delete;
  kept_warnings& operator=(const kept_warnings&) = delete;
  ~kept_warnings() {
    for (const std::string& each : texts_) warn_on_stderr(each);
  }

  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(text);
  }
  [[nodiscard]] std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(texts_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

}  // namespace mdstream::inline v0
