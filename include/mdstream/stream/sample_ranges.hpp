#pragma once

/// Samples of shards that are not on this machine, by ranges of the objects that hold them.

#include <mdstream/async/event.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/schedule/range_or_whole.hpp>
#include <mdstream/stream/shard_locator.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Of a raw MDS shard the two offsets of the sample are read and then its bytes, and nothing is put
/// on the disk. Thread-safe. `Corpus` has to outlive this and what it began.
template <class Corpus>
class sample_ranges {
 public:
  using bytes_ptr = std::shared_ptr<std::vector<std::byte>>;
  using handler = unique_function<void(std::error_code, bytes_ptr)>;

  /// `request_bytes`: see `dataset_options::range_request_cost`; not 0.
  sample_ranges(const Corpus& from, std::uint64_t request_bytes)
      : from_(from), choice_(request_bytes) {}

  /// Whether this sample, whose shard is not mapped, is to be read by itself.
  [[nodiscard]] bool serves(sample_location at) {
    if (!from_.cache().serves_ranges(at.shard)) return false;
    const std::uint64_t whole = from_.cache().footprint(at.shard);
    const std::uint64_t mean = whole / from_.locate().shard_samples(at.shard);
    const std::lock_guard lock(mutex_);
    return choice_.by_range(at.shard, whole, mean + table_entry, 2);
  }

  /// Reads the sample. Completes exactly once, on any thread; `where` stays until then.
  /// `errc::corrupt` for offsets that do not fit.
  void async_read(sample_location at, std::stop_token stop, diagnostics& where,
                  handler done) const {
    auto call = std::make_shared<reading>(at, std::move(stop), where, std::move(done));
    from_.cache().async_read_remote(
        at.shard, table_entry / 2 * (1 + at.index), call->offsets, call->stop, where,
        [this, call](std::error_code code, std::size_t got) { found_offsets(call, code, got); });
  }

  /// The same, waiting. Throws. Never on a thread of the runtime.
  [[nodiscard]] bytes_ptr read(sample_location at) const {
    diagnostics where;
    std::error_code code;
    bytes_ptr found;
    one_time_event finished;
    async_read(at, {}, where, [&](std::error_code failure, bytes_ptr bytes) {
      code = failure;
      found = std::move(bytes);
      finished.set();
    });
    finished.wait();
    if (code) throw error(code, std::move(where));
    return found;
  }

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
                     std::size_t got) const {
    if (code) return fail(*call, code);
    const auto begin = load<std::uint32_t>(call->offsets);
    const auto end = load<std::uint32_t>(call->offsets + sizeof begin);
    const std::uint64_t table =
        sizeof begin * (2 + std::uint64_t{from_.locate().shard_samples(call->at.shard)});
    if (got != table_entry || begin < table || end < begin ||
        end > from_.cache().footprint(call->at.shard)) {
      call->where = {.what = "the offsets of the sample do not fit the shard"};
      call->where.sample = call->at.index;
      return fail(*call, errc::corrupt);
    }
    try {
      call->bytes->resize(end - begin);
    } catch (const std::bad_alloc&) {
      call->where = {.what = "there is no memory for the sample's " + std::to_string(end - begin) +
                             " bytes"};
      return fail(*call, errc::corrupt);
    }
    if (begin == end) return call->done({}, std::move(call->bytes));
    from_.cache().async_read_remote(call->at.shard, begin, *call->bytes, call->stop, call->where,
                                    [this, call](std::error_code failure, std::size_t read) {
                                      found_bytes(*call, failure, read);
                                    });
  }

  void found_bytes(reading& call, std::error_code code, std::size_t got) const {
    if (code) return fail(call, code);
    if (got != call.bytes->size()) {
      call.where = {.what = "the shard is shorter than its offsets say"};
      call.where.sample = call.at.index;
      return fail(call, errc::corrupt);
    }
    call.done({}, std::move(call.bytes));
  }

  void fail(reading& call, std::error_code code) const {
    call.where = from_.placed(std::move(call.where), call.at.shard);
    call.done(code, nullptr);
  }

  const Corpus& from_;
  std::mutex mutex_;
  range_or_whole choice_;
};

}  // namespace mdstream::inline v0
