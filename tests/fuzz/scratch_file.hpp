#pragma once

// For what is read from a file: the input, in a directory of this process.

#include <mdstream/core/bytes.hpp>
#include <mdstream/store/detail/file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace fuzz {

/// A directory of this process for one file.
class scratch_file {
 public:
  /// `name`: of the file in the directory; it may lie in one below that.
  explicit scratch_file(const std::string& name) {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    path_ = directory_ + '/' + name;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  ~scratch_file() { std::filesystem::remove_all(directory_); }

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// The file with these bytes, open for reading and writing.
  mdstream::detail::unique_fd write(std::string_view bytes) const {
    auto file = mdstream::detail::open_file(path_, O_RDWR | O_CREAT | O_TRUNC);
    mdstream::detail::write_at(file.get(), 0, mdstream::as_bytes(bytes), path_);
    return file;
  }

 private:
  std::string directory_ = "/tmp/mdstream-fuzz-XXXXXX";
  std::string path_;
};

}  // namespace fuzz
