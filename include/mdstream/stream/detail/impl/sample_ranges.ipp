#pragma once

#include <mdstream/async/detail/event.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/stream/detail/sample_ranges.hpp>
#include <mdstream/version.hpp>

#include <new>
#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool sample_ranges::serves(sample_location at) {
  if (!from_.cache().serves_ranges(at.shard)) return false;
  const std::uint64_t whole = from_.cache().footprint(at.shard);
  const std::uint64_t mean = whole / from_.locate().shard_samples(at.shard);
  const std::lock_guard lock(mutex_);
  return choice_.by_range(at.shard, whole, mean + table_entry, 2);
}

MDSTREAM_INLINE void sample_ranges::async_read(sample_location at, std::stop_token stop,
                                               diagnostics& where, handler done) const {
  auto call = std::make_shared<reading>(at, std::move(stop), where, std::move(done));
  from_.cache().async_read_remote(
      at.shard, table_entry / 2 * (1 + at.index), call->offsets, call->stop, where,
      [this, call](std::error_code code, std::size_t got) { found_offsets(call, code, got); });
}

MDSTREAM_INLINE sample_ranges::bytes_ptr sample_ranges::read(sample_location at) const {
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

MDSTREAM_INLINE void sample_ranges::found_offsets(const std::shared_ptr<reading>& call,
                                                  std::error_code code, std::size_t got) const {
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
    return fail(*call, errc::out_of_memory);
  }
  if (begin == end) return call->done({}, std::move(call->bytes));
  from_.cache().async_read_remote(call->at.shard, begin, *call->bytes, call->stop, call->where,
                                  [this, call](std::error_code failure, std::size_t read) {
                                    found_bytes(*call, failure, read);
                                  });
}

MDSTREAM_INLINE void sample_ranges::found_bytes(reading& call, std::error_code code,
                                                std::size_t got) const {
  if (code) return fail(call, code);
  if (got != call.bytes->size()) {
    call.where = {.what = "the shard is shorter than its offsets say"};
    call.where.sample = call.at.index;
    return fail(call, errc::corrupt);
  }
  call.done({}, std::move(call.bytes));
}

MDSTREAM_INLINE void sample_ranges::fail(reading& call, std::error_code code) const {
  call.where = from_.placed(std::move(call.where), call.at.shard);
  call.done(code, nullptr);
}

}  // namespace mdstream::inline v0::detail
