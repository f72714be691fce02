#pragma once

// Datasets, directories and stores for the tests of the cache.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mdstream/cache/detail/describe_streams.hpp>
#include <mdstream/cache/detail/shard_cache.hpp>
#include <mdstream/cache/options.hpp>
#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"

namespace cache_test {

namespace mds = mdstream;
namespace fs = std::filesystem;
using scratch_directory::scratch;
using namespace std::chrono_literals;

/// The bytes of shard `i`: every 8-byte word tells where it belongs.
inline std::vector<std::byte> shard_bytes(std::uint64_t seed, std::uint32_t i, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at < size; ++at) {
    const std::uint64_t word = (seed << 40) ^ (std::uint64_t{i} << 20) ^ (at / 8);
    bytes[at] = static_cast<std::byte>((word * 0x9e3779b97f4a7c15ULL) >> (8 * (at % 8)));
  }
  return bytes;
}

struct dataset_shape {
  std::uint32_t shards = 8;
  std::size_t bytes = 4096;
  bool zipped = false;
  bool hashed = true;
  std::uint64_t seed = 1;
};

/// A dataset that exists as an index and as bytes made on demand.
class dataset {
 public:
  explicit dataset(dataset_shape shape) : shape_(shape) {
    nlohmann::json shards = nlohmann::json::array();
    for (std::uint32_t i = 0; i < shape.shards; ++i) shards.push_back(shard_json(i));
    text_ = nlohmann::json{{"shards", shards}, {"version", 2}}.dump();
    index_ = std::make_unique<mds::dataset_index>(mds::dataset_index::parse(text_));
  }

  [[nodiscard]] const mds::dataset_index& index() const { return *index_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::vector<std::byte> raw(std::uint32_t i) const {
    return shard_bytes(shape_.seed, i, size_of(i));
  }
  [[nodiscard]] std::vector<std::byte> zip(std::uint32_t i) const {
    return mds::codec::zstd::open("zstd:1").compress(raw(i));
  }
  [[nodiscard]] static std::string name(std::uint32_t i, bool zipped) {
    return mds::shard_file_name(i, mds::shard_format::mds, false, zipped ? "zstd" : "");
  }
  [[nodiscard]] std::size_t size_of(std::uint32_t i) const { return shape_.bytes + 8 * (i % 3); }
  [[nodiscard]] std::uint32_t shards() const { return shape_.shards; }

  /// Writes shards and index to a store, below `prefix`.
  template <class Store>
  void put(const Store& store, const std::string& prefix = "") const {
    for (std::uint32_t i = 0; i < shape_.shards; ++i) {
      store.write(mds::join_key(prefix, name(i, shape_.zipped)), shape_.zipped ? zip(i) : raw(i));
    }
    store.write(mds::join_key(prefix, "index.json"), mds::as_bytes(text_));
  }

  [[nodiscard]] bool is_right(std::uint32_t i, mds::bytes_view bytes) const {
    const std::vector<std::byte> expected = raw(i);
    return std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end());
  }

 private:
  [[nodiscard]] nlohmann::json file_json(const std::string& name,
                                         const std::vector<std::byte>& bytes) const {
    nlohmann::json hashes = nlohmann::json::object();
    if (shape_.hashed) hashes["xxh64"] = mds::hash_of<mds::hash::xxh64>("xxh64", bytes);
    return {{"basename", name}, {"bytes", bytes.size()}, {"hashes", hashes}};
  }

  [[nodiscard]] nlohmann::json shard_json(std::uint32_t i) const {
    return {{"column_encodings", {"bytes"}},
            {"column_names", {"x"}},
            {"column_sizes", {nullptr}},
            {"compression", shape_.zipped ? nlohmann::json("zstd:1") : nlohmann::json()},
            {"format", "mds"},
            {"hashes", {"xxh64"}},
            {"raw_data", file_json(name(i, false), raw(i))},
            {"samples", 1},
            {"size_limit", nullptr},
            {"version", 2},
            {"zip_data", shape_.zipped ? file_json(name(i, true), zip(i)) : nlohmann::json()}};
  }

  dataset_shape shape_;
  std::string text_;
  std::unique_ptr<mds::dataset_index> index_;
};

using codecs = mds::any_codec<mds::codec::none, mds::codec::zstd>;
using hashes = mds::any_hash<mds::hash::xxh64>;

/// A cache of a program with these codecs and hashes.
struct cache : mds::detail::shard_cache {
  cache(mds::runtime& threads, mds::cache_options options, std::vector<mds::cache_stream> streams)
      : shard_cache(threads, std::move(options), std::move(streams),
                    mds::detail::codec_set::of<codecs>(), mds::detail::hash_set::of<hashes>()) {}
};

inline std::vector<mds::detail::catalog_stream> described(
    const std::vector<mds::cache_stream>& streams) {
  return mds::detail::describe_streams(streams, mds::detail::hash_set::of<hashes>());
}

/// One stream over a dataset, with pauses that suit a test.
inline mds::cache_stream stream_of(const dataset& data, const std::string& directory,
                                   std::optional<mds::opened_store> remote) {
  fs::create_directories(directory);
  // Once, and whole, as a loader puts it there: other processes are counting.
  if (!fs::exists(directory + "/index.json"))
    mds::store::local(directory).write("index.json", mds::as_bytes(data.text()));
  return {
      .name = "test", .directory = directory, .remote = std::move(remote), .index = &data.index()};
}

inline mds::cache_options options_of(const std::string& root, std::uint64_t limit = 0) {
  return {.root = root, .limit = limit, .retry_pause = 1ms, .room_timeout = 5s};
}

/// Shard files beneath a directory, by name.
inline std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string relative = entry.path().lexically_relative(directory).native();
    if (entry.is_regular_file() && relative.find(".mdstream/") == std::string::npos &&
        !relative.ends_with("index.json")) {
      names.push_back(relative);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::uint64_t bytes_in(const std::string& directory) {
  std::uint64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().native().find("/.mdstream/") == std::string::npos) {
      sum += entry.file_size();
    }
  }
  return sum;
}

inline std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const mds::bytes_view bytes = mds::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

inline void write_file(const std::string& path, mds::bytes_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace cache_test
