#pragma once

/// A directory as a store: local disks and whatever is mounted.

#include <mdstream/store/file.hpp>
#include <mdstream/store/store.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// Files beneath one directory. Its URL is the path itself, absolute or relative; `file://` is not
/// one. Copies share what they know about bytes that are not yet flushed. Thread-safe.
///
/// `write` is atomic (temporary file, then rename) but leaves the bytes to the system to flush;
/// `publish` first flushes everything written before, then the object itself. Symbolic links are
/// followed; keys with `..` are refused.
class local {
 public:
  static constexpr std::string_view schemes = "local paths";

  explicit local(std::string root)
      : root_(std::move(root)), unflushed_(std::make_shared<pending>()) {
    while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
    if (root_.empty()) {
      throw error(errc::invalid_argument, "an empty path names no directory for a store");
    }
  }

  [[nodiscard]] static bool serves(std::string_view url) noexcept {
    return !url.empty() && url_scheme(url).empty();
  }
  [[nodiscard]] static local open(std::string_view url) { return local(std::string(url)); }

  [[nodiscard]] std::uint64_t size(std::string_view key) const {
    const std::string path = path_of(key);
    const unique_fd fd = detail::open_file(path, O_RDONLY);
    return detail::file_size(fd.get(), path);
  }

  /// Complexity: one open, one read for each call. Throws errc::corrupt where the file was written
  /// to meanwhile.
  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const {
    const std::string path = path_of(key);
    const unique_fd fd = detail::open_file(path, O_RDONLY);
    const detail::file_state before(fd.get(), path);
    return read_state(fd, before, offset, into, path);
  }

  /// The file as it is now: its tag changes with whatever writes to it or takes its place.
  [[nodiscard]] object_version version(std::string_view key) const {
    const std::string path = path_of(key);
    const unique_fd fd = detail::open_file(path, O_RDONLY);
    (void)detail::file_size(fd.get(), path);  // refuses what is no file
    const detail::file_state now(fd.get(), path);
    return {.bytes = now.bytes(), .tag = now.tag()};
  }

  /// As `read`, of that version: throws errc::corrupt, which is final, where it is another.
  std::size_t read_version(std::string_view key, const object_version& held, std::uint64_t offset,
                           mutable_bytes into) const {
    const std::string path = path_of(key);
    const unique_fd fd = detail::open_file(path, O_RDONLY);
    const detail::file_state before(fd.get(), path);
    if (before.tag() != held.tag) before.fail(path);
    return read_state(fd, before, offset, into, path);
  }

  void write(std::string_view key, bytes_view bytes) const {
    const std::string path = path_of(key);
    replace(path, bytes, detail::durability::cached);
    const std::lock_guard lock(unflushed_->mutex);
    unflushed_->paths.insert(path);
  }

  /// Writes an object that others depend on, an index say: on return it and all that this store
  /// and its copies wrote before survive a loss of power.
  void publish(std::string_view key, bytes_view bytes) const {
    flush();
    replace(path_of(key), bytes, detail::durability::flushed);
    flush();  // what names a directory that was only made for it
  }

  /// A link to a directory above itself is left out: what lies there is listed already. A stop ends
  /// it with errc::canceled.
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix,
                                              const std::stop_token& stop = {}) const {
    std::vector<object_info> found;
    std::vector<directory_id> above;
    list_into("", prefix, stop, above, found);
    std::sort(found.begin(), found.end(),
              [](const object_info& a, const object_info& b) { return a.key < b.key; });
    return found;
  }

  void remove(std::string_view key) const {
    const std::string path = path_of(key);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
      throw system_failure(errno, "cannot delete", path);
    }
  }

  [[nodiscard]] std::string url(std::string_view key) const { return join_path(root_, key); }

 private:
  struct pending {
    std::mutex mutex;
    std::set<std::string> paths;
  };

  using directory_id = std::pair<dev_t, ino_t>;

  static std::size_t read_state(const unique_fd& fd, const detail::file_state& before,
                                std::uint64_t offset, mutable_bytes into, const std::string& path) {
    const std::size_t got = detail::read_at(fd.get(), offset, into, path);
    if (!detail::file_state(fd.get(), path).has_bytes_of(before)) before.fail(path);
    return got;
  }

  /// Adds what lies in the directory `key`, which ends with `/` or is the root. `above`: those that
  /// lead to it.
  void list_into(const std::string& key, std::string_view prefix, const std::stop_token& stop,
                 std::vector<directory_id>& above, std::vector<object_info>& found) const {
    namespace fs = std::filesystem;
    if (stop.stop_requested()) throw error(errc::canceled, {.what = "stopped", .url = root_});
    const std::string path = key.empty() ? root_ : join_path(root_, key);
    struct stat info{};
    std::error_code failure;
    fs::directory_iterator at;
    const bool is_open = ::stat(path.c_str(), &info) == 0;
    if (is_open) {
      const directory_id own(info.st_dev, info.st_ino);
      if (std::find(above.begin(), above.end(), own) != above.end()) return;
      above.push_back(own);
      at = fs::directory_iterator(path, failure);
    } else {
      failure.assign(errno, std::generic_category());
    }
    for (; !failure && at != fs::directory_iterator(); at.increment(failure)) {
      std::error_code entry_failure;
      const std::string name = key + at->path().filename().native();
      const std::size_t common = std::min(name.size(), prefix.size());
      if (std::string_view(name).substr(0, common) != prefix.substr(0, common)) continue;
      if (at->is_directory(entry_failure)) {
        list_into(name + '/', prefix, stop, above, found);
        continue;
      }
      if (name.size() < prefix.size() || !at->is_regular_file(entry_failure) ||
          is_temporary(at->path().filename().native())) {
        continue;
      }
      const std::uint64_t bytes = at->file_size(entry_failure);
      if (!entry_failure) found.push_back({.key = name, .bytes = bytes});
    }
    if (failure && failure != std::errc::no_such_file_or_directory) {  // else it went meanwhile
      throw system_failure(failure.value(), "cannot list", path);
    }
    if (is_open) above.pop_back();
  }

  [[nodiscard]] static std::string join_path(const std::string& root, std::string_view key) {
    if (key.empty()) return root;
    return root + (root.ends_with('/') ? "" : "/") + std::string(key);
  }

  [[nodiscard]] static bool is_temporary(std::string_view name) {
    return name.starts_with(".mdstream-") && name.ends_with(".tmp");
  }

  [[nodiscard]] std::string path_of(std::string_view key) const {
    require_safe_key(key, root_);
    return join_path(root_, key);
  }

  /// Writes a file. A directory that is made for it is flushed too, when it has its own name and
  /// those above have theirs.
  void replace(const std::string& path, bytes_view bytes, detail::durability wanted) const {
    detail::replace_file(path, bytes, wanted, [this](const std::string& made) {
      const std::lock_guard lock(unflushed_->mutex);
      unflushed_->paths.insert(made);
    });
  }

  /// Flushes the files written since the last flush and the directories that name them.
  void flush() const {
    std::set<std::string> paths;
    {
      const std::lock_guard lock(unflushed_->mutex);
      paths.swap(unflushed_->paths);
    }
    std::set<std::string> directories;
    for (const std::string& path : paths) {
      directories.insert(detail::parent_of(path));
      const unique_fd fd = detail::try_open(path, O_RDONLY);
      if (fd) detail::make_durable(fd.get(), path);  // one that was removed since needs no flush
    }
    for (const std::string& directory : directories) detail::make_directory_durable(directory);
  }

  std::string root_;
  std::shared_ptr<pending> unflushed_;
};

static_assert(blocking_store<local> && openable_store<local>);

}  // namespace mdstream::inline v0::store
