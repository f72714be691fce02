#pragma once

/// What is known of the shard files of a stream's directory: which of them may be read as they are,
/// which have to be checked before, which have to be fetched again.
///
/// `<directory>/.mdstream/facts-<version of the index>` has a record of 16 bytes for each shard, at
/// its number. A record that is torn, of another version, or of another file than the one that lies
/// there is none, because its seal does not fit. When the dataset is rewritten the file goes, and
/// processes that still stream the version before find that out from it.

#include <mdstream/store/detail/file.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace mdstream::inline v0::detail {

/// A boot of the machine: what was written and not flushed may be lost when it ends.
struct boot_identity {
  std::uint32_t tag = 0;   ///< other for each boot
  std::int64_t began = 0;  ///< nanoseconds of the clock that files are dated by

  [[nodiscard]] static const boot_identity& present();

 private:
  [[nodiscard]] static boot_identity read();
};

/// What a change of a file changes.
struct file_stamp {
  std::uint64_t bytes = 0, number = 0;
  std::int64_t written = 0, changed = 0;

  [[nodiscard]] static file_stamp of(const struct stat& info) noexcept;
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

/// Pure. What can be checked was, once a boot, and is again when the file changed. What cannot is
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
  shard_facts(const std::string& directory, std::uint64_t version, const boot_identity& boot);

  /// Whether the directory still has this version.
  [[nodiscard]] bool is_present() const noexcept { return !file_ || is_linked(file_.get()); }

  [[noreturn]] static void fail_replaced(const std::string& directory);

  [[nodiscard]] standing standing_of(std::uint32_t shard, const shard_stamp& files, bool can_check,
                                     std::int64_t adopted) const;

  /// The record of these files, if there is one.
  [[nodiscard]] std::optional<shard_fact> find(std::uint32_t shard, const shard_stamp& files,
                                               bool can_check) const;

  /// Whether these files, which are trusted, would be believed after another boot only if they were
  /// flushed, and were not yet.
  [[nodiscard]] bool wants_flush(std::uint32_t shard, const shard_stamp& files, bool can_check,
                                 std::int64_t adopted) const;

  /// Writes down what is known from now on. What cannot be written is found out again.
  void record(std::uint32_t shard, const shard_stamp& files, bool can_check,
              std::uint32_t flags) const;

 private:
  [[nodiscard]] static std::uint64_t offset(std::uint32_t shard) noexcept;

  /// What can be checked costs little to check again: any change of the file is reason enough. What
  /// cannot be has to be fetched again: only other contents are.
  [[nodiscard]] std::uint64_t seal(std::uint32_t shard, const shard_stamp& files, bool can_check,
                                   const shard_fact& fact) const;

  std::string path_;
  std::uint64_t version_;
  boot_identity boot_;
  unique_fd file_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/shard_facts.ipp>
#endif
