#pragma once

// Files on a disk, whose pages are dropped from memory and looked for there.

#include <mdstream/store/detail/file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/scratch.hpp"

namespace support {

using mdstream::detail::uninterrupted;  // a test of interrupted calls runs these, too

inline std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// Which pages of a file are in memory.
inline std::vector<bool> resident_pages(const std::string& path) {
  const std::size_t bytes = std::filesystem::file_size(path);
  const int fd = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  std::vector<unsigned char> pages((bytes + page_bytes() - 1) / page_bytes());
  const int failed = ::mincore(at, bytes, pages.data());
  ::munmap(at, bytes);
  if (failed != 0) throw std::runtime_error("mincore failed for " + path);
  std::vector<bool> out;
  for (const unsigned char page : pages) out.push_back((page & 1) != 0);
  return out;
}

/// How many pages of a file are in memory.
inline std::size_t resident(const std::string& path) {
  std::size_t out = 0;
  for (const bool page : resident_pages(path)) out += page ? 1 : 0;
  return out;
}

/// Drops those pages of a file that no process has touched in a mapping. Returns how many stay.
inline std::size_t drop_pages(const std::string& path) {
  const int fd = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (fd < 0 || uninterrupted([&] { return ::fdatasync(fd); }) != 0)
    throw std::runtime_error("cannot flush " + path);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  return resident(path);
}

/// A directory whose files are on a disk: pages can be dropped, and the kernel counts for a thread
/// what it reads of them. The first such one of the directory for temporary files, the working
/// directory and /var/tmp; throws where that is none of them.
inline std::unique_ptr<scratch_directory::scratch> disk_directory() {
  const auto is_on_disk = [](const std::string& file) {
    std::ofstream(file) << std::string(64 << 10, 'x');
    if (drop_pages(file) != 0) return false;
    struct rusage before{}, after{};
    ::getrusage(RUSAGE_THREAD, &before);
    std::ifstream(file).get();
    ::getrusage(RUSAGE_THREAD, &after);
    return after.ru_inblock > before.ru_inblock;
  };
  std::string tried;
  for (const std::string& beneath :
       {std::filesystem::temp_directory_path().native(), std::filesystem::current_path().native(),
        std::string("/var/tmp")}) {
    tried += ' ' + beneath;
    if (::access(beneath.c_str(), W_OK) != 0) continue;
    auto out = std::make_unique<scratch_directory::scratch>(beneath);
    if (is_on_disk(*out / "probe")) return out;
  }
  throw std::runtime_error(
      "this test reads from a disk, and none of these directories is on one, so that their pages "
      "can be dropped: name another by TMPDIR, or start it in one:" +
      tried);
}

}  // namespace support
