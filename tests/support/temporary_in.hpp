// Temporary files of this process in a directory of the test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace support {

/// TMPDIR is `directory` until this ends, then what it was. Not while another thread reads the
/// environment.
class temporary_in {
 public:
  explicit temporary_in(const std::string& directory) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", directory.c_str(), 1);
  }
  temporary_in(const temporary_in&) = delete;
  temporary_in& operator=(const temporary_in&) = delete;
  ~temporary_in() { before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR"); }

 private:
  std::optional<std::string> before_;
};

}  // namespace support
