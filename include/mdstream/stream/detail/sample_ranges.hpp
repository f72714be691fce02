#pragma once

/// Samples of shards that are not on this machine, by ranges of the objects that hold them.

#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/detail/range_or_whole.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/shard_locator.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Of a raw MDS shard the two offsets of the sample are read and then its bytes, and nothing is put
/// on the disk. Thread-safe. The corpus has to outlive this and what it began.
class sample_ranges {
 public:
  using bytes_ptr = std::shared_ptr<std::vector<std::byte>>;
  using handler = unique_function<void(std::error_code, bytes_ptr)>;

  /// `request_bytes`: see `dataset_options::range_request_cost`; not 0.
  sample_ranges(const corpus& from, std::uint64_t request_bytes)
      : from_(from), choice_(request_bytes) {}

  /// Whether this sample, whose shard is not mapped, is to be read by itself.
  [[nodiscard]] bool serves(sample_location at);

  /// Reads the sample. Completes exactly once, on any thread; `where` stays until then.
  /// `errc::corrupt` for offsets that do not fit.
  void async_read(sample_location at, std::stop_token stop, diagnostics& where, handler done) const;

  /// The same, waiting. Throws. Never on a thread of the runtime.
  [[nodiscard]] bytes_ptr read(sample_location at) const;

 private:
  static constexpr std::size_t table_entry = 2 * sizeof(std::uint32_t);  // two offsets

  struct reading {
    reading(sample_location sample, std::stop_token token, diagnostics& w, handler d)
        : at(sample), stop(std::move(token)), where(w), done(std::move(d)) {}
    sample_location at;
    std::stop_token stop;
    diagnostics& where;
    handler done;
    std::byte offsets[table_entry] = {};
    bytes_ptr bytes = std::make_shared<std::vector<std::byte>>();
  };

  void found_offsets(const std::shared_ptr<reading>& call, std::error_code code,
                     std::size_t got) const;

  void found_bytes(reading& call, std::error_code code, std::size_t got) const;

  void fail(reading& call, std::error_code code) const;

  const corpus& from_;
  std::mutex mutex_;
  range_or_whole choice_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/sample_ranges.ipp>
#endif
