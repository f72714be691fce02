#pragma once

// A process that has no descriptor left.

#include <sys/resource.h>
#include <unistd.h>

#include <stdexcept>

#include "support/catch.hpp"

namespace support {

// While it lives nothing can be opened.
class no_descriptors {
 public:
  no_descriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    struct rlimit none = before_;
    none.rlim_cur = 0;
    // No assertion from here on: a sanitizer that looks at Catch2's objects needs descriptors, too.
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) throw std::runtime_error("setrlimit failed");
  }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_{};
};

}  // namespace support
