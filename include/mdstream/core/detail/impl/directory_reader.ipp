#pragma once

#include <mdstream/core/detail/directory_reader.hpp>
#include <mdstream/version.hpp>

#include <cerrno>
#include <cstring>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE directory_reader::directory_reader(const std::string& path) noexcept {
  do open_.reset(::opendir(path.c_str()));
  while (!open_ && errno == EINTR);
  if (!open_) failure_ = errno;
}

MDSTREAM_INLINE const char* directory_reader::next() noexcept {
  while (open_ && failure_ == 0) {
    errno = 0;  // the end leaves it as it is
    const dirent* const entry = ::readdir(open_.get());
    if (entry == nullptr) {
      failure_ = errno;
      break;
    }
    const char* const name = entry->d_name;
    if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) return name;
  }
  return nullptr;
}

MDSTREAM_INLINE void directory_reader::check(const std::string& path) const {
  if (failure_ != 0) throw system_failure(failure_, "cannot list", path);
}

}  // namespace mdstream::inline v0::detail
