#pragma once

#include <sys/fsuid.h>
#include <unistd.h>

namespace support {

/// Takes the rights of root from this thread, as far as files are concerned.
struct as_nobody {
  as_nobody() { ::setfsuid(65534); }
  as_nobody(const as_nobody&) = delete;
  as_nobody& operator=(const as_nobody&) = delete;
  ~as_nobody() { ::setfsuid(::geteuid()); }
};

}  // namespace support
