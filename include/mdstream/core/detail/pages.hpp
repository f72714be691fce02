#pragma once

/// Large buffers that come and go: pages from the kernel, to which they return.

#include <sys/mman.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Asks the kernel for large pages in new memory of some MiB, so that to touch it first does not
/// cost a fault for every 4 KiB.
void want_large_pages(void* at, std::size_t bytes) noexcept;

/// Whole pages of zeros, which take memory once they are touched. Throws `std::bad_alloc`.
class pages {
 public:
  pages() = default;
  explicit pages(std::size_t bytes);
  pages(pages&& other) noexcept;
  pages& operator=(pages other) noexcept;
  ~pages() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  /// The memory is the caller's from here on, to be returned with munmap(2).
  [[nodiscard]] std::byte* release() && noexcept { return std::exchange(data_, nullptr); }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A part of pages that may have several: they go back to the kernel with the last one.
class part_of_pages {
 public:
  part_of_pages() = default;
  part_of_pages(pages all)
      : of_(std::make_shared<const pages>(std::move(all))),
        data_(of_->data()),
        size_(of_->size()) {}
  part_of_pages(std::shared_ptr<const pages> of, std::size_t at, std::size_t bytes) noexcept
      : of_(std::move(of)), data_(of_->data() + at), size_(bytes) {}

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::shared_ptr<const pages> of_{};
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Small arrays as `std::allocator` has them, large ones in pages. What a thread gives back to
/// malloc stays with that thread's arena; work of the same kind that goes from thread to thread
/// would leave its buffers behind on each.
template <class T>
struct page_allocator {
  using value_type = T;

  page_allocator() = default;
  template <class U>
  page_allocator(const page_allocator<U>&) noexcept {}  // allocators convert

  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    if (!is_large(n)) return std::allocator<T>().allocate(n);
    return reinterpret_cast<T*>(pages(n * sizeof(T)).release());
  }
  void deallocate(T* at, std::size_t n) noexcept {
    if (!is_large(n)) return std::allocator<T>().deallocate(at, n);
    ::munmap(at, n * sizeof(T));
  }

  friend bool operator==(page_allocator, page_allocator) noexcept { return true; }

 private:
  [[nodiscard]] static constexpr bool is_large(std::size_t n) noexcept {
    return n * sizeof(T) >= std::size_t{64} << 10;
  }
};

/// A vector whose memory goes back when it does, if there is much of it.
template <class T>
using large_vector = std::vector<T, page_allocator<T>>;

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/pages.ipp>
#endif
