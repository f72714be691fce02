#pragma once

/// Scans that outlive a process: objects beside the index that is to be made of them.

#include <mdstream/raw/detail/scan_record.hpp>
#include <mdstream/store/opened_store.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Each object of them is written whole or not at all, under a name of its own. `add` may be called
/// from any thread.
class kept_scans {
 public:
  static constexpr std::string_view directory = "scans/";

  /// Reads what was kept by scans with the same settings. What is damaged is as if it were not
  /// there.
  kept_scans(opened_store store, raw::options about, std::uint64_t every_bytes);

  /// The scan of a stretch, if it is known, of these versions of its objects. Once for each.
  [[nodiscard]] std::optional<raw::detail::scan_record> take(
      const raw::detail::listed_object& file,
      const std::optional<raw::detail::listed_object>& beside, std::uint64_t stretch);

  /// Keeps a scan that `bytes` were read for: with others, when they are enough together.
  void add(const raw::detail::scan_record& each, std::uint64_t bytes);

  /// Keeps what is still to be kept: before a failure is told.
  void flush();

  /// Removes all: the index is made.
  void clear() const {
    for (const std::string& key : keys()) store_.remove(key);
  }

 private:
  static constexpr std::uint64_t bytes_of_a_request = std::uint64_t{1} << 18;

  [[nodiscard]] std::vector<std::string> keys() const;

  void write(const std::string& text);

  const opened_store store_;
  const raw::options about_;
  const std::uint64_t every_bytes_;
  std::string run_;
  std::map<std::pair<std::string, std::uint64_t>, raw::detail::scan_record> known_;
  std::mutex mutex_;
  std::string pending_;
  std::uint64_t pending_bytes_ = 0, written_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/kept_scans.ipp>
#endif
