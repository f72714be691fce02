#pragma once

// A disk of a few megabytes that is full when a test says so, and that counts which shards come and
// go. Needs root, and the test a mount namespace of its own.

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

namespace soak {

class small_disk {
 public:
  /// Before any thread starts: processes that are started from now on see the disk, no others do.
  explicit small_disk(std::uint64_t bytes) {
    if (::unshare(CLONE_NEWNS) != 0) skip("unshare");
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) skip("mount");
    std::string directory =
        std::filesystem::temp_directory_path().native() + "/mdstream-soak-XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr) skip("mkdtemp");
    directory_ = directory;
    const std::string options = "mode=755,size=" + std::to_string(bytes);
    if (::mount("none", directory.c_str(), "tmpfs", 0, options.c_str()) != 0)
      skip("mount of a tmpfs");
    watch_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch_ < 0) throw std::runtime_error("no inotify");
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk() {
    ::close(watch_);
    (void)::umount2(directory_.c_str(), MNT_DETACH);
    (void)::rmdir(directory_.c_str());
  }

  [[nodiscard]] std::string operator/(const std::string& name) const {
    return directory_ + '/' + name;
  }

  /// Counts shards that get their name in this directory, which is made, and that lose it.
  void watch(const std::filesystem::path& directory) {
    std::filesystem::create_directories(directory);
    const int number =
        ::inotify_add_watch(watch_, directory.c_str(), IN_MOVED_TO | IN_CREATE | IN_DELETE);
    if (number < 0) throw std::runtime_error("cannot watch " + directory.native());
    names_[number] = directory.filename();
  }
  /// From time to time, before the kernel's queue is full.
  void count() {
    alignas(inotify_event) std::array<char, 65536> buffer{};
    ssize_t got = 0;
    while ((got = ::read(watch_, buffer.data(), buffer.size())) > 0) {
      for (ssize_t at = 0; at < got;) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        const std::string name = buffer.data() + at + sizeof event;
        at += static_cast<ssize_t>(sizeof event + event.len);
        if ((event.mask & IN_Q_OVERFLOW) != 0) throw std::runtime_error("events were lost");
        if (!name.starts_with("shard.") || !name.ends_with(".mds")) continue;
        if ((event.mask & IN_DELETE) != 0)
          ++gone_;
        else
          ++came_[names_.at(event.wd) / name];
      }
    }
  }
  /// How often each shard came, by directory and file name.
  [[nodiscard]] const std::map<std::filesystem::path, std::size_t>& came() const { return came_; }
  [[nodiscard]] std::size_t gone() const { return gone_; }

  /// Until no block is left, or more is refused for want of one.
  void fill() const {
    const int file =
        ::open((directory_ + "/ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 && errno != ENOSPC) throw std::runtime_error("no ballast on the disk");
    struct statvfs now{};
    while (::statvfs(directory_.c_str(), &now) == 0 && now.f_bavail != 0) {
      struct stat has{};
      ::fstat(file, &has);
      const auto more =
          static_cast<off_t>(std::max<std::uint64_t>(now.f_bavail / 2, 1) * now.f_bsize);
      if (::fallocate(file, 0, has.st_size, more) == 0 || errno == EINTR) continue;
      if (errno != ENOSPC) throw std::runtime_error("the disk does not fill");
      break;
    }
    ::close(file);
  }
  void empty() const { std::filesystem::remove(directory_ + "/ballast"); }

 private:
  [[noreturn]] static void skip(const char* what) {
    std::fprintf(stderr, "skipped: no disk of its own: %s: %s\n", what, std::strerror(errno));
    std::_Exit(77);
  }

  std::string directory_;
  int watch_ = -1;
  std::map<int, std::filesystem::path> names_;
  std::map<std::filesystem::path, std::size_t> came_;
  std::size_t gone_ = 0;
};

}  // namespace soak
