#pragma once

#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/raw/detail/sample_sink.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE sample_sink::sample_sink(const options& about, const std::vector<column>& columns,
                                         std::string key, std::uint64_t size_hint,
                                         std::uint64_t samples_hint)
    : columns_(columns),
      layout_(layout_of(columns)),
      builder_(
          json::dump(mdstream::detail::mds_config(layout_, "", {}, 0), json::key_order::sorted),
          size_hint, samples_hint),
      encoder_(layout_),
      values_(layout_),
      key_(std::move(key)),
      null_value_(about.null_value),
      skip_bad_(about.skip_bad) {}

MDSTREAM_INLINE void sample_sink::add(std::span<const named_value> values) {
  encoder_.encode(values.data(), values.size());
  encoder_.copy_to(add_bytes(encoder_.size()));
}

MDSTREAM_INLINE std::byte* sample_sink::add_bytes(std::uint64_t bytes) {
  if (bytes > mdstream::detail::mds_shard_builder::max_bytes ||
      builder_.file_size() + 4 + bytes > mdstream::detail::mds_shard_builder::max_bytes)
    throw error(errc::unsupported,
                "the samples of one shard reach 4 GiB: set a smaller shard_bytes");
  return builder_.add(bytes);
}

MDSTREAM_INLINE void sample_sink::refuse(std::uint64_t byte, const error& e) {
  const bool is_bad = e.code() == errc::corrupt || e.code() == errc::invalid_argument;
  if (skip_bad_ && is_bad) {
    ++skipped_;
    return;
  }
  diagnostics where = e.where();
  where.url = key_;
  where.sample = samples();
  where.byte = byte + where.byte.value_or(0);
  throw error(e.code(), std::move(where));
}

}  // namespace mdstream::inline v0::raw::detail
