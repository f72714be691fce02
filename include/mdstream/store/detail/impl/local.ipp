#pragma once

#include <mdstream/core/detail/directory_reader.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/version.hpp>

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <mutex>
#include <set>
#include <system_error>

namespace mdstream::inline v0::store {

struct local::pending {
  std::mutex mutex;
  std::set<std::string> paths;
};

MDSTREAM_INLINE local::local(std::string root)
    : root_(std::move(root)), unflushed_(std::make_shared<pending>()) {
  while (root_.size() > 1 && root_.ends_with('/')) root_.pop_back();
  if (root_.empty()) {
    throw error(errc::invalid_argument, "an empty path names no directory for a store");
  }
}

MDSTREAM_INLINE std::uint64_t local::size(std::string_view key) const {
  const std::string path = path_of(key);
  const detail::unique_fd fd = detail::open_file(path, O_RDONLY);
  return detail::file_size(fd.get(), path);
}

MDSTREAM_INLINE std::size_t local::read(std::string_view key, std::uint64_t offset,
                                        mutable_bytes into) const {
  const std::string path = path_of(key);
  const detail::unique_fd fd = detail::open_file(path, O_RDONLY);
  const detail::file_state before(fd.get(), path);
  return read_state(fd, before, offset, into, path);
}

MDSTREAM_INLINE object_version local::version(std::string_view key) const {
  const std::string path = path_of(key);
  const detail::unique_fd fd = detail::open_file(path, O_RDONLY);
  (void)detail::file_size(fd.get(), path);  // refuses what is no file
  const detail::file_state now(fd.get(), path);
  return {.bytes = now.bytes(), .tag = now.tag()};
}

MDSTREAM_INLINE std::size_t local::read_version(std::string_view key, const object_version& held,
                                                std::uint64_t offset, mutable_bytes into) const {
  const std::string path = path_of(key);
  const detail::unique_fd fd = detail::open_file(path, O_RDONLY);
  const detail::file_state before(fd.get(), path);
  if (!held.tag.empty() && before.tag() != held.tag) before.fail(path);
  return read_state(fd, before, offset, into, path);
}

MDSTREAM_INLINE void local::write(std::string_view key, bytes_view bytes) const {
  const std::string path = path_of(key);
  replace(path, bytes, detail::durability::cached);
  will_flush(path);
}

MDSTREAM_INLINE void local::publish(std::string_view key, bytes_view bytes) const {
  flush();
  replace(path_of(key), bytes, detail::durability::flushed);
  flush();  // what names a directory that was only made for it
}

MDSTREAM_INLINE bool local::create(std::string_view key, bytes_view bytes) const {
  const std::string path = path_of(key);
  detail::replacement_file file(path, [this](const std::string& made) { will_flush(made); });
  file.append(bytes);
  flush();  // what it names, and the directories that were made for it
  return file.create();
}

MDSTREAM_INLINE std::vector<object_info> local::list(std::string_view prefix,
                                                     const std::stop_token& stop) const {
  std::vector<object_info> found;
  std::vector<directory_id> above;
  list_into("", prefix, stop, above, found);
  std::sort(found.begin(), found.end(),
            [](const object_info& a, const object_info& b) { return a.key < b.key; });
  return found;
}

MDSTREAM_INLINE void local::remove(std::string_view key) const {
  const std::string path = path_of(key);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
    throw system_failure(errno, "cannot delete", path);
  }
  remove_directories(detail::parent_of(path));
}

MDSTREAM_INLINE std::size_t local::read_state(const detail::unique_fd& fd,
                                              const detail::file_state& before,
                                              std::uint64_t offset, mutable_bytes into,
                                              const std::string& path) {
  const std::size_t got = detail::read_at(fd.get(), offset, into, path);
  if (!detail::file_state(fd.get(), path).has_bytes_of(before)) before.fail(path);
  return got;
}

MDSTREAM_INLINE void local::list_into(const std::string& key, std::string_view prefix,
                                      const std::stop_token& stop, std::vector<directory_id>& above,
                                      std::vector<object_info>& found) const {
  if (stop.stop_requested()) throw error(errc::canceled, {.what = "stopped", .url = root_});
  const std::string path = key.empty() ? root_ : join_path(root_, key);
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return;  // it went meanwhile
    throw system_failure(errno, "cannot list", path);
  }
  const directory_id own(info.st_dev, info.st_ino);
  if (std::find(above.begin(), above.end(), own) != above.end()) return;
  above.push_back(own);
  detail::directory_reader entries(path);
  while (const char* const entry = entries.next()) {
    const std::string name = key + entry;
    const std::size_t common = std::min(name.size(), prefix.size());
    if (std::string_view(name).substr(0, common) != prefix.substr(0, common)) continue;
    struct stat file{};
    if (const std::string of = join_path(root_, name); ::stat(of.c_str(), &file) != 0) {
      if (errno == ENOENT || errno == ELOOP) continue;  // it went meanwhile, or links to nothing
      throw system_failure(errno, "cannot list", of);
    }
    if (S_ISDIR(file.st_mode)) {
      list_into(name + '/', prefix, stop, above, found);
      continue;
    }
    if (name.size() < prefix.size() || !S_ISREG(file.st_mode) || is_temporary(entry)) continue;
    const detail::file_state now(file);
    found.push_back({.key = name, .bytes = now.bytes(), .tag = now.tag()});
  }
  if (entries.failure() != ENOENT) entries.check(path);
  above.pop_back();
}

MDSTREAM_INLINE std::string local::join_path(const std::string& root, std::string_view key) {
  if (key.empty()) return root;
  return root + (root.ends_with('/') ? "" : "/") + std::string(key);
}

MDSTREAM_INLINE std::string local::path_of(std::string_view key) const {
  require_safe_key(key, root_);
  return join_path(root_, key);
}

MDSTREAM_INLINE void local::replace(const std::string& path, bytes_view bytes,
                                    detail::durability wanted) const {
  detail::replace_file(path, bytes, wanted, [this](const std::string& made) { will_flush(made); });
}

MDSTREAM_INLINE void local::will_flush(const std::string& path) const {
  const std::lock_guard lock(unflushed_->mutex);
  unflushed_->paths.insert(path);
}

MDSTREAM_INLINE void local::flush() const {
  std::set<std::string> paths;
  {
    const std::lock_guard lock(unflushed_->mutex);
    paths.swap(unflushed_->paths);
  }
  try {
    std::set<std::string> directories;
    for (const std::string& path : paths) {
      directories.insert(detail::parent_of(path));
      const detail::unique_fd fd = detail::open_if_there(path, O_RDONLY);
      if (fd) detail::make_durable(fd.get(), path);  // one that was removed since needs no flush
    }
    for (const std::string& directory : directories) {
      const detail::unique_fd fd = detail::open_if_there(directory, O_RDONLY | O_DIRECTORY);
      if (fd) detail::make_durable(fd.get(), directory);
    }
  } catch (...) {
    const std::lock_guard lock(unflushed_->mutex);
    unflushed_->paths.merge(paths);  // they still wait for it
    throw;
  }
}

MDSTREAM_INLINE void local::remove_directories(std::string path) const {
  while (path.size() > root_.size() + 1 && path.starts_with(root_)) {
    if (::rmdir(path.c_str()) != 0) {
      if (errno != ENOTEMPTY && errno != EEXIST) return;
      if (!remove_left_behind(path) || ::rmdir(path.c_str()) != 0) return;
    }
    path = detail::parent_of(path);
  }
}

MDSTREAM_INLINE bool local::remove_left_behind(const std::string& directory) {
  detail::directory_reader entries(directory);
  std::vector<std::string> found;
  while (const char* const name = entries.next()) {
    if (!is_temporary(name)) return false;
    found.push_back(join_path(directory, name));
  }
  for (const std::string& path : found) {
    const detail::unique_fd fd = detail::open_if_there(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fd || detail::lock_descriptor(fd.get(), LOCK_EX | LOCK_NB) != 0) return false;
    ::unlink(path.c_str());
  }
  return entries.failure() == 0;
}

}  // namespace mdstream::inline v0::store
