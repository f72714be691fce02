#pragma once

/// Memory of tasks and completion handlers, which has to be there when no other memory is: they
/// carry the error to the operation that waits for it.

#include <mdstream/version.hpp>

#include <cstddef>
#include <new>

namespace mdstream::inline v0::detail {

/// Memory of the system, or, where that has none, one of 64 blocks of 1 KiB that the process keeps
/// for this. Throws std::bad_alloc for more than a block, or if all blocks are taken. Thread-safe.
[[nodiscard]] void* allocate_handler(std::size_t bytes);
void free_handler(void* memory) noexcept;

/// The base of an object that `new` puts there. One of a larger alignment than `new` gives by
/// itself has the system's memory alone.
struct in_handler_memory {
  [[nodiscard]] static void* operator new(std::size_t bytes) {
    return detail::allocate_handler(bytes);
  }
  [[nodiscard]] static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return ::operator new(bytes, alignment);
  }
  static void operator delete(void* memory) noexcept { detail::free_handler(memory); }
  static void operator delete(void* memory, std::align_val_t alignment) noexcept {
    ::operator delete(memory, alignment);
  }
};

/// The same for containers, shared pointers and Asio.
template <class T>
struct handler_allocator {
  using value_type = T;

  handler_allocator() = default;
  template <class U>
  handler_allocator(const handler_allocator<U>&) noexcept {}  // implicit, as allocators have it

  [[nodiscard]] T* allocate(std::size_t count) {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
      return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(alignof(T))));
    else
      return static_cast<T*>(detail::allocate_handler(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
      ::operator delete(memory, std::align_val_t(alignof(T)));
    else
      detail::free_handler(memory);
  }

  template <class U>
  friend bool operator==(const handler_allocator&, const handler_allocator<U>&) noexcept {
    return true;
  }
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/handler_memory.ipp>
#endif
