#pragma once

/// Where a writer writes: the whole dataset or one part of it, and a copy on a local disk.

#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/patient_store.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/writer/options.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace mdstream::inline v0::detail {

/// The directory of a part: "part-00003-of-00008". It names the number of parts, so that those of
/// an earlier run of another size are never taken for this one's.
[[nodiscard]] std::string part_directory(std::uint64_t number, std::uint64_t of);

/// The text of a store's index, if there is one.
[[nodiscard]] std::optional<std::string> index_of(const patient_store& store);

class writer_place {
 public:
  /// Throws errc::invalid_argument if part.number >= part.of, or if keep_local is out or a URL.
  writer_place(opened_store out, const std::string& keep_local, writer_part part,
               retry_policy policy, const shared_retry_budget& budget);

  /// Where this writer's shards and index go.
  [[nodiscard]] const patient_store& store() const noexcept { return store_; }
  /// Gets the same files; empty: no copy.
  [[nodiscard]] const std::optional<patient_store>& copy() const noexcept { return copy_; }

  /// Throws errc::invalid_argument where parts are written and the whole dataset is there already,
  /// or would have to change, or was not written by as many parts.
  void require_free(existing_dataset mode);

  /// Whether the index of the whole dataset has as many shards of this part. That of one part is
  /// the whole's, and of others what `require_free` found.
  [[nodiscard]] bool whole_has(std::uint64_t shards) const noexcept;

  /// Writes the index of the whole dataset if all parts have their own. Reads these once more then:
  /// another part that grew meanwhile may have published before this.
  void publish_whole() const;

 private:
  [[nodiscard]] std::string merged_index() const;
  /// Throws if the index of the whole dataset has shards that are not of as many parts.
  void require_index_of_parts();
  [[nodiscard]] bool all_parts_finished() const;

  patient_store whole_;
  writer_part part_;
  patient_store store_;
  std::optional<patient_store> copy_;
  std::optional<std::uint64_t> shards_in_whole_;  // of this part; none: there was no index
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/writer/detail/impl/writer_place.ipp>
#endif
