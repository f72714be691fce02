#pragma once

#include <mdstream/core/detail/pages.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <new>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void want_large_pages(void* at, std::size_t bytes) noexcept {
  constexpr std::size_t large = std::size_t{2} << 20;
  // A kernel that has none refuses, which changes nothing.
  if (bytes >= 2 * large) (void)::madvise(at, bytes, MADV_HUGEPAGE);
}

MDSTREAM_INLINE pages::pages(std::size_t bytes) : bytes_(bytes), capacity_(bytes) {
  void* const at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(at);
  want_large_pages(at, bytes);
}

MDSTREAM_INLINE pages::pages(pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

MDSTREAM_INLINE pages& pages::operator=(pages other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

MDSTREAM_INLINE void pages::resize(std::size_t bytes) {
  if (data_ == nullptr) {
    *this = pages(bytes);
    return;
  }
  if (bytes > capacity_) {
    void* const at = ::mremap(data_, capacity_, bytes, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(at);
    capacity_ = bytes;
    want_large_pages(at, bytes);
  }
  bytes_ = bytes;
}

}  // namespace mdstream::inline v0::detail
