#pragma once

/// A file that is filled range by range, in any order, and then gets its name; one that was left
/// behind is gone on with.

#include <mdstream/core/bytes.hpp>
#include <mdstream/store/file.hpp>

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace cli {

namespace mds = mdstream;

/// The file holds its bytes, then which boot of the machine wrote it, then a byte for each range
/// that is whole. A killed program leaves both as they were; after a loss of power they may
/// disagree, and the other boot shows. One process at a time has the file, under a lock.
class part_file {
 public:
  /// `bytes` > 0. With an `identity` the file stays when this ends before `publish`, and the next
  /// one of that identity goes on with it; the identity has to tell one state of the source.
  part_file(std::string directory, const std::string& identity, std::size_t bytes,
            std::size_t ranges)
      : resumable_(!identity.empty()),
        path_(std::move(directory) + "/.mdstream-" +
              (resumable_ ? "copy-" + identity : mds::detail::unique_name()) + ".tmp"),
        bytes_(bytes),
        ranges_(ranges) {
    const std::string parent = mds::detail::parent_of(path_);
    if (const int failure = mds::detail::make_directories(parent); failure != 0) {
      throw mds::system_failure(failure, "cannot make the directory", parent);
    }
    open_and_lock();
    const std::string boot = boot_id();
    if (mds::detail::file_size(fd_.get(), path_) != total() || !is_of(boot)) begin_anew(boot);
    map();
  }
  part_file(const part_file&) = delete;
  part_file& operator=(const part_file&) = delete;
  ~part_file() {
    if (mapping_ != nullptr) ::munmap(mapping_, total());
    if (!published_ && !resumable_) ::unlink(path_.c_str());
  }

  [[nodiscard]] mds::mutable_bytes bytes() const noexcept { return {mapping_, bytes_}; }
  /// From any thread, each to its own place.
  void write(std::uint64_t offset, mds::bytes_view bytes) const {
    mds::detail::write_at(fd_.get(), offset, bytes, path_);
  }
  [[nodiscard]] bool has(std::size_t range) const noexcept {
    return mapping_[bytes_ + boot_bytes + range] == whole;
  }
  void mark(std::size_t range) noexcept { mapping_[bytes_ + boot_bytes + range] = whole; }

  /// The file's bytes under `path`, in place of what was there.
  void publish(const std::string& path) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) {
      throw mds::system_failure(errno, "cannot shorten", path_);
    }
    if (::rename(path_.c_str(), path.c_str()) != 0) {
      throw mds::system_failure(errno, "cannot rename a temporary file to", path);
    }
    published_ = true;
  }
  /// Lets go of a file whose bytes went elsewhere.
  void discard() noexcept {
    ::unlink(path_.c_str());
    published_ = true;
  }

 private:
  static constexpr std::size_t boot_bytes = 36;
  static constexpr std::byte whole{1};

  [[nodiscard]] std::size_t total() const noexcept { return bytes_ + boot_bytes + ranges_; }

  [[nodiscard]] static std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    id.resize(boot_bytes, ' ');
    return id;
  }

  /// Who held the lock may have given the file its name since it was opened.
  void open_and_lock() {
    while (true) {
      fd_ = mds::detail::open_file(path_, O_RDWR | O_CREAT);
      if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
        throw mds::error(mds::errc::unavailable,
                         {.what = "another copy is writing this object", .url = path_});
      }
      struct stat opened{}, named{};
      if (::fstat(fd_.get(), &opened) == 0 && ::stat(path_.c_str(), &named) == 0 &&
          opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
        return;
      }
    }
  }

  [[nodiscard]] bool is_of(std::string_view boot) const {
    std::string found(boot_bytes, '\0');
    (void)mds::detail::read_at(fd_.get(), bytes_,
                               {reinterpret_cast<std::byte*>(found.data()), found.size()}, path_);
    return found == boot;
  }

  /// The place is taken at once, so that a full disk is an error here and not a signal later.
  void begin_anew(std::string_view boot) {
    if (::ftruncate(fd_.get(), 0) != 0) throw mds::system_failure(errno, "cannot empty", path_);
    if (const int failure = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(total()));
        failure != 0) {
      ::unlink(path_.c_str());
      throw mds::system_failure(failure, "cannot reserve the place of", path_);
    }
    mds::detail::write_at(fd_.get(), bytes_, mds::as_bytes(boot), path_);
  }

  void map() {
    void* const at = ::mmap(nullptr, total(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (at == MAP_FAILED) throw mds::system_failure(errno, "cannot map", path_);
    mapping_ = static_cast<std::byte*>(at);
  }

  bool resumable_;
  std::string path_;
  std::size_t bytes_, ranges_;
  mds::unique_fd fd_;
  std::byte* mapping_ = nullptr;
  bool published_ = false;
};

}  // namespace cli
