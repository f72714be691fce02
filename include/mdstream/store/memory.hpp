#pragma once

/// Objects in memory, for tests and for data made on the fly.

#include <mdstream/store/store.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// A store whose copies all show the same objects. It has no URL: pass it as a value. Objects live
/// as long as any copy. Thread-safe; reads run side by side.
class memory {
 public:
  memory() : shared_(std::make_shared<contents>()) {}

  [[nodiscard]] std::uint64_t size(std::string_view key) const {
    const std::shared_lock lock(shared_->mutex);
    return find(key).size();
  }

  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const {
    const std::shared_lock lock(shared_->mutex);
    const std::vector<std::byte>& object = find(key);
    if (offset >= object.size()) return 0;
    const bytes_view rest = bytes_view(object).subspan(static_cast<std::size_t>(offset));
    const std::size_t count = std::min(into.size(), rest.size());
    std::copy_n(rest.begin(), count, into.begin());
    return count;
  }

  void write(std::string_view key, bytes_view bytes) const {
    require_safe_key(key, url(""));
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    const std::unique_lock lock(shared_->mutex);
    shared_->objects.insert_or_assign(std::string(key), std::move(copy));
  }

  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const {
    std::vector<object_info> found;
    const std::shared_lock lock(shared_->mutex);
    for (auto at = shared_->objects.lower_bound(prefix);
         at != shared_->objects.end() && at->first.starts_with(prefix); ++at) {
      found.push_back({.key = at->first, .bytes = at->second.size()});
    }
    return found;
  }

  void remove(std::string_view key) const {
    require_safe_key(key, url(""));
    const std::unique_lock lock(shared_->mutex);
    if (const auto at = shared_->objects.find(key); at != shared_->objects.end()) {
      shared_->objects.erase(at);
    }
  }

  [[nodiscard]] std::string url(std::string_view key) const {
    std::string text = "(memory)";
    if (!key.empty()) text.append("/").append(key);
    return text;
  }

 private:
  struct contents {
    std::shared_mutex mutex;
    std::map<std::string, std::vector<std::byte>, std::less<>> objects;
  };

  [[nodiscard]] const std::vector<std::byte>& find(std::string_view key) const {
    require_safe_key(key, url(""));
    const auto at = shared_->objects.find(key);
    if (at == shared_->objects.end()) {
      throw error(errc::not_found, {.what = "there is no such object", .url = url(key)});
    }
    return at->second;
  }

  std::shared_ptr<contents> shared_;
};

static_assert(blocking_store<memory>);

}  // namespace mdstream::inline v0::store
