#pragma once

/// The entries of a directory. The iterators of std::filesystem allocate in functions that are
/// noexcept: they end the process where memory has run out.

#include <mdstream/core/error.hpp>

#include <dirent.h>

#include <memory>
#include <string>

namespace mdstream::inline v0::detail {

/// Reads one directory, in the order that the file system gives. A directory that cannot be read
/// ends early; `check()` is for callers that have to know. Allocates nothing but in `check()`.
///
///     directory_reader entries(path);
///     while (const char* name = entries.next()) count(name);
///     entries.check(path);
class directory_reader {
 public:
  explicit directory_reader(const std::string& path) noexcept;

  /// The name of the next entry, other than `.` and `..`, valid until the next call; null at the
  /// end.
  [[nodiscard]] const char* next() noexcept;

  /// Why not all entries were read, an `errno` value; 0 if they were.
  [[nodiscard]] int failure() const noexcept { return failure_; }

  /// Throws the error of a directory that was not read to its end, which names it.
  void check(const std::string& path) const;

 private:
  struct closing {
    void operator()(DIR* open) const noexcept { ::closedir(open); }
  };

  std::unique_ptr<DIR, closing> open_;
  int failure_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/directory_reader.ipp>
#endif
