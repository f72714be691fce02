#pragma once

/// A file that is filled range by range, in any order, and then gets its name; one that was left
/// behind is gone on with.

#include <mdstream/core/bytes.hpp>
#include <mdstream/store/detail/file.hpp>

#include "leftovers.hpp"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace cli {

namespace mds = mdstream;

/// The file holds its bytes, then which boot of the machine wrote it, then a byte for each range
/// that is whole. A killed program leaves both as they were; after a loss of power they may
/// disagree, and the other boot shows. One process at a time has the file, under a lock.
class part_file {
 public:
  /// Of an object, by a name of its place, and of one state of it (`version`). It stays when this
  /// ends before `publish`, and the next one of both goes on with it; one of another version
  /// deletes it. Without a version it goes. `bytes` > 0.
  part_file(const std::string& directory, const std::string& object, const std::string& version,
            std::size_t bytes, std::size_t ranges)
      : stays_(!version.empty()), bytes_(bytes), ranges_(ranges) {
    if (const int failure = mds::detail::make_directories(directory); failure != 0) {
      throw mds::system_failure(failure, "cannot make the directory", directory);
    }
    const std::string front = directory + "/.mdstream-";
    const std::string of_object = std::string(part_mark) + object + '-';
    path_ = stays_ ? front + of_object + version + ".tmp"
                   : front + std::string(temporary_mark) + mds::detail::unique_name() + ".tmp";
    open_and_lock();
    if (stays_) remove_left_behind(directory, of_object, path_);
    prepare();
  }

  /// For bytes that go elsewhere: of a file without a name, which no one else can open and which
  /// ends with the process. `bytes` > 0.
  [[nodiscard]] static part_file unnamed(const std::string& directory, std::size_t bytes,
                                         std::size_t ranges) {
    return {directory, bytes, ranges};
  }

  part_file(const part_file&) = delete;
  part_file& operator=(const part_file&) = delete;
  ~part_file() {
    if (mapping_ != nullptr) ::munmap(mapping_, total());
    if (!stays_ && !path_.empty()) ::unlink(path_.c_str());
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

  /// The file's bytes under `path`, in place of what was there. As with other programs that copy,
  /// they are the system's to write to the disk: waiting for that made large copies half as fast.
  void publish(const std::string& path) {
    mds::detail::cut_file(fd_.get(), bytes_, path_);
    if (::rename(path_.c_str(), path.c_str()) != 0) {
      throw mds::system_failure(errno, "cannot rename a temporary file to", path);
    }
    path_.clear();
  }
  /// What came is of no use to anybody.
  void discard() noexcept { stays_ = false; }

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

  part_file(const std::string& directory, std::size_t bytes, std::size_t ranges)
      : bytes_(bytes), ranges_(ranges) {
    path_ = directory + "/.mdstream-" + mds::detail::unique_name() + ".tmp";
    fd_ = mds::detail::open_file(path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    ::unlink(path_.c_str());
    prepare();
    path_.clear();
  }

  void prepare() {
    const std::string boot = boot_id();
    if (mds::detail::file_size(fd_.get(), path_) != total() || !is_of(boot)) begin_anew(boot);
    map();
  }

  /// Who held the lock may have given the file its name since it was opened.
  void open_and_lock() {
    do {
      fd_ = mds::detail::open_file(path_, O_RDWR | O_CREAT | O_NOFOLLOW);
      struct stat found{};
      if (::fstat(fd_.get(), &found) == 0 && found.st_uid != ::geteuid()) {
        throw mds::error(mds::errc::permission_denied,
                         {.what = "a file in the making is another user's", .url = path_});
      }
      // Of a name that no one else makes, only who cleans up has the lock, for a moment.
      // Without locks, nobody cleans up, and who copies the same twice at a time is not told.
      if (mds::detail::lock_descriptor(fd_.get(), stays_ ? LOCK_EX | LOCK_NB : LOCK_EX) != 0 &&
          errno == EWOULDBLOCK) {
        throw mds::error(mds::errc::unavailable,
                         {.what = "another copy is writing this object", .url = path_});
      }
    } while (!is_at(fd_.get(), path_));
  }

  [[nodiscard]] bool is_of(std::string_view boot) const {
    std::string found(boot_bytes, '\0');
    (void)mds::detail::read_at(fd_.get(), bytes_,
                               {reinterpret_cast<std::byte*>(found.data()), found.size()}, path_);
    return found == boot;
  }

  /// The place is taken at once, so that a full disk is an error here and not a signal later.
  void begin_anew(std::string_view boot) {
    mds::detail::cut_file(fd_.get(), 0, path_);
    if (const int failure = mds::detail::reserve_file(fd_.get(), total()); failure != 0) {
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

  bool stays_ = false;
  std::string path_{};  // empty: it has no name
  std::size_t bytes_, ranges_;
  mds::detail::unique_fd fd_;
  std::byte* mapping_ = nullptr;
};

}  // namespace cli
