#pragma once

/// Brings the index of a dataset to where its shards will be cached.

#include <mdstream/cache/file_lock.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/file.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/store.hpp>

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

struct index_source {
  std::string name{};       ///< of the stream, for messages
  std::string directory{};  ///< `<local>/<split>`
  std::string prefix{};     ///< put before `index.json` in the remote: the split
  unsigned attempts = 2;    ///< to fetch it, in all
  std::chrono::nanoseconds pause = std::chrono::seconds(1);  ///< before the second; it doubles
  bool allow_unsafe_types = false;
};

namespace detail {

[[nodiscard]] inline dataset_index parse_index(std::string_view text, const index_source& source,
                                               std::string url) {
  return dataset_index::parse(text, {.allow_unsafe_types = source.allow_unsafe_types,
                                     .where = {.stream = source.name, .url = std::move(url)}});
}

template <object_store S>
std::vector<std::byte> fetch_index(const S& remote, const std::string& key,
                                   const index_source& source) {
  for (unsigned failed = 0;;) {
    try {
      return read_all(remote, key);
    } catch (const error& e) {
      ++failed;
      const auto pause = pause_before_retry({.attempts = source.attempts, .pause = source.pause},
                                            failed, e.code(), 0.5);
      if (!pause) {
        diagnostics where{.what = "cannot fetch the index",
                          .stream = source.name,
                          .url = remote.url(key),
                          .cause = e.what()};
        throw error(e.code(), std::move(where));
      }
      std::this_thread::sleep_for(*pause);
    }
  }
}

inline constexpr std::string_view index_in_the_making = ".mdstream-index-";

/// Deletes what processes left that were killed while they put an index there: files in the making
/// that nobody holds locked.
inline void drop_dead_indexes(const std::string& directory) {
  std::error_code failure;
  std::filesystem::directory_iterator at(directory, failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    if (!at->path().filename().native().starts_with(index_in_the_making)) continue;
    const std::string& path = at->path().native();
    const unique_fd fd = try_open(path, O_RDWR);
    if (fd && try_lock_file(fd.get(), lock_kind::exclusive, path)) ::unlink(path.c_str());
  }
}

/// Puts an index there, whole or not at all.
inline void keep_index(const std::string& directory, bytes_view bytes) {
  if (const int failure = make_directories(directory); failure != 0)
    throw system_failure(failure, "cannot make the directory", directory);
  drop_dead_indexes(directory);
  std::string temporary;
  unique_fd fd;
  while (!fd) {  // who cleans up at this moment may come between making and locking
    temporary = directory + '/' + std::string(index_in_the_making) + unique_name() + ".tmp";
    fd = try_lock_path(temporary, lock_kind::exclusive);
  }
  try {
    write_at(fd.get(), 0, bytes, temporary);
    const std::string path = directory + "/index.json";
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throw system_failure(errno, "cannot rename a temporary file to", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace detail

/// The index that lies in the stream's directory; none where there is none, or a damaged one, and a
/// remote that has it. Throws as `load_index`.
[[nodiscard]] inline std::optional<dataset_index> find_index(const index_source& source,
                                                             bool has_remote) {
  const std::string path = source.directory + "/index.json";
  if (const unique_fd fd = detail::try_open(path, O_RDONLY)) {
    std::string text(static_cast<std::size_t>(detail::file_size(fd.get(), path)), '\0');
    text.resize(detail::read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), path));
    try {
      return detail::parse_index(text, source, path);
    } catch (const error& e) {
      if (e.code() != errc::corrupt || !has_remote) throw;
    }
  } else if (errno != ENOENT && errno != ENOTDIR) {
    throw system_failure(errno, "cannot open", path);
  } else if (!has_remote) {
    throw error(errc::not_found, {.what = "there is no index here, and the stream has no remote",
                                  .stream = source.name,
                                  .url = path});
  }
  return std::nullopt;
}

/// Checks an index that was fetched from `url` and puts it into the stream's directory, whole or
/// not at all; where nothing can be written it is not kept. Throws as `load_index`.
[[nodiscard]] inline dataset_index accept_index(bytes_view bytes, const index_source& source,
                                                const std::string& url) {
  dataset_index index = detail::parse_index(as_text(bytes), source, url);
  try {
    detail::keep_index(source.directory, bytes);
  } catch (const error& e) {
    if (e.code() != errc::permission_denied) throw;
  }
  return index;
}

/// The dataset's index: the file `index.json` in the stream's directory, or, where there is none,
/// that of the remote, which is checked and then put there whole or not at all. An index that lies
/// there is never refreshed; one that is damaged is fetched anew when there is a remote. Where
/// nothing can be written, the index is used without being kept. What a process left that was
/// killed while it put an index there is deleted. `remote` may be null. Throws what the remote and
/// `dataset_index::parse` throw, and `errc::not_found` when there is no index.
///
/// Blocks; may be called for many streams side by side, and by several processes at once.
template <object_store S>
[[nodiscard]] dataset_index load_index(const S* remote, const index_source& source) {
  if (std::optional<dataset_index> here = find_index(source, remote != nullptr))
    return *std::move(here);
  const std::string key = join_key(source.prefix, "index.json");
  return accept_index(detail::fetch_index(*remote, key, source), source, remote->url(key));
}

}  // namespace mdstream::inline v0
