#pragma once

#include <mdstream/core/detail/pages.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <new>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void want_large_pages(void* at, std::size_t bytes) noexcept {
  constexpr std::size_t large = std::size_t{2} << 20, page = 4096;
  if (bytes < 2 * large) return;
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(at) % page) % page;
  // A kernel that has none refuses, which changes nothing.
  (void)::madvise(static_cast<std::byte*>(at) + skipped, bytes - skipped, MADV_HUGEPAGE);
}

MDSTREAM_INLINE pages::pages(std::size_t bytes) : bytes_(bytes) {
  void* const at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(at);
  want_large_pages(at, bytes);
}

MDSTREAM_INLINE pages::pages(pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MDSTREAM_INLINE pages& pages::operator=(pages other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace mdstream::inline v0::detail
