#pragma once

/// The live processes of a cache directory: each holds a small file there under an exclusive lock
/// for its life. A file whose lock can be had belongs to a process that is gone, if it is one of
/// this kernel: locks of other machines cannot be relied on.

#include <mdstream/cache/detail/file_lock.hpp>
#include <mdstream/cache/detail/machine.hpp>
#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/store/detail/file.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// What a process says of itself.
struct member_facts {
  std::uint64_t limit = 0;     ///< bytes; 0: none
  std::uint64_t need = 0;      ///< bytes of shards that it may pin while it waits for others
  std::uint64_t largest = 0;   ///< bytes of its largest shard
  std::uint64_t reserved = 0;  ///< bytes that its downloads in progress will take
};

/// A shard that a process reads soon.
struct published_use {
  std::uint64_t stream = 0;    ///< the stream's key
  std::uint32_t shard = 0;     ///< in its stream
  std::uint32_t distance = 0;  ///< in batches of that process from where it is
};

/// What the others say together.
struct member_sums {
  std::size_t alive = 0;             ///< other processes
  std::uint64_t smallest_limit = 0;  ///< 0: none has one
  std::uint64_t needs = 0;           ///< the sum
  std::uint64_t largest = 0;         ///< the largest
  std::uint64_t reserved = 0;
  bool found_dead = false;
};

/// One process's own file, and the view of the others'. Calls other than `publish` are made under
/// the directory lock, which keeps a new file from being seen before it is locked.
///
/// The file: a record, the keys of the streams, and the uses that were published last.
class cache_members {
 public:
  /// Makes and locks this process's file in `directory`.
  /// `streams` are the keys of the directories that it fetches shards into. Throws
  /// `errc::unsupported` where another machine uses the directory.
  cache_members(std::string directory, const member_facts& facts,
                std::span<const std::uint64_t> streams, detail::machine here = {});
  cache_members(const cache_members&) = delete;
  cache_members& operator=(const cache_members&) = delete;
  ~cache_members() { ::unlink(path_.c_str()); }

  /// Begins the names of this process's temporary files.
  [[nodiscard]] const std::string& id() const noexcept { return id_; }

  /// False after the directory was deleted.
  [[nodiscard]] bool listed() const noexcept { return detail::is_linked(file_.get()); }

  void update(const member_facts& facts);

  /// Tells the others what this process reads soon, in place of what was told before. A
  /// reader while this writes may see some of both.
  void publish(std::span<const published_use> uses);

  /// Reads the files of the others and removes those of the dead, with what `forget(id)` removes.
  [[nodiscard]] member_sums survey(const std::function<void(std::string_view id)>& forget) const;

  /// The keys of the directories that other processes use, sorted.
  [[nodiscard]] std::vector<std::uint64_t> streams_of_others() const;

  /// What the other processes told that they read soon.
  [[nodiscard]] std::vector<published_use> uses_of_others() const;

 private:
  static constexpr std::uint64_t magic = 0x34656d6d2d73646d;  // "mds-mme4"
  struct record {
    std::uint64_t magic, limit, need, largest, reserved, streams, boot, host;
    char name[64];  // of the machine
  };

  enum class origin { this_kernel, an_earlier_boot, another_machine };
  [[nodiscard]] origin origin_of(const record& of) const noexcept;

  void refuse_other_machines() const;
  static constexpr std::uint64_t most_items = std::uint64_t{1} << 24;  // a file of ours has fewer

  /// All zero where there is none.
  [[nodiscard]] static record read_record(int fd, const std::string& path);
  [[nodiscard]] static member_facts read(int fd, const std::string& path);

  /// Adds up to `most` whole items that lie from byte `at` on.
  template <class Item>
  static void read_items(int fd, const std::string& path, std::uint64_t at, std::uint64_t most,
                         std::vector<Item>& out);

  /// Calls `visit(name, path, descriptor)` for the file of each other member.
  void for_each_other(const std::function<void(const std::string& name, const std::string& path,
                                               int fd)>& visit) const;

  std::string directory_;
  detail::machine here_;
  std::string id_;
  std::string path_;
  unique_fd file_;
  std::uint64_t streams_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/members.ipp>
#endif
