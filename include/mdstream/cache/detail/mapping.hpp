#pragma once

/// Files mapped into memory for reading.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/core/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

/// A read-only mapping of a file, or of a range of it. Stays valid when the file is unlinked; the
/// library never changes a shard in place. Where another program cuts the file,
/// `detail::read_mapped` throws. An empty file has no mapping and empty bytes.
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
    if (base_ == nullptr) return;
    detail::mapped_files::instance().remove(base_);
    const std::size_t before = reinterpret_cast<std::uintptr_t>(base_) % page_bytes();
    ::munmap(const_cast<std::byte*>(base_) - before, before + size_);
  }

  /// Maps `size` bytes of an open file. Throws with `path` in the text.
  [[nodiscard]] static file_mapping of(int fd, std::size_t size, const std::string& path,
                                       detail::mapped_fault fault = detail::mapped_fault::error) {
    if (size == 0) return {};
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) throw system_failure(errno, "cannot map", path);
    file_mapping made = adopt(static_cast<const std::byte*>(at), size);
    detail::mapped_files::instance().add(made.base_, size, path, fault);
    return made;
  }

  /// Maps `size` bytes of an open file from `offset` on, which is any. Throws as `of`.
  [[nodiscard]] static file_mapping of_range(int fd, std::uint64_t offset, std::size_t size,
                                             const std::string& path) {
    if (size == 0) return {};
    const std::size_t before = static_cast<std::size_t>(offset % page_bytes());
    void* const at = ::mmap(nullptr, before + size, PROT_READ, MAP_SHARED, fd,
                            static_cast<off_t>(offset - before));
    if (at == MAP_FAILED) throw system_failure(errno, "cannot map", path);
    file_mapping made = adopt(static_cast<const std::byte*>(at) + before, size);
    detail::mapped_files::instance().add(made.base_, size, path);
    return made;
  }

  /// Maps two files one behind the other, the second from the next page on. Throws as `of`.
  [[nodiscard]] static file_mapping of_two(int first, std::size_t first_size, int second,
                                           std::size_t second_size, const std::string& path) {
    const std::size_t begin = whole_pages(first_size);
    void* const at =
        ::mmap(nullptr, begin + second_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw system_failure(errno, "cannot map", path);
    file_mapping both = adopt(static_cast<const std::byte*>(at), begin + second_size);
    const auto put = [&](std::size_t offset, std::size_t size, int fd) {
      if (size != 0 && ::mmap(static_cast<std::byte*>(at) + offset, size, PROT_READ,
                              MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        throw system_failure(errno, "cannot map", path);
    };
    put(0, first_size, first);
    put(begin, second_size, second);
    detail::mapped_files::instance().add(both.base_, both.size_, path);
    return both;
  }

  /// `bytes` rounded up to whole pages.
  [[nodiscard]] static std::size_t whole_pages(std::size_t bytes) noexcept {
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
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
  [[nodiscard]] static std::size_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
  }

  const std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace mdstream::inline v0::detail
