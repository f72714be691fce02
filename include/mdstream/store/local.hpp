#pragma once

/// A directory as a store: local disks and whatever is mounted.

#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/store.hpp>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// Reads and writes files under one directory. Its URL is the path, absolute or relative, never
/// `file://`. Thread-safe; copies know of each other's bytes that are not yet flushed.
///
/// `write` is atomic (temporary file, then rename), and the system flushes the bytes later.
/// `publish` first flushes everything written before, then the object itself. `remove` also removes
/// a directory with its last object. Symbolic links are followed; keys with `..` are an error.
///
///     const mds::store::local folder("/data/c4");
///     folder.write("notes/one.txt", mds::as_bytes("1"));
class local {
 public:
  static constexpr std::string_view schemes = "local paths";

  explicit local(std::string root);

  [[nodiscard]] static bool serves(std::string_view url) noexcept {
    return !url.empty() && url_scheme(url).empty();
  }
  [[nodiscard]] static local open(std::string_view url) { return local(std::string(url)); }

  [[nodiscard]] std::uint64_t size(std::string_view key) const;

  /// Cost: one open and one read. Throws errc::corrupt if the file was written to meanwhile.
  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const;

  /// The file as it is now: its tag changes with whatever writes to it or takes its place.
  [[nodiscard]] object_version version(std::string_view key) const;

  /// As `read`, of that version: throws errc::corrupt, which is final, where it is another.
  std::size_t read_version(std::string_view key, const object_version& held, std::uint64_t offset,
                           mutable_bytes into) const;

  void write(std::string_view key, bytes_view bytes) const;

  /// Writes an object that others depend on, an index say: on return it and all that this store
  /// and its copies wrote before survive a loss of power.
  void publish(std::string_view key, bytes_view bytes) const;

  /// As `publish`, but only if there is no object of that key; returns whether it wrote. Throws
  /// errc::unsupported if the file system has no hard links.
  [[nodiscard]] bool create(std::string_view key, bytes_view bytes) const;

  /// A link to a directory above itself is left out: what lies there is listed already. A stop ends
  /// it with errc::canceled.
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix,
                                              const std::stop_token& stop = {}) const;

  void remove(std::string_view key) const;

  [[nodiscard]] std::string url(std::string_view key) const { return join_path(root_, key); }

 private:
  struct pending;

  using directory_id = std::pair<dev_t, ino_t>;

  static std::size_t read_state(const detail::unique_fd& fd, const detail::file_state& before,
                                std::uint64_t offset, mutable_bytes into, const std::string& path);

  /// Adds what lies in the directory `key`, which ends with `/` or is the root. `above`: those that
  /// lead to it.
  void list_into(const std::string& key, std::string_view prefix, const std::stop_token& stop,
                 std::vector<directory_id>& above, std::vector<object_info>& found) const;

  [[nodiscard]] static std::string join_path(const std::string& root, std::string_view key);

  [[nodiscard]] static bool is_temporary(std::string_view name) {
    return name.starts_with(".mdstream-") && name.ends_with(".tmp");
  }

  [[nodiscard]] std::string path_of(std::string_view key) const;

  /// Writes a file. A directory that is made for it is flushed too, when it has its own name and
  /// those above have theirs.
  void replace(const std::string& path, bytes_view bytes, detail::durability wanted) const;

  void will_flush(const std::string& path) const;

  /// Flushes the files written since the last flush and the directories that name them.
  void flush() const;

  /// Removes a directory beneath the root that holds no object, and those above it: else listings
  /// would walk through all that there ever were. What writers that were killed left there goes
  /// too.
  void remove_directories(std::string path) const;

  /// Whether a directory held nothing but temporary files without a writer, which are gone then.
  static bool remove_left_behind(const std::string& directory);

  std::string root_;
  std::shared_ptr<pending> unflushed_;
};

static_assert(blocking_store<local> && openable_store<local>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/local.ipp>
#endif
