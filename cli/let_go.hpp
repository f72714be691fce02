#pragma once

#include <mdstream/core/bytes.hpp>

#include <sys/mman.h>

#include <cstddef>

namespace cli {

/// Pages of a mapped file count as this process's memory from their first use on. This lets go of
/// them: the page cache has them on, and what touches them next finds them there. `bytes` begin
/// at a page of a shared mapping; they may be in use meanwhile.
inline void let_go(mdstream::bytes_view bytes) noexcept {
  if (bytes.empty()) return;
  ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_DONTNEED);
}

}  // namespace cli
