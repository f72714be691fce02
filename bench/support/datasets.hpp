#pragma once

// What the benchmarks of the formats write.

#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/writer/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

namespace mds = mdstream;

/// A directory whose index is not flushed to the disk.
class cached_directory {
 public:
  explicit cached_directory(const std::string& root) : files_(root) {}
  std::uint64_t size(std::string_view key) const { return files_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mds::mutable_bytes into) const {
    return files_.read(key, at, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const { files_.write(key, bytes); }
  std::vector<mds::object_info> list(std::string_view prefix) const { return files_.list(prefix); }
  void remove(std::string_view key) const { files_.remove(key); }
  std::string url(std::string_view key) const { return files_.url(key); }

 private:
  mds::store::local files_;
};

template <class Schema>
using policies = mds::policies<Schema, cached_directory,
                               mds::any_codec<mds::codec::none, mds::codec::zstd>, mds::any_xxhash>;

template <class Schema>
using memory_policies = typename policies<Schema>::template with<mds::store::memory>;

/// Text of few words: what compresses about as English does.
inline std::vector<std::byte> text_bytes(std::size_t size) {
  std::mt19937 random(1);
  std::string out;
  while (out.size() < size)
    out += "word" + std::to_string(random() % 997) + (random() % 9 ? " " : ".\n");
  const auto bytes = mds::as_bytes(out).first(size);
  return {bytes.begin(), bytes.end()};
}

/// The shards that were written to a store.
inline std::vector<std::vector<std::byte>> objects_of(const mds::store::memory& store) {
  std::vector<std::vector<std::byte>> out;
  for (const auto& each : store.list("shard.")) out.push_back(mds::read_all(store, each.key));
  return out;
}

}  // namespace bench
