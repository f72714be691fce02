#pragma once

/// What a child of fork() inherits and must not use: objects whose threads it does not have, and
/// descriptors that are the other process's.

#include <mdstream/core/error.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace mdstream::inline v0::detail {

/// Zero in each new child, however it was made; null where the kernel cannot do that.
[[nodiscard]] std::atomic<pid_t>* make_zeroed_by_fork() noexcept;

/// Made before `main`: a child of a thread that makes a local static would inherit its lock.
inline std::atomic<pid_t>* const known_process_id = make_zeroed_by_fork();

/// getpid() without a system call, for what is asked once a sample. `known` may be null.
[[nodiscard]] inline pid_t process_id(std::atomic<pid_t>* known = known_process_id) noexcept {
  if (known == nullptr) return ::getpid();  // also before `known_process_id` is made
  pid_t id = known->load(std::memory_order_relaxed);
  if (id == 0) [[unlikely]]
    known->store(id = ::getpid(), std::memory_order_relaxed);
  return id;
}

/// The process that made an object. A child inherits the object, and mutexes as they were at that
/// moment, but none of the threads that do its work.
class maker {
 public:
  [[nodiscard]] bool is_here() const noexcept { return pid_ == process_id(); }

  /// Throws `errc::unsupported`, naming `what`, in any other process.
  void require_here(const char* what) const {
    if (!is_here()) [[unlikely]]
      refuse(what);
  }

 private:
  [[noreturn, gnu::noinline]] void refuse(const char* what) const {
    throw error(errc::unsupported,
                "this " + std::string(what) + " was made in process " + std::to_string(pid_) +
                    "; process " + std::to_string(process_id()) +
                    " is a fork of it and has none of its threads: make another " + what +
                    " after the fork");
  }

  pid_t pid_ = process_id();
};

/// Deletes in the process that made the owner. In a forked child the object stays in memory,
/// because its destructor would wait for threads, change files, or talk over connections that are
/// the other process's; it gives back what `abandon()`, where it has one, can give back without
/// waiting.
template <class Delete>
struct delete_where_made {
  maker made{};
  template <class T>
  void operator()(T* gone) const {
    if (made.is_here())
      Delete()(gone);
    else if constexpr (requires { gone->abandon(); })
      gone->abandon();
  }
};

template <class T, class Delete = std::default_delete<T>>
using unique_where_made = std::unique_ptr<T, delete_where_made<Delete>>;

template <class T, class... Args>
[[nodiscard]] unique_where_made<T> make_where_made(Args&&... args) {
  return unique_where_made<T>(new T(std::forward<Args>(args)...));
}

/// Descriptors of locks and connections. In a forked child /dev/null takes their places at once: a
/// lock belongs to the open file, so the child would hold it for as long as it lives, and a
/// connection would stay open. Thread-safe. Descriptors from 2^20 on are inherited as usual.
class own_descriptors {
 public:
  /// Calls `open`, which returns a descriptor or a negative number; no fork comes between.
  template <class Open>
  static int add(const Open& open) {
    own_descriptors& all = instance();
    const std::lock_guard lock(all.mutex_);
    const int fd = open();
    if (fd >= 0 && static_cast<std::size_t>(fd) < most) {
      word_of(fd).fetch_or(bit_of(fd), std::memory_order_relaxed);
    }
    return fd;
  }

  /// Closes any descriptor.
  static int close(int fd) noexcept;

 private:
  static constexpr std::size_t most = std::size_t{1} << 20;
  using word = std::atomic<std::uint64_t>;

  own_descriptors();

  /// Never destroyed: descriptors are closed until the very end.
  static own_descriptors& instance();

  static word& word_of(int fd) noexcept { return words_[static_cast<std::size_t>(fd) / 64]; }
  static std::uint64_t bit_of(int fd) noexcept { return std::uint64_t{1} << (fd % 64); }
  static bool is_own(int fd) noexcept;

  /// In the child, where objects still know the numbers and close them later.
  static void give_up() noexcept;

  std::mutex mutex_;
  static inline std::array<word, most / 64> words_{};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/process.ipp>
#endif
