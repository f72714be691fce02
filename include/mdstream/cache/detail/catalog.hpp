#pragma once

/// The shards of all streams of a cache under one numbering, and where their files lie.

#include <mdstream/cache/detail/shard_facts.hpp>
#include <mdstream/core/detail/shard_numbers.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// What a file is checked by; without a name nothing checks it.
struct known_digest {
  std::string hash{};  ///< "xxh64"
  std::string hex{};

  [[nodiscard]] bool empty() const noexcept { return hash.empty(); }
};

/// A file of a shard, raw and compressed, as the index names it.
struct shard_file {
  std::string raw_name{};
  std::uint64_t raw_bytes{};
  known_digest raw_digest{};
  std::string zip_name{};  ///< empty: the shard has no compressed form
  std::uint64_t zip_bytes{};
  known_digest zip_digest{};
  std::string compression{};  ///< codec and level of the compressed form
  /// It is made here (`shard_maker`): its size is an estimate, and its file ends with a seal.
  bool is_made = false;

  [[nodiscard]] bool zipped() const noexcept { return !zip_name.empty(); }
};

/// The files of one shard: its data, and the meta file that shards of rows have beside it. They are
/// fetched and evicted together, the meta file first and last: where the data is, so is it.
struct shard_files : shard_file {
  std::optional<shard_file> meta{};

  /// Whether there is something to check the raw files by: what the index records, or a seal.
  [[nodiscard]] bool can_check() const noexcept;
};

struct shard_sizes {
  std::uint64_t raw = 0;
  std::uint64_t zip = 0;
};

/// What the catalog knows of one stream.
struct catalog_stream {
  std::string name{};
  std::string directory{};
  bool has_remote{};
  std::string in_place{};  ///< as in `cache_stream`; such a stream counts as one without a remote
  bool keep_zip{};
  std::uint32_t shards{};
  std::function<shard_files(std::uint32_t)> files{};  ///< by number in the stream; thread-safe
  std::function<shard_sizes(std::uint32_t)> sizes{};  ///< the same without names: cheap
  std::uint64_t version{};  ///< of the index; 0: nobody settled whose shards the directory holds
  std::int64_t adopted{};   ///< what was written there before is others', see `stream_origin`
  std::uint64_t key{};      ///< the same in every process that uses the same directory
  std::uint32_t first{};    ///< number of its first shard in the cache
};

/// Immutable after it was made; thread-safe. A look-up is a binary search over the streams.
class shard_catalog {
 public:
  /// Stream keys come from the directories relative to `root`.
  shard_catalog(std::string_view root, std::vector<catalog_stream> streams,
                const boot_identity& boot = boot_identity::present());

  [[nodiscard]] std::uint32_t shards() const noexcept { return numbers_.shards(); }
  [[nodiscard]] const std::vector<catalog_stream>& streams() const noexcept { return streams_; }

  [[nodiscard]] std::size_t stream_number(std::uint32_t shard) const noexcept {
    return numbers_.stream_of(shard);
  }
  [[nodiscard]] const catalog_stream& stream_of(std::uint32_t shard) const noexcept {
    return streams_[stream_number(shard)];
  }

  [[nodiscard]] shard_files files(std::uint32_t shard) const;

  [[nodiscard]] static std::string path(const catalog_stream& stream, std::string_view name) {
    return stream.directory + '/' + std::string(name);
  }

  /// Bytes that the shard takes on the disk.
  [[nodiscard]] std::uint64_t footprint(std::uint32_t shard) const;
  [[nodiscard]] static std::uint64_t footprint(const catalog_stream& stream, std::uint32_t local);

  /// Of the streams that have a remote: bytes of the largest shard, and of all together.
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Bytes that any so many of these shards take together, at most. O(shards).
  [[nodiscard]] std::uint64_t most_bytes_of(std::uint64_t shards) const;

  /// Names stream and shard in a message.
  void locate(std::uint32_t shard, diagnostics& where) const;

  /// What is known of the files of a stream.
  [[nodiscard]] detail::shard_facts facts(const catalog_stream& stream) const {
    return {stream.directory, stream.version, boot_};
  }

  /// The key of the stream whose directory is `relative` to the root.
  [[nodiscard]] static std::uint64_t key_of(std::string_view relative) {
    return fnv1a().add(relative).value();
  }

  /// The rest of `directory` beneath `root`; the whole of it when it lies elsewhere.
  [[nodiscard]] static std::string_view relative_to(std::string_view root,
                                                    std::string_view directory);

  [[nodiscard]] static bool lies_in(std::string_view root, std::string_view directory);

 private:
  std::vector<catalog_stream> streams_;
  boot_identity boot_;
  shard_numbers numbers_;
  std::uint64_t largest_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/catalog.ipp>
#endif
