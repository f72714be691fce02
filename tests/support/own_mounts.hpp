#pragma once

// Mounts of a test's own, which no other process sees.

#include <sys/mount.h>

#include <sched.h>

#include <future>

#include "support/catch.hpp"

namespace support {

/// Runs `body` on a thread with a mount namespace of its own, which the threads that it starts
/// share. What it mounts is gone when they have ended. Needs root.
template <class Body>
void with_own_mounts(const Body& body) {
  std::async(std::launch::async, [&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      FAIL("no right to mount: run the tests as root, or within `unshare --map-root-user --mount`");
    body();
  }).get();
}

}  // namespace support
