#pragma once

#include <mdstream/store/memory.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace mdstream::inline v0::store {

MDSTREAM_INLINE std::uint64_t memory::size(std::string_view key) const {
  const std::shared_lock lock(shared_->mutex);
  return find(key).size();
}

MDSTREAM_INLINE std::size_t memory::read(std::string_view key, std::uint64_t offset,
                                         mutable_bytes into) const {
  const std::shared_lock lock(shared_->mutex);
  const std::vector<std::byte>& object = find(key);
  if (offset >= object.size()) return 0;
  const bytes_view rest = bytes_view(object).subspan(static_cast<std::size_t>(offset));
  const std::size_t count = std::min(into.size(), rest.size());
  std::copy_n(rest.begin(), count, into.begin());
  return count;
}

MDSTREAM_INLINE void memory::write(std::string_view key, bytes_view bytes) const {
  require_safe_key(key, url(""));
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  const std::unique_lock lock(shared_->mutex);
  shared_->objects.insert_or_assign(std::string(key), std::move(copy));
}

MDSTREAM_INLINE bool memory::create(std::string_view key, bytes_view bytes) const {
  require_safe_key(key, url(""));
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  const std::unique_lock lock(shared_->mutex);
  return shared_->objects.try_emplace(std::string(key), std::move(copy)).second;
}

MDSTREAM_INLINE std::vector<object_info> memory::list(std::string_view prefix) const {
  std::vector<object_info> found;
  const std::shared_lock lock(shared_->mutex);
  for (auto at = shared_->objects.lower_bound(prefix);
       at != shared_->objects.end() && at->first.starts_with(prefix); ++at) {
    found.push_back({.key = at->first, .bytes = at->second.size()});
  }
  return found;
}

MDSTREAM_INLINE void memory::remove(std::string_view key) const {
  require_safe_key(key, url(""));
  const std::unique_lock lock(shared_->mutex);
  if (const auto at = shared_->objects.find(key); at != shared_->objects.end()) {
    shared_->objects.erase(at);
  }
}

MDSTREAM_INLINE std::string memory::url(std::string_view key) const {
  std::string text = "(memory)";
  if (!key.empty()) text.append("/").append(key);
  return text;
}

MDSTREAM_INLINE const std::vector<std::byte>& memory::find(std::string_view key) const {
  require_safe_key(key, url(""));
  const auto at = shared_->objects.find(key);
  if (at == shared_->objects.end()) {
    throw error(errc::not_found, {.what = "there is no such object", .url = url(key)});
  }
  return at->second;
}

}  // namespace mdstream::inline v0::store
