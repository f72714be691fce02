#pragma once

/// The live processes of a cache directory: each holds a small file there under an exclusive lock
/// for its life. A file whose lock can be had belongs to a process that is gone.

#include <mdstream/cache/file_lock.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/store/file.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// What a process says of itself.
struct member_facts {
  std::uint64_t limit = 0;        ///< bytes; 0: none
  std::uint64_t need = 0;         ///< bytes of shards that it may pin at one time
  std::uint64_t reserved = 0;     ///< bytes that its downloads in progress will take
  std::uint64_t fingerprint = 0;  ///< of its order; 0: unknown
  std::uint64_t cursor = 0;       ///< its place in that order
};

/// What the others say together.
struct member_sums {
  std::size_t alive = 0;             ///< other processes
  std::uint64_t smallest_limit = 0;  ///< 0: none has one
  std::uint64_t needs = 0;
  std::uint64_t reserved = 0;
  bool found_dead = false;
};

/// One process's own file, and the view of the others'. Calls other than `set_cursor` are made
/// under the directory lock, which keeps a new file from being seen before it is locked.
class cache_members {
 public:
  /// Makes and locks this process's file in `directory`.
  /// `streams` are the keys of the directories that it fetches shards into.
  cache_members(std::string directory, const member_facts& facts,
                std::span<const std::uint64_t> streams)
      : directory_(std::move(directory)),
        id_(std::to_string(::getpid()) + '-' + detail::unique_name()),
        path_(directory_ + '/' + id_) {
    file_ = detail::open_file(path_, O_RDWR | O_CREAT | O_EXCL);
    detail::lock_file(file_.get(), lock_kind::exclusive, path_);
    update(facts);
    detail::write_at(file_.get(), sizeof(record), std::as_bytes(streams), path_);
  }
  cache_members(const cache_members&) = delete;
  cache_members& operator=(const cache_members&) = delete;
  ~cache_members() { ::unlink(path_.c_str()); }

  /// Begins the names of this process's temporary files.
  [[nodiscard]] const std::string& id() const noexcept { return id_; }

  /// False after the directory was deleted.
  [[nodiscard]] bool listed() const noexcept { return detail::is_linked(file_.get()); }

  void update(const member_facts& facts) {
    const record text{magic,          facts.limit,       facts.need,
                      facts.reserved, facts.fingerprint, facts.cursor};
    detail::write_at(file_.get(), 0, std::as_bytes(std::span(&text, 1)), path_);
  }

  /// Reads the files of the others and removes those of the dead, with what `forget(id)` removes.
  template <class Forget>
  [[nodiscard]] member_sums survey(Forget forget) const {
    member_sums sums;
    for_each_other([&](const std::string& name, const std::string& path, int fd) {
      if (detail::try_lock_file(fd, lock_kind::exclusive, path)) {
        forget(std::string_view(name));
        ::unlink(path.c_str());
        sums.found_dead = true;
        return;
      }
      const member_facts facts = read(fd, path);
      ++sums.alive;
      sums.needs += facts.need;
      sums.reserved += facts.reserved;
      if (facts.limit != 0) {
        sums.smallest_limit =
            sums.smallest_limit == 0 ? facts.limit : std::min(sums.smallest_limit, facts.limit);
      }
    });
    return sums;
  }

  /// The keys of the directories that other processes use, sorted.
  [[nodiscard]] std::vector<std::uint64_t> streams_of_others() const {
    std::vector<std::uint64_t> keys;
    for_each_other([&](const std::string&, const std::string& path, int fd) {
      const std::uint64_t bytes = detail::file_size(fd, path);
      if (bytes <= sizeof(record)) return;
      std::vector<std::uint64_t> found((bytes - sizeof(record)) / sizeof(std::uint64_t));
      const std::size_t got =
          detail::read_at(fd, sizeof(record), std::as_writable_bytes(std::span(found)), path);
      keys.insert(keys.end(), found.begin(),
                  found.begin() + static_cast<std::ptrdiff_t>(got / sizeof(std::uint64_t)));
    });
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  /// The smallest cursor among the other processes of this order; `own` when there is none.
  [[nodiscard]] std::uint64_t slowest_cursor(std::uint64_t fingerprint, std::uint64_t own) const {
    std::uint64_t slowest = own;
    for_each_other([&](const std::string&, const std::string& path, int fd) {
      const member_facts facts = read(fd, path);
      if (facts.fingerprint == fingerprint) slowest = std::min(slowest, facts.cursor);
    });
    return slowest;
  }

 private:
  static constexpr std::uint64_t magic = 0x31656d6d2d73646d;  // "mds-mme1"
  struct record {
    std::uint64_t magic, limit, need, reserved, fingerprint, cursor;
  };

  [[nodiscard]] static member_facts read(int fd, const std::string& path) {
    record text{};
    const std::size_t got =
        detail::read_at(fd, 0, std::as_writable_bytes(std::span(&text, 1)), path);
    if (got != sizeof text || text.magic != magic) return {};
    return {text.limit, text.need, text.reserved, text.fingerprint, text.cursor};
  }

  template <class Visit>
  void for_each_other(Visit visit) const {
    std::error_code failure;
    std::filesystem::directory_iterator at(directory_, failure);
    for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
      const std::string name = at->path().filename().native();
      if (name == id_) continue;
      const std::string path = directory_ + '/' + name;
      const unique_fd fd = detail::try_open(path, O_RDWR);
      if (fd) visit(name, path, fd.get());  // gone meanwhile: it left
    }
    if (failure) throw system_failure(failure.value(), "cannot list", directory_);
  }

  std::string directory_;
  std::string id_;
  std::string path_;
  unique_fd file_;
};

}  // namespace mdstream::inline v0
