#pragma once

/// What lies in a cache directory, as its processes tell each other: the bytes in use, and one
/// record for each shard that came or went.

#include <mdstream/store/detail/file.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

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
/// it after. A process that finds the mark set counts anew, because another one died between.
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

  explicit cache_journal(std::string path);

  /// Reads the header. False when it is of no use: new, torn, without its
  /// records, or left in the middle of a change.
  [[nodiscard]] bool read();

  /// The header's membership, read without any lock.
  [[nodiscard]] std::uint64_t peek_membership() const noexcept;

  /// Begins anew, with no records.
  void restart(std::uint64_t used, std::uint64_t reserved);

  /// Sets the mark.
  void begin_change();

  /// Clears it.
  void end_change();

  void append(const journal_record& record);

  /// The records from number `first` on.
  [[nodiscard]] std::vector<journal_record> records_from(std::uint64_t first) const;

  header head{};

 private:
  static constexpr std::uint64_t magic = 0x31756f6a2d73646d;  // "mds-jou1"

  void write_header();

  std::string path_;
  unique_fd file_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/journal.ipp>
#endif
