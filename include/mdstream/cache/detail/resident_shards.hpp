#pragma once

/// The shards of a process's cache that lie on the disk complete, found and mapped.

#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/cache/detail/map_range.hpp>
#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/shard_fetch.hpp>
#include <mdstream/cache/detail/shard_seal.hpp>
#include <mdstream/cache/detail/slots.hpp>
#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/store/detail/file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

/// Thread-safe once `directory` was set.
class resident_shards {
 public:
  /// `most`: shards mapped at one time; 0: half of what the system allows a process.
  resident_shards(const shard_catalog& catalog, std::size_t most)
      : catalog_(catalog),
        slots_(slot_table::make(catalog.shards())),
        most_(most != 0 ? most : half_of_what_is_allowed()) {}

  /// In which processes meet; null where nothing can be written, or no stream has a remote.
  cache_directory* directory = nullptr;

  [[nodiscard]] slot_table& slots() const noexcept { return *slots_; }

  /// Where the shard's file lies, once it does.
  [[nodiscard]] std::string path(std::uint32_t shard) const {
    return shard_catalog::path(catalog_.stream_of(shard), catalog_.files(shard).raw_name);
  }

  /// Whether its file, or another of its name, lies there.
  [[nodiscard]] bool has_file(std::uint32_t shard) const {
    struct stat info{};
    return ::stat(path(shard).c_str(), &info) == 0;
  }

  /// The shard if it lies there complete, mapped; none when it has to be fetched, or another
  /// process is at it. Throws `errc::corrupt` for a file of a wrong size that cannot be fetched.
  /// What has to be checked before is not found, unless it `was_checked`.
  [[nodiscard]] std::optional<shard_ref> find(std::uint32_t shard, bool was_checked = false) {
    if (std::optional<shard_ref> ready = slots_->try_acquire(shard)) return ready;
    if (!catalog_.stream_of(shard).in_place.empty()) return std::nullopt;
    const shard_files files = catalog_.files(shard);
    const std::string raw = shard_catalog::path(catalog_.stream_of(shard), files.raw_name);
    const unique_fd fd = open_complete(shard, files);
    if (!fd) return std::nullopt;
    unique_fd meta;
    if (files.meta && !(meta = open_complete(shard, *files.meta))) return std::nullopt;
    if (!was_checked && !is_trusted(shard, files, fd.get(), meta.get())) return std::nullopt;
    make_place();
    std::optional<unique_fd> pin = pin_of(shard);
    if (!pin || !detail::is_linked(fd.get())) return std::nullopt;  // being evicted
    const std::size_t size = bytes_in(files, fd.get(), raw);
    return slots_->insert(
        shard,
        files.meta ? file_mapping::of_two(fd.get(), size, meta.get(),
                                          static_cast<std::size_t>(files.meta->raw_bytes), raw)
                   : file_mapping::of(fd.get(), size, raw),
        *std::move(pin));
  }

  /// Takes over a shard that was just put there, by `publish` or the directory.
  [[nodiscard]] shard_ref hold(std::uint32_t shard, file_mapping mapping, unique_fd pin) {
    make_place();
    return slots_->insert(shard, std::move(mapping), std::move(pin));
  }

  /// Maps the range of a file that is a shard of a stream in place. Throws `errc::corrupt`, naming
  /// the file, where it is another than the index says.
  [[nodiscard]] shard_ref map_in_place(std::uint32_t shard, const shard_maker& maker) {
    const catalog_stream& stream = catalog_.stream_of(shard);
    make_place();
    return slots_->insert(shard, map_range(stream.in_place, maker, shard - stream.first), {});
  }

  /// A new path for a file in the making, which can be renamed into the stream's directory.
  [[nodiscard]] std::string temporary_name(std::size_t stream_number) const {
    const catalog_stream& stream = catalog_.streams()[stream_number];
    if (directory != nullptr && stream.has_remote)
      return directory->ledger().temporary_name(stream_number);
    return stream.directory + "/.mdstream-" + detail::unique_name() + ".tmp";
  }

  /// Gives the files of a shard that no other process sees in the making their names.
  [[nodiscard]] file_mapping publish(std::uint32_t shard, fetched_shard got) const {
    const std::string raw = path(shard);
    const shard_files files = catalog_.files(shard);
    if (!got.meta) {
      file_mapping whole = std::move(got.raw).publish(raw);
      return files.is_made ? detail::map_sealed(raw) : std::move(whole);
    }
    const std::string meta_path =
        shard_catalog::path(catalog_.stream_of(shard), files.meta->raw_name);
    (void)std::move(got.meta->raw).publish(meta_path);
    (void)std::move(got.raw).publish(raw);
    const unique_fd data = detail::open_file(raw, O_RDONLY);
    const unique_fd meta = detail::open_file(meta_path, O_RDONLY);
    return file_mapping::of_two(data.get(), static_cast<std::size_t>(files.raw_bytes), meta.get(),
                                static_cast<std::size_t>(files.meta->raw_bytes), raw);
  }

  /// Unmaps all shards that nobody holds, which gives back what they take of the process's limits.
  void unmap_idle() const {
    if (slots_->sweep() != 0) slots_->sweep();
  }

  /// Deletes a damaged file that the remote has too.
  void discard(const std::string& damaged) const {
    if (directory != nullptr)
      directory->discard(damaged);
    else
      ::unlink(damaged.c_str());
  }

 private:
  [[nodiscard]] static std::size_t half_of_what_is_allowed() {
    std::size_t maps = 65530;
    if (const unique_fd fd = detail::try_open("/proc/sys/vm/max_map_count", O_RDONLY)) {
      const std::string text = detail::read_unsized(fd.get());
      if (!text.empty()) maps = std::strtoull(text.c_str(), nullptr, 10);
    }
    return std::max<std::size_t>(maps / 2, 16);
  }

  /// Keeps the number of mappings below the process's limits, where idle ones allow it. Every
  /// pinned mapping of a cache with a limit holds a descriptor too: half of those that are free.
  void make_place() const {
    const std::size_t mapped = slots_->mapped();
    if (mapped < place_.load(std::memory_order_relaxed)) return;
    const bool pins = directory != nullptr && directory->limited();
    const std::size_t most =
        pins ? std::min(most_, std::max<std::size_t>((detail::free_descriptors() + mapped) / 2, 4))
             : most_;
    place_.store(pins ? most : 0, std::memory_order_relaxed);
    if (mapped >= most) unmap_idle();
  }

  /// Bytes of a shard's data in its complete file.
  [[nodiscard]] static std::size_t bytes_in(const shard_file& file, int fd,
                                            const std::string& path) {
    if (!file.is_made) return static_cast<std::size_t>(file.raw_bytes);
    return static_cast<std::size_t>(detail::file_size(fd, path) - detail::seal_bytes);
  }

  /// A file of a shard, open, if it lies there complete.
  [[nodiscard]] unique_fd open_complete(std::uint32_t shard, const shard_file& file) const {
    const std::string raw = shard_catalog::path(catalog_.stream_of(shard), file.raw_name);
    unique_fd fd = detail::open_if_there(raw, O_RDONLY);
    if (!fd) return {};
    const std::uint64_t size = detail::file_size(fd.get(), raw);
    if (file.is_made && detail::sealed_bytes(fd.get(), size, raw)) return fd;
    if (!file.is_made && size == file.raw_bytes) return fd;
    if (catalog_.stream_of(shard).has_remote && directory != nullptr) return {};
    throw error(errc::corrupt, {.what = "has " + std::to_string(size) + " bytes, the index says " +
                                        std::to_string(file.raw_bytes),
                                .url = raw});
  }

  /// Whether open files of a shard may be read as they are. Only of streams that can fetch them.
  [[nodiscard]] bool is_trusted(std::uint32_t shard, const shard_files& files, int data,
                                int meta) const {
    const catalog_stream& stream = catalog_.stream_of(shard);
    if (!stream.has_remote || directory == nullptr) return true;
    struct stat info{};
    if (::fstat(data, &info) != 0) return false;
    detail::shard_stamp stamp{detail::file_stamp::of(info)};
    if (files.meta && ::fstat(meta, &info) != 0) return false;
    if (files.meta) stamp.meta = detail::file_stamp::of(info);
    const detail::shard_facts facts = catalog_.facts(stream);
    const std::uint32_t number = shard - stream.first;
    const bool can_check = files.can_check();
    if (facts.standing_of(number, stamp, can_check, stream.adopted) != detail::standing::trusted)
      return false;
    if (facts.wants_flush(number, stamp, can_check, stream.adopted)) directory->flush_later(shard);
    return true;
  }

  [[nodiscard]] std::optional<unique_fd> pin_of(std::uint32_t shard) const {
    if (directory == nullptr || !catalog_.stream_of(shard).has_remote) return unique_fd();
    return directory->try_pin(shard);
  }

  const shard_catalog& catalog_;
  slot_table::owner slots_;
  std::size_t most_;
  mutable std::atomic<std::size_t> place_{0};  // mappings to which nothing needs to be looked at
};

}  // namespace mdstream::inline v0::detail
