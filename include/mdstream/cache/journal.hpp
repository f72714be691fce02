#pragma once

/// What lies in a cache directory, as its processes tell each other: the bytes in use, and one
/// record for each shard that came or went.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/store/file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// What of a shard lies on the disk.
enum residency : std::uint8_t { absent = 0, raw_there = 1, zip_there = 2 };

struct journal_record {
  std::uint64_t stream = 0;  ///< key of the stream
  std::uint32_t shard = 0;   ///< number in the stream
  std::uint32_t there = 0;   ///< `residency` flags
};

/// The file `journal`: a header and records. Every call is made under the directory lock.
///
/// A transaction sets a mark in the header before it changes anything in the directory and clears
/// it after; who finds the mark set knows that a process died between, and counts anew.
class cache_journal {
 public:
  struct header {
    std::uint64_t magic = 0;
    std::uint64_t generation = 0;  ///< changes when the directory is counted anew
    std::uint64_t changing = 0;    ///< the mark
    std::uint64_t membership = 0;  ///< changes when processes come, go or change their minds
    std::uint64_t records = 0;
    std::uint64_t used = 0;      ///< bytes of complete files
    std::uint64_t reserved = 0;  ///< bytes that downloads in progress will take
  };

  explicit cache_journal(std::string path)
      : path_(std::move(path)), file_(detail::open_file(path_, O_RDWR | O_CREAT)) {
    detail::share_as_parent(path_, file_.get());
  }

  /// Reads the header. False when it is of no use: new, torn, or left in the middle of a change.
  [[nodiscard]] bool read() {
    header found;
    const std::size_t got =
        detail::read_at(file_.get(), 0, std::as_writable_bytes(std::span(&found, 1)), path_);
    if (got != sizeof found || found.magic != magic || found.changing != 0) return false;
    head = found;
    return true;
  }

  /// The header's membership, read without any lock.
  [[nodiscard]] std::uint64_t peek_membership() const noexcept {
    std::uint64_t value = 0;
    const ssize_t got = ::pread(file_.get(), &value, sizeof value, offsetof(header, membership));
    return got == sizeof value ? value : 0;
  }

  /// Begins anew, with no records.
  void restart(std::uint64_t used, std::uint64_t reserved) {
    head = {.magic = magic,
            .generation = detail::unique_number(),
            .changing = 1,
            .membership = detail::unique_number(),
            .records = 0,
            .used = used,
            .reserved = reserved};
    write_header();
  }

  /// Sets the mark.
  void begin_change() {
    if (head.changing != 0) return;
    head.changing = 1;
    write_header();
  }

  /// Clears it.
  void end_change() {
    if (head.changing == 0) return;
    head.changing = 0;
    write_header();
  }

  void append(const journal_record& record) {
    detail::write_at(file_.get(), sizeof(header) + head.records * sizeof record,
                     std::as_bytes(std::span(&record, 1)), path_);
    ++head.records;
  }

  /// The records from number `first` on.
  [[nodiscard]] std::vector<journal_record> records_from(std::uint64_t first) const {
    std::vector<journal_record> found(
        static_cast<std::size_t>(head.records - std::min(first, head.records)));
    const std::size_t got =
        detail::read_at(file_.get(), sizeof(header) + first * sizeof(journal_record),
                        std::as_writable_bytes(std::span(found)), path_);
    found.resize(got / sizeof(journal_record));
    return found;
  }

  header head{};

 private:
  static constexpr std::uint64_t magic = 0x31756f6a2d73646d;  // "mds-jou1"

  void write_header() {
    detail::write_at(file_.get(), 0, std::as_bytes(std::span(&head, 1)), path_);
  }

  std::string path_;
  unique_fd file_;
};

}  // namespace mdstream::inline v0
