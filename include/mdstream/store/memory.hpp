#pragma once

/// Objects in memory, for tests and for data made on the fly.

#include <mdstream/store/store.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::store {

/// A store whose copies all show the same objects. It has no URL: pass it as a value. Objects live
/// as long as any copy. Thread-safe; reads run side by side. Throws `errc::not_found`, and
/// `errc::invalid_argument` for a key that is not safe.
///
///     const mds::store::memory objects;
///     mds::writer<> out({.out = objects, .columns = {{"text", "str"}}});
class memory {
 public:
  memory() : shared_(std::make_shared<contents>()) {}

  [[nodiscard]] std::uint64_t size(std::string_view key) const;

  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const;

  void write(std::string_view key, bytes_view bytes) const;

  /// Writes the object unless there is one of that key; returns whether it did.
  [[nodiscard]] bool create(std::string_view key, bytes_view bytes) const;

  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const;

  void remove(std::string_view key) const;

  [[nodiscard]] std::string url(std::string_view key) const;

 private:
  struct contents {
    std::shared_mutex mutex;
    std::map<std::string, std::vector<std::byte>, std::less<>> objects;
  };

  [[nodiscard]] const std::vector<std::byte>& find(std::string_view key) const;

  std::shared_ptr<contents> shared_;
};

static_assert(blocking_store<memory>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/memory.ipp>
#endif
