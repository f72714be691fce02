#pragma once

#include <mdstream/version.hpp>
#include <mdstream/writer/detail/part_of_store.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE part_of_store::part_of_store(opened_store whole, const std::string& directory)
    : whole_(std::move(whole)), prefix_(directory + '/') {}

MDSTREAM_INLINE std::uint64_t part_of_store::size(std::string_view key) const {
  return whole_.size(whole_key(key));
}

MDSTREAM_INLINE std::size_t part_of_store::read(std::string_view key, std::uint64_t offset,
                                                mutable_bytes into) const {
  return whole_.read(whole_key(key), offset, into);
}

MDSTREAM_INLINE void part_of_store::write(std::string_view key, bytes_view bytes) const {
  whole_.write(whole_key(key), bytes);
}

MDSTREAM_INLINE void part_of_store::publish(std::string_view key, bytes_view bytes) const {
  whole_.publish(whole_key(key), bytes);
}

MDSTREAM_INLINE std::vector<object_info> part_of_store::list(std::string_view prefix) const {
  std::vector<object_info> out = whole_.list(whole_key(prefix));
  for (object_info& each : out) each.key.erase(0, prefix_.size());
  return out;
}

MDSTREAM_INLINE void part_of_store::remove(std::string_view key) const {
  whole_.remove(whole_key(key));
}

MDSTREAM_INLINE std::string part_of_store::url(std::string_view key) const {
  return whole_.url(whole_key(key));
}

MDSTREAM_INLINE std::string part_of_store::whole_key(std::string_view key) const {
  return prefix_ + std::string(key);
}

}  // namespace mdstream::inline v0::detail
