#pragma once

#include <mdstream/cache/detail/journal.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cache_journal::cache_journal(std::string path)
    : path_(std::move(path)), file_(detail::open_file(path_, O_RDWR | O_CREAT)) {
  detail::share_as_parent(path_, file_.get());
}

MDSTREAM_INLINE bool cache_journal::read() {
  header found;
  const std::size_t got =
      detail::read_at(file_.get(), 0, std::as_writable_bytes(std::span(&found, 1)), path_);
  if (got != sizeof found || found.magic != magic || found.changing != 0) return false;
  // The header may have reached the disk before a loss of power, and its records not.
  const std::uint64_t bytes = detail::file_size(file_.get(), path_) - sizeof found;
  if (found.records > bytes / sizeof(journal_record)) return false;
  head = found;
  return true;
}

MDSTREAM_INLINE std::uint64_t cache_journal::peek_membership() const noexcept {
  std::uint64_t value = 0;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  const bool whole =
      detail::try_read_at(file_.get(), offsetof(header, membership), bytes) == sizeof value;
  return whole ? value : 0;
}

MDSTREAM_INLINE void cache_journal::restart(std::uint64_t used, std::uint64_t reserved) {
  head = {.magic = magic,
          .generation = detail::unique_number(),
          .changing = 1,
          .membership = detail::unique_number(),
          .records = 0,
          .used = used,
          .reserved = reserved};
  write_header();
}

MDSTREAM_INLINE void cache_journal::begin_change() {
  if (head.changing != 0) return;
  head.changing = 1;
  write_header();
}

MDSTREAM_INLINE void cache_journal::end_change() {
  if (head.changing == 0) return;
  head.changing = 0;
  write_header();
}

MDSTREAM_INLINE void cache_journal::append(const journal_record& record) {
  detail::write_at(file_.get(), sizeof(header) + head.records * sizeof record,
                   std::as_bytes(std::span(&record, 1)), path_);
  ++head.records;
}

MDSTREAM_INLINE std::vector<journal_record> cache_journal::records_from(std::uint64_t first) const {
  if (first >= head.records) return {};
  std::vector<journal_record> found(static_cast<std::size_t>(head.records - first));
  const std::size_t got =
      detail::read_at(file_.get(), sizeof(header) + first * sizeof(journal_record),
                      std::as_writable_bytes(std::span(found)), path_);
  found.resize(got / sizeof(journal_record));
  return found;
}

MDSTREAM_INLINE void cache_journal::write_header() {
  detail::write_at(file_.get(), 0, std::as_bytes(std::span(&head, 1)), path_);
}

}  // namespace mdstream::inline v0::detail
