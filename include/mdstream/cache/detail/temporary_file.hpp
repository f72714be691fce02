#pragma once

/// A file in the making: room on the disk taken in advance, renamed to its name when it is
/// complete.

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/store/detail/file.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

/// A new file of a fixed size. Its blocks are reserved when it is made, so that a full disk is an
/// error there (`errc::no_space`) and not a signal later. A file that was not published is deleted
/// with its object.
///
/// Its bytes come in one of two ways. Those that arrive piece by piece are `put`: the page cache
/// takes in pieces of some hundred KiB as large ones, and each byte is written once. What needs
/// memory to write to takes `memory` before anything else; the file is filled with zeros by large
/// writes then, because a page fault for every 4 KiB of a file without content costs four times
/// as much as both together (docs/notes/epoch.md).
class temporary_file {
 public:
  /// Creates `path`, which must not exist, with `size` bytes.
  temporary_file(std::string path, std::size_t size);
  temporary_file(temporary_file&& other) noexcept;
  temporary_file& operator=(temporary_file&& other) noexcept;
  ~temporary_file();

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The file as memory to write to, of zeros at first. It stays where it is while the file is
  /// moved, until it is cut off, published or deleted. Not after `put` or `view`.
  [[nodiscard]] mutable_bytes memory();

  /// Writes `bytes` at `offset`; together they end within the file, or where `resize` says later.
  /// Different places may be written from several threads at a time.
  void put(std::uint64_t offset, bytes_view bytes) const {
    detail::write_at(fd_.get(), offset, bytes, path_);
  }

  /// The file for reading, mapped from the first call on. Sees what is `put` later, too.
  [[nodiscard]] bytes_view view();

  /// Makes the file end at `size` bytes: no more than it has, once it is mapped.
  void resize(std::size_t size);

  /// Gives the file its final name, replacing what had it, and returns it mapped for reading.
  [[nodiscard]] file_mapping publish(const std::string& path) &&;

 private:
  void map(int protection);

  void fill() const;

  std::string path_;
  std::size_t size_ = 0;
  unique_fd fd_;
  std::byte* base_ = nullptr;  // of the mapping, where there is one
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/temporary_file.ipp>
#endif
