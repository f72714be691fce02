#pragma once

/// Which directories of a cache shards are fetched into, by any process, now or once: what lies
/// there can be fetched again. `<root>/.mdstream/streams` names each, with a zero byte after it.

#include <mdstream/cache/file_lock.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/store/file.hpp>
#include <mdstream/store/store.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

/// A whole file; empty where there is none.
[[nodiscard]] inline std::string read_text(const std::string& path) {
  const unique_fd fd = try_open(path, O_RDONLY);
  if (!fd) return {};
  std::string text(static_cast<std::size_t>(file_size(fd.get(), path)), '\0');
  text.resize(read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), path));
  return text;
}

}  // namespace detail

/// Reads the file anew with each call. Changes are made under the directory lock.
class registered_streams {
 public:
  /// `root`: the cache's directory, normal and without a closing slash.
  explicit registered_streams(std::string root)
      : root_(std::move(root)), file_(root_ + "/.mdstream/streams") {}

  /// Relative to the root where they lie in it, else absolute; sorted. What leaves the root is left
  /// out: others may have written the file.
  [[nodiscard]] std::vector<std::string> paths() const {
    std::vector<std::string> all = split(detail::read_text(file_));
    std::erase_if(all, [](const std::string& path) {
      return !path.empty() && !path.starts_with('/') && !key_is_safe(path);
    });
    return all;
  }

  [[nodiscard]] std::string directory_of(const std::string& path) const {
    if (path.starts_with('/')) return path;
    return path.empty() ? root_ : root_ + '/' + path;
  }

  /// Adds those that are not there yet.
  void add(const std::vector<std::string>& wanted) const {
    std::string text = detail::read_text(file_);
    text.resize(text.rfind('\0') + 1);  // a process died while it wrote what is cut off here
    const std::vector<std::string> known = split(text);
    const std::size_t before = text.size();
    for (const std::string& path : wanted) {
      if (!std::binary_search(known.begin(), known.end(), path)) text.append(path).push_back('\0');
    }
    if (text.size() == before) return;
    const unique_fd fd = detail::open_file(file_, O_RDWR | O_CREAT);
    detail::share_as_parent(file_, fd.get());
    detail::write_at(fd.get(), before, as_bytes(std::string_view(text).substr(before)), file_);
  }

 private:
  [[nodiscard]] static std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> found;
    for (std::size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
      found.emplace_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string root_;
  std::string file_;
};

}  // namespace mdstream::inline v0
