#pragma once

#include <mdstream/cache/detail/shard_facts.hpp>
#include <mdstream/cache/detail/stream_origin.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/hash/xxh64.hpp>
#include <mdstream/version.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string_view>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE const boot_identity& boot_identity::present() {
  static const boot_identity known = read();
  return known;
}

MDSTREAM_INLINE boot_identity boot_identity::read() {
  constexpr std::string_view name = "btime ";
  std::string seconds = detail::read_unsized("/proc/stat");
  const std::size_t at = seconds.find(name);
  seconds = at == std::string::npos ? "0" : seconds.substr(at + name.size(), 20);
  std::string id = detail::read_unsized("/proc/sys/kernel/random/boot_id");
  if (id.empty()) id = seconds.substr(0, seconds.find('\n'));
  return {.tag = static_cast<std::uint32_t>(detail::index_version(as_bytes(id))),
          .began = std::strtoll(seconds.c_str(), nullptr, 10) * 1'000'000'000};
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE file_stamp file_stamp::of(const struct stat& info) noexcept {
  const auto nanoseconds = [](const timespec& time) {
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  return {.bytes = static_cast<std::uint64_t>(info.st_size),
          .number = info.st_ino,
          .written = nanoseconds(info.st_mtim),
          .changed = nanoseconds(info.st_ctim)};
}

MDSTREAM_INLINE shard_facts::shard_facts(const std::string& directory, std::uint64_t version,
                                         const boot_identity& boot)
    : path_(facts_path(directory, version)), version_(version), boot_(boot) {
  file_ = try_open(path_, O_RDWR);
  if (!file_ && errno == ENOENT) {
    if (version != 0 && read_origin(directory)) fail_replaced(directory);
    (void)make_directories(directory + "/.mdstream");  // somebody deleted it, or nobody made it
    file_ = try_open(path_, O_RDWR | O_CREAT);
  }
  if (!file_) file_ = try_open(path_, O_RDONLY);
  // A lack of descriptors says nothing of the shards.
  if (!file_ && detail::lacks_descriptors(errno)) throw system_failure(errno, "cannot open", path_);
}

MDSTREAM_INLINE void shard_facts::fail_replaced(const std::string& directory) {
  throw error(errc::state_mismatch,
              {.what = "the dataset was rewritten, and another process has taken the new version "
                       "into this cache: start again to stream that",
               .url = directory});
}

MDSTREAM_INLINE standing shard_facts::standing_of(std::uint32_t shard, const shard_stamp& files,
                                                  bool can_check, std::int64_t adopted) const {
  const std::optional<shard_fact> known = find(shard, files, can_check);
  const file_stamp& data = files.data;
  return judge({.can_check = can_check,
                .is_known = known.has_value(),
                .was_flushed = known && (known->flags & flushed) != 0,
                .is_of_this_boot = known ? known->boot == boot_.tag : data.changed >= boot_.began,
                .was_adopted = data.written < adopted});
}

MDSTREAM_INLINE std::optional<shard_fact> shard_facts::find(std::uint32_t shard,
                                                            const shard_stamp& files,
                                                            bool can_check) const {
  shard_fact found;
  const auto bytes = std::as_writable_bytes(std::span(&found, 1));
  if (!file_ || detail::try_read_at(file_.get(), offset(shard), bytes) != bytes.size())
    return std::nullopt;
  if (found.seal != seal(shard, files, can_check, found)) return std::nullopt;
  return found;
}

MDSTREAM_INLINE bool shard_facts::wants_flush(std::uint32_t shard, const shard_stamp& files,
                                              bool can_check, std::int64_t adopted) const {
  if (can_check || files.data.written < adopted) return false;
  const std::optional<shard_fact> known = find(shard, files, can_check);
  return !known || (known->flags & flushed) == 0;
}

MDSTREAM_INLINE void shard_facts::record(std::uint32_t shard, const shard_stamp& files,
                                         bool can_check, std::uint32_t flags) const {
  shard_fact fact{.boot = boot_.tag, .flags = flags};
  fact.seal = seal(shard, files, can_check, fact);
  if (file_)
    (void)detail::try_write_at(file_.get(), offset(shard), std::as_bytes(std::span(&fact, 1)));
}

MDSTREAM_INLINE std::uint64_t shard_facts::offset(std::uint32_t shard) noexcept {
  return std::uint64_t{shard} * sizeof(shard_fact);
}

MDSTREAM_INLINE std::uint64_t shard_facts::seal(std::uint32_t shard, const shard_stamp& files,
                                                bool can_check, const shard_fact& fact) const {
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

}  // namespace mdstream::inline v0::detail
