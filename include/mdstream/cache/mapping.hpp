#pragma once

/// Files mapped into memory for reading.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

namespace mdstream::inline v0 {

/// A read-only mapping of a whole file. Stays valid when the file is unlinked; the file must not
/// shrink, which is why the library never changes a shard in place. An empty file has no mapping
/// and empty bytes.
class file_mapping {
 public:
  file_mapping() = default;
  file_mapping(file_mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  file_mapping& operator=(file_mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~file_mapping() {
    if (base_ != nullptr) ::munmap(const_cast<std::byte*>(base_), size_);
  }

  /// Maps `size` bytes of an open file. Throws with `path` in the text.
  [[nodiscard]] static file_mapping of(int fd, std::size_t size, const std::string& path) {
    if (size == 0) return {};
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) throw system_failure(errno, "cannot map", path);
    return adopt(static_cast<const std::byte*>(at), size);
  }

  /// Takes over a mapping that `release` gave away.
  [[nodiscard]] static file_mapping adopt(const std::byte* base, std::size_t size) noexcept {
    file_mapping mapping;
    mapping.base_ = base;
    mapping.size_ = size;
    return mapping;
  }

  [[nodiscard]] bytes_view bytes() const noexcept { return {base_, size_}; }
  [[nodiscard]] const std::byte* release() noexcept {
    size_ = 0;
    return std::exchange(base_, nullptr);
  }

 private:
  const std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace mdstream::inline v0
