#pragma once

/// What is known of the shard files of a stream's directory: which of them may be read as they are,
/// which have to be checked before, which have to be fetched again.
///
/// `<directory>/.mdstream/facts-<version of the index>` has a record of 16 bytes for each shard, at
/// its number. A record that is torn, of another version, or of another file than the one that lies
/// there is none, because its seal does not fit. When the dataset is rewritten the file goes, and
/// processes that still stream the version before find that out from it.

#include <mdstream/cache/detail/stream_origin.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/hash/xxh64.hpp>
#include <mdstream/store/file.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mdstream::inline v0 {

namespace detail {

/// A file of /proc, which has no size; empty where there is none.
[[nodiscard]] inline std::string read_unsized(const std::string& path) {
  std::string text;
  const unique_fd fd = try_open(path, O_RDONLY);
  char piece[4096];
  for (ssize_t got = 1; fd && got > 0 && text.size() < std::size_t{1} << 20;) {
    got = ::read(fd.get(), piece, sizeof piece);
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace detail

/// A boot of the machine: what was written and not flushed may be lost when it ends.
struct boot_identity {
  std::uint32_t tag = 0;   ///< other for each boot
  std::int64_t began = 0;  ///< nanoseconds of the clock that files are dated by

  [[nodiscard]] static const boot_identity& present() {
    static const boot_identity known = read();
    return known;
  }

 private:
  [[nodiscard]] static boot_identity read() {
    constexpr std::string_view name = "btime ";
    std::string seconds = detail::read_unsized("/proc/stat");
    const std::size_t at = seconds.find(name);
    seconds = at == std::string::npos ? "0" : seconds.substr(at + name.size(), 20);
    std::string id = detail::read_unsized("/proc/sys/kernel/random/boot_id");
    if (id.empty()) id = seconds.substr(0, seconds.find('\n'));
    return {.tag = static_cast<std::uint32_t>(detail::index_version(as_bytes(id))),
            .began = std::strtoll(seconds.c_str(), nullptr, 10) * 1'000'000'000};
  }
};

namespace detail {

/// What a change of a file changes.
struct file_stamp {
  std::uint64_t bytes = 0, number = 0;
  std::int64_t written = 0, changed = 0;

  [[nodiscard]] static file_stamp of(const struct stat& info) noexcept {
    const auto nanoseconds = [](const timespec& time) {
      return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
    };
    return {.bytes = static_cast<std::uint64_t>(info.st_size),
            .number = info.st_ino,
            .written = nanoseconds(info.st_mtim),
            .changed = nanoseconds(info.st_ctim)};
  }
};

/// The files of a shard that lie there with the right sizes.
struct shard_stamp {
  file_stamp data{};
  std::optional<file_stamp> meta{};
};

enum fact_flags : std::uint32_t { unflushed = 0, flushed = 1 };

/// What was written down of a shard.
struct shard_fact {
  std::uint64_t seal = 0;
  std::uint32_t boot = 0;   ///< in which it was written or checked
  std::uint32_t flags = 0;  ///< `fact_flags`
};

enum class standing {
  trusted,
  to_check,  ///< by the hash that the index records
  to_fetch,
};

/// What the decision rests on.
struct shard_evidence {
  bool can_check = false;        ///< the index records a hash of the raw shard
  bool is_known = false;         ///< there is a record of these very files
  bool was_flushed = false;      ///< by that record
  bool is_of_this_boot = false;  ///< by that record; without one, by the date of the files
  bool was_adopted = false;      ///< others put it there before the directory was first used
};

/// Pure. What can be checked was, once a boot, and is again when the file changed. What can not is
/// believed if it was flushed before the machine went down, or if the machine did not go down
/// since.
[[nodiscard]] constexpr standing judge(const shard_evidence& of) noexcept {
  if (of.can_check)
    return of.is_known && of.is_of_this_boot ? standing::trusted : standing::to_check;
  if (of.is_of_this_boot || of.was_flushed) return standing::trusted;
  return !of.is_known && of.was_adopted ? standing::trusted : standing::to_fetch;
}

[[nodiscard]] inline std::string facts_path(const std::string& directory, std::uint64_t version) {
  return directory + "/.mdstream/facts-" + hex_digits(version);
}

inline void make_facts(const std::string& directory, std::uint64_t version) {
  (void)open_file(facts_path(directory, version), O_RDWR | O_CREAT);
}

inline void drop_facts(const std::string& directory, std::uint64_t version) {
  ::unlink(facts_path(directory, version).c_str());
}

/// The records of one directory, opened for one use.
class shard_facts {
 public:
  /// `version` 0: of an index that nobody settled. Throws `errc::state_mismatch` when the directory
  /// has got another version meanwhile, and `errc::unavailable` when descriptors are lacking. Where
  /// nothing can be read, nothing is known.
  shard_facts(const std::string& directory, std::uint64_t version, const boot_identity& boot)
      : path_(facts_path(directory, version)), version_(version), boot_(boot) {
    file_ = try_open(path_, O_RDWR);
    if (!file_ && errno == ENOENT) {
      if (version != 0 && read_origin(directory)) fail_replaced(directory);
      (void)make_directories(directory + "/.mdstream");  // somebody deleted it, or nobody made it
      file_ = try_open(path_, O_RDWR | O_CREAT);
    }
    if (!file_) file_ = try_open(path_, O_RDONLY);
    // A want of descriptors says nothing of the shards.
    if (!file_ && (errno == EMFILE || errno == ENFILE))
      throw system_failure(errno, "cannot open", path_);
  }

  /// Whether the directory still has this version.
  [[nodiscard]] bool is_present() const noexcept { return !file_ || is_linked(file_.get()); }

  [[noreturn]] static void fail_replaced(const std::string& directory) {
    throw error(errc::state_mismatch,
                {.what = "the dataset was rewritten, and another process has taken the new version "
                         "into this cache: start again to stream that",
                 .url = directory});
  }

  [[nodiscard]] standing standing_of(std::uint32_t shard, const shard_stamp& files, bool can_check,
                                     std::int64_t adopted) const {
    const std::optional<shard_fact> known = find(shard, files, can_check);
    const file_stamp& data = files.data;
    return judge({.can_check = can_check,
                  .is_known = known.has_value(),
                  .was_flushed = known && (known->flags & flushed) != 0,
                  .is_of_this_boot = known ? known->boot == boot_.tag : data.changed >= boot_.began,
                  .was_adopted = data.written < adopted});
  }

  /// The record of these files, if there is one.
  [[nodiscard]] std::optional<shard_fact> find(std::uint32_t shard, const shard_stamp& files,
                                               bool can_check) const {
    shard_fact found;
    const auto bytes = std::as_writable_bytes(std::span(&found, 1));
    if (!file_ || ::pread(file_.get(), bytes.data(), bytes.size(), offset(shard)) !=
                      static_cast<ssize_t>(bytes.size()))
      return std::nullopt;
    if (found.seal != seal(shard, files, can_check, found)) return std::nullopt;
    return found;
  }

  /// Whether these files, which are trusted, would be believed after another boot only if they were
  /// flushed, and were not yet.
  [[nodiscard]] bool wants_flush(std::uint32_t shard, const shard_stamp& files, bool can_check,
                                 std::int64_t adopted) const {
    if (can_check || files.data.written < adopted) return false;
    const std::optional<shard_fact> known = find(shard, files, can_check);
    return !known || (known->flags & flushed) == 0;
  }

  /// Writes down what is known from now on. What can not be written is found out again.
  void record(std::uint32_t shard, const shard_stamp& files, bool can_check,
              std::uint32_t flags) const {
    shard_fact fact{.boot = boot_.tag, .flags = flags};
    fact.seal = seal(shard, files, can_check, fact);
    if (file_) (void)!::pwrite(file_.get(), &fact, sizeof fact, offset(shard));
  }

 private:
  [[nodiscard]] static off_t offset(std::uint32_t shard) noexcept {
    return static_cast<off_t>(shard) * static_cast<off_t>(sizeof(shard_fact));
  }

  /// What can be checked costs little to check again: any change of the file is reason enough. What
  /// can not be has to be fetched again: only other contents are.
  [[nodiscard]] std::uint64_t seal(std::uint32_t shard, const shard_stamp& files, bool can_check,
                                   const shard_fact& fact) const {
    hash::xxh64 sum;
    const auto add = [&sum](auto... values) {
      (sum.update(std::as_bytes(std::span(&values, 1))), ...);
    };
    const auto add_file = [&](const file_stamp& file) {
      add(file.bytes);
      can_check ? add(file.number, file.changed) : add(file.written);
    };
    add(version_, shard, fact.boot, fact.flags, std::uint32_t{can_check});
    add_file(files.data);
    if (files.meta) add_file(*files.meta);
    return sum.value();
  }

  std::string path_;
  std::uint64_t version_;
  boot_identity boot_;
  unique_fd file_;
};

}  // namespace detail

}  // namespace mdstream::inline v0
