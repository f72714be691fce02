#pragma once

#include <mdstream/core/detail/process.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include <new>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::atomic<pid_t>* make_zeroed_by_fork() noexcept {
#ifdef MADV_WIPEONFORK
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const at =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  if (::madvise(at, page, MADV_WIPEONFORK) == 0) return new (at) std::atomic<pid_t>(0);
  ::munmap(at, page);
#endif
  return nullptr;
}

MDSTREAM_INLINE int own_descriptors::close(int fd) noexcept {
  if (fd < 0 || static_cast<std::size_t>(fd) >= most || !is_own(fd)) return ::close(fd);
  const std::lock_guard lock(instance().mutex_);
  word_of(fd).fetch_and(~bit_of(fd), std::memory_order_relaxed);
  return ::close(fd);
}

MDSTREAM_INLINE own_descriptors::own_descriptors() {
  ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] {
                     give_up();
                     instance().mutex_.unlock();
                   });
}

MDSTREAM_INLINE own_descriptors& own_descriptors::instance() {
  static own_descriptors& only = *new own_descriptors;
  return only;
}

MDSTREAM_INLINE bool own_descriptors::is_own(int fd) noexcept {
  return (word_of(fd).load(std::memory_order_relaxed) & bit_of(fd)) != 0;
}

MDSTREAM_INLINE void own_descriptors::give_up() noexcept {
  int nothing = -1;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t own = words_[i].exchange(0, std::memory_order_relaxed);
    for (int bit = 0; bit < 64 && own >> bit != 0; ++bit) {
      if ((own >> bit & 1) == 0) continue;
      const int fd = static_cast<int>(i * 64) + bit;
      if (nothing < 0) nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      if (nothing < 0 || ::dup3(nothing, fd, O_CLOEXEC) < 0) ::close(fd);
    }
  }
  if (nothing >= 0) ::close(nothing);
}

}  // namespace mdstream::inline v0::detail
