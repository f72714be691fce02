#pragma once

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/source/detail/kept_scans.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>

#include <cstddef>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE kept_scans::kept_scans(opened_store store, raw::options about,
                                       std::uint64_t every_bytes)
    : store_(std::move(store)), about_(std::move(about)), every_bytes_(every_bytes) {
  run_ = hex_digits(random_bits());
  for (const std::string& key : keys()) {
    try {
      const std::vector<std::byte> text = read_all(store_, key);
      for (raw::detail::scan_record& each : raw::detail::parse_scan_records(as_text(text), about_))
        known_.insert_or_assign({each.file.key, each.stretch}, std::move(each));
    } catch (const error& e) {
      if (e.code() != errc::corrupt && e.code() != errc::not_found) throw;
    }
  }
}

MDSTREAM_INLINE std::optional<raw::detail::scan_record> kept_scans::take(
    const raw::detail::listed_object& file, const std::optional<raw::detail::listed_object>& beside,
    std::uint64_t stretch) {
  const auto found = known_.find({file.key, stretch});
  if (found == known_.end() || found->second.file != file || found->second.beside != beside)
    return std::nullopt;
  return std::move(known_.extract(found).mapped());
}

MDSTREAM_INLINE void kept_scans::add(const raw::detail::scan_record& each, std::uint64_t bytes) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (pending_.empty()) pending_ = raw::detail::scan_records_head(about_);
    raw::detail::append_scan_record(pending_, each);
    pending_bytes_ += bytes + bytes_of_a_request;
    if (pending_bytes_ < every_bytes_) return;
    text = std::exchange(pending_, {});
    pending_bytes_ = 0;
  }
  write(text);
}

MDSTREAM_INLINE void kept_scans::flush() {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    text = std::exchange(pending_, {});
  }
  if (!text.empty()) write(text);
}

MDSTREAM_INLINE std::vector<std::string> kept_scans::keys() const {
  std::vector<std::string> out;
  try {
    for (const object_info& each : store_.list(directory)) out.push_back(each.key);
  } catch (const error& e) {
    if (e.code() != errc::not_found && e.code() != errc::unsupported) throw;
  }
  return out;
}

MDSTREAM_INLINE void kept_scans::write(const std::string& text) {
  std::string key;
  {
    const std::lock_guard lock(mutex_);
    key = std::string(directory) + run_ + '-' + std::to_string(written_++) + ".jsonl";
  }
  store_.write(key, as_bytes(text));
}

}  // namespace mdstream::inline v0::detail
