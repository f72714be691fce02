#pragma once

/// Files that copies which were killed have left behind.

#include <mdstream/store/detail/file.hpp>

#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

namespace cli {

namespace mds = mdstream;

/// In the names of temporary files: those of objects that begin anew, and those with ranges that
/// the next copy of the same object goes on with.
inline constexpr std::string_view temporary_mark = "copy-", part_mark = "part-";

/// Whether the open file `fd` is the one that `path` names.
[[nodiscard]] inline bool is_at(int fd, const std::string& path) noexcept {
  struct stat opened{}, named{};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Deletes the files of `directory` whose names begin with `.mdstream-` and `mark`, but for `kept`
/// and those that are locked: their makers live. What cannot be deleted stays.
inline void remove_left_behind(const std::string& directory, std::string_view mark,
                               std::string_view kept = "") {
  namespace fs = std::filesystem;
  const std::string front = ".mdstream-" + std::string(mark);
  std::error_code failure;
  for (fs::directory_iterator at(directory, failure); !failure && at != fs::directory_iterator();
       at.increment(failure)) {
    const std::string path = at->path().native();
    const std::string name = at->path().filename().native();
    if (!name.starts_with(front) || !name.ends_with(".tmp") || path == kept) continue;
    const mds::detail::unique_fd fd =
        mds::detail::try_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd && mds::detail::lock_descriptor(fd.get(), LOCK_EX | LOCK_NB) == 0 &&
        is_at(fd.get(), path)) {
      ::unlink(path.c_str());
    }
  }
}

/// The directories that a copy writes to, each cleaned of temporary files once. Thread-safe.
class cleaned_directories {
 public:
  void add(const std::string& directory) {
    {
      const std::lock_guard lock(mutex_);
      if (!known_.insert(directory).second) return;
    }
    remove_left_behind(directory, temporary_mark);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> known_;
};

}  // namespace cli
