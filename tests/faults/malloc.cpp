// The malloc of a program whose tests let allocations fail.

#include <cstddef>

#include "support/allocation_faults.hpp"

extern "C" {

void* __libc_malloc(std::size_t bytes) noexcept;
void* __libc_calloc(std::size_t count, std::size_t bytes) noexcept;
void* __libc_realloc(void* memory, std::size_t bytes) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t bytes) noexcept;

void* malloc(std::size_t bytes) noexcept {
  const bool fails = support::detail::fails_now() || support::detail::fails_for_all();
  return fails ? nullptr : __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return support::detail::fails_now() ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  return support::detail::fails_now() ? nullptr : __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return support::detail::fails_now() ? nullptr : __libc_memalign(alignment, bytes);
}
}
