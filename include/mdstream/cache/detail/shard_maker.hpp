#pragma once

/// Shards that no remote holds as files: they are made here, of ranges of its objects.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/store/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// Bytes of one version of an object.
struct object_range {
  std::string key{};  ///< relative to the stream's remote
  object_version version{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// One shard in the making. Calls come one after the other, from threads of the pool; none blocks.
/// What they throw ends the fetch.
class shard_making {
 public:
  virtual ~shard_making() = default;

  /// What has to be read next, side by side; nothing: all is there.
  [[nodiscard]] virtual std::vector<object_range> next() = 0;
  /// Takes the bytes of what `next` asked for, in its order.
  virtual void take(std::vector<part_of_pages> bytes) = 0;
  /// Throws errc::corrupt, naming both versions, where an object that was asked for is another by
  /// now.
  virtual void check(const object_range& asked, const object_version& now) const = 0;
  /// Gives the shard in MDS form to `take`: what lies behind its header in its order, and then the
  /// header, which begins at 0. Once, when `next` returns nothing.
  virtual void finish(const shard_taker& take) = 0;
};

/// Makes the shards of one stream. The index that goes with it says how many samples each has; its
/// sizes are estimates. Thread-safe.
class shard_maker {
 public:
  virtual ~shard_maker() = default;
  [[nodiscard]] virtual std::unique_ptr<shard_making> begin(std::uint32_t shard) const = 0;
  /// Where each shard is one range of an object, in which its samples lie as they do in an MDS
  /// shard, how many bytes apart they begin; 0: shards have to be made.
  [[nodiscard]] virtual std::uint64_t step() const = 0;
};

}  // namespace mdstream::inline v0::detail
