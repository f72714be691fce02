#pragma once

/// Files that are cut short, or whose disk fails, while they are mapped. The kernel then answers a
/// read with SIGBUS, which would end the process.
///
/// A mapping that is registered here is guarded. Code that only copies, hashes or checks its bytes
/// runs under `read_mapped`: where the signal comes, it reads zeros to its end, and then an error
/// that names the file is thrown in place of its result. Elsewhere the process ends as ever, after
/// a line on stderr that names the file: nobody shall go on with zeros in place of data.
///
/// The handler is installed with the first mapping. Signals that are not about a guarded mapping go
/// to the handler that was there before.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// What a SIGBUS in a mapping means. `zeros`: the code that registered it looks at the file
/// before it accepts the bytes, so that zeros may be read anywhere.
enum class mapped_fault { error, zeros };

/// All guarded mappings of the process. Thread-safe; never destroyed, for signals come until the
/// end.
class mapped_files {
 public:
  [[nodiscard]] static mapped_files& instance() {
    static mapped_files* const all = new mapped_files;
    return *all;
  }

  void add(const std::byte* base, std::size_t bytes, const std::string& path,
           mapped_fault fault = mapped_fault::error) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) make_slots();
    slot& one = *free_.back();
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    of_.emplace(begin, &one);  // before the rest: it may throw
    free_.pop_back();
    path.copy(one.path, sizeof one.path - 1);
    one.path[std::min(path.size(), sizeof one.path - 1)] = '\0';
    one.zeros = fault == mapped_fault::zeros;
    one.lost_from = 0;
    one.end = begin + bytes;
    one.begin = begin;
  }

  /// Before it is unmapped.
  void remove(const std::byte* base) noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = of_.find(reinterpret_cast<std::uintptr_t>(base));
    if (at == of_.end()) return;
    at->second->begin = 0;
    at->second->end = 0;
    free_.push_back(at->second);  // has room: `make_slots` saw to it
    of_.erase(at);
  }

  /// Whether a mapping's bytes were lost since it was added.
  [[nodiscard]] bool lost(const std::byte* base) {
    const std::lock_guard lock(mutex_);
    const auto at = of_.find(reinterpret_cast<std::uintptr_t>(base));
    return at != of_.end() && at->second->lost_from != 0;
  }

  /// As long as one lives, its thread reads zeros. For threads that work for one that waits for
  /// them within `read`, which throws.
  struct inside {
    inside() noexcept { ++depth(); }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
    ~inside() { --depth(); }
  };

  /// Runs `read`. Throws `errc::io_error`, naming the file, where bytes of any guarded mapping were
  /// lost meanwhile, to this thread or to another: zeros do not show which file they are of.
  template <class Read>
  decltype(auto) read(Read&& read) {
    const inside here;
    const std::uint64_t before = mended_.load(std::memory_order_acquire);
    struct check {
      mapped_files& all;
      std::uint64_t before;
      [[nodiscard]] bool lost() const noexcept {
#ifdef __SANITIZE_THREAD__  // knows no fences
        return all.begun_.fetch_add(0, std::memory_order_acq_rel) != before;
#else
        std::atomic_thread_fence(std::memory_order_acquire);  // after what was read
        return all.begun_.load(std::memory_order_relaxed) != before;
#endif
      }
    } const look{*this, before};
    try {
      if constexpr (std::is_void_v<decltype(read())>) {
        read();
        if (look.lost()) [[unlikely]]
          throw_lost();
      } else {
        decltype(auto) result = read();
        if (look.lost()) [[unlikely]]
          throw_lost();
        return result;
      }
    } catch (...) {  // perhaps because of zeros
      if (look.lost()) throw_lost();
      throw;
    }
  }

 private:
  /// Read by the handler, hence atomics. `begin` is written last and cleared first.
  struct slot {
    std::atomic<std::uintptr_t> begin{0}, end{0}, lost_from{0};
    std::atomic<bool> zeros{false};
    char path[512] = {};
  };
  struct block {
    std::array<slot, 64> slots{};
    block* next = nullptr;
  };
  mapped_files() {
    struct sigaction mine{};
    mine.sa_sigaction = &on_signal;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigaction(SIGBUS, nullptr, &before_);
    self().store(this);
    ::pthread_atfork([] { self().load()->mutex_.lock(); }, [] { self().load()->mutex_.unlock(); },
                     [] { self().load()->mutex_.unlock(); });
    ::sigaction(SIGBUS, &mine, nullptr);
  }

  [[nodiscard]] static int& depth() noexcept {
    thread_local int depth = 0;
    return depth;
  }
  [[nodiscard]] static std::atomic<mapped_files*>& self() noexcept {
    static constinit std::atomic<mapped_files*> all{nullptr};
    return all;
  }
  [[nodiscard]] static std::uintptr_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
  }

  void make_slots() {
    auto* const made = new block;
    made->next = first_.load();
    slots_ += made->slots.size();
    free_.reserve(slots_);
    for (slot& each : made->slots) free_.push_back(&each);
    (void)page_bytes();
    first_.store(made);
  }

  // From here on only what a handler of signals may do.

  static void on_signal(int number, siginfo_t* about, void* context) noexcept {
    const int saved = errno;
    mapped_files& all = *self().load();
    const auto at = reinterpret_cast<std::uintptr_t>(about->si_addr);
    slot* const hit = about->si_code > 0 ? all.find(at) : nullptr;  // else somebody's kill(2)
    if (hit == nullptr || !all.make_zeros(*hit, at)) {
      if (hit != nullptr) tell(*hit);
      all.pass_on(number, about, context);
    }
    errno = saved;
  }

  [[nodiscard]] slot* find(std::uintptr_t at) noexcept {
    for (block* some = first_.load(); some != nullptr; some = some->next) {
      for (slot& each : some->slots) {
        if (each.begin <= at && at < each.end) return &each;
      }
    }
    return nullptr;
  }

  /// From the page of that address to the end of the mapping.
  [[nodiscard]] bool make_zeros(slot& one, std::uintptr_t at) noexcept {
    if (!one.zeros && depth() == 0) return false;
    const std::uintptr_t page = at / page_bytes() * page_bytes();
    if (!one.zeros) ++begun_;
    std::uintptr_t before = one.lost_from;
    while ((before == 0 || page < before) && !one.lost_from.compare_exchange_weak(before, page)) {
    }
    const bool made =
        ::mmap(reinterpret_cast<void*>(page), one.end - page, PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    if (!one.zeros) ++ended_;
    return made;
  }

  static void tell(const slot& one) noexcept {
    const auto say = [](const char* text) { return ::write(2, text, std::strlen(text)); };
    (void)!say("mdstream: a mapped file was cut short, or its disk failed: ");
    (void)!say(one.path);
    (void)!say("\n");
  }

  void pass_on(int number, siginfo_t* about, void* context) noexcept {
    if ((before_.sa_flags & SA_SIGINFO) != 0 && before_.sa_sigaction != nullptr) {
      before_.sa_sigaction(number, about, context);
    } else if (before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN) {
      before_.sa_handler(number);
    } else {  // what comes again on return, or was sent, ends the process as ever
      ::signal(SIGBUS, SIG_DFL);
      if (about->si_code <= 0) ::raise(SIGBUS);
    }
  }

  // Here no longer.

  /// Behind the zeros come signals again, so that a later read of them fails, too.
  [[noreturn]] void throw_lost() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t begun = begun_.load();
    std::string path;
    const int nothing = ::memfd_create("mdstream", MFD_CLOEXEC);
    for (const auto& [begin, one] : of_) {
      const std::uintptr_t from = one->lost_from;
      if (from == 0 || one->zeros) continue;
      path = one->path;
      void* const pages = reinterpret_cast<void*>(from);
      const std::size_t bytes = one->end - from;
      if (nothing < 0 ||
          ::mmap(pages, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, nothing, 0) == MAP_FAILED) {
        ::mprotect(pages, bytes, PROT_NONE);
      }
    }
    if (nothing >= 0) ::close(nothing);
    if (begun == ended_.load()) mended_.store(begun, std::memory_order_release);
    throw error(errc::io_error,
                {.what = "a mapped file was cut short, or its disk failed, while it was read",
                 .url = std::move(path)});
  }

  struct sigaction before_{};
  std::atomic<block*> first_{nullptr};
  /// Faults: those that a handler began with, those that it has made zeros of, and those whose
  /// zeros are gone again.
  std::atomic<std::uint64_t> begun_{0}, ended_{0}, mended_{0};

  std::mutex mutex_;  // over what follows
  std::map<std::uintptr_t, slot*> of_;
  std::vector<slot*> free_;
  std::size_t slots_ = 0;
};

/// Reads a byte of each page.
inline void touch_pages(bytes_view bytes) noexcept {
  constexpr std::size_t page = 4096;
  for (std::size_t i = 0; i < bytes.size(); i += page)
    (void)*const_cast<volatile const std::byte*>(&bytes[i]);
  if (!bytes.empty()) (void)*const_cast<volatile const std::byte*>(&bytes.back());
}

/// `mapped_files::read`.
template <class Read>
decltype(auto) read_mapped(Read&& read) {
  return mapped_files::instance().read(read);
}

}  // namespace mdstream::inline v0::detail
