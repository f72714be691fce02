#pragma once

#include <mdstream/cache/detail/registered_streams.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/store.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string read_text(const std::string& path) {
  const unique_fd fd = open_if_there(path, O_RDONLY);
  if (!fd) return {};
  std::string text(static_cast<std::size_t>(file_size(fd.get(), path)), '\0');
  text.resize(read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), path));
  return text;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::vector<std::string> registered_streams::paths() const {
  std::vector<std::string> all = split(detail::read_text(file_));
  std::erase_if(all, [](const std::string& path) {
    return !path.empty() && !path.starts_with('/') && !key_is_safe(path);
  });
  return all;
}

MDSTREAM_INLINE std::string registered_streams::directory_of(const std::string& path) const {
  if (path.starts_with('/')) return path;
  return path.empty() ? root_ : root_ + '/' + path;
}

MDSTREAM_INLINE void registered_streams::add(const std::vector<std::string>& wanted) const {
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

MDSTREAM_INLINE std::vector<std::string> registered_streams::split(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t end = text.find('\0'); end != std::string_view::npos; end = text.find('\0')) {
    found.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace mdstream::inline v0::detail
