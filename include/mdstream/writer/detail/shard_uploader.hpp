#pragma once

/// What happens to a finished shard: hash, compress, store; and the index at the end.

#include <mdstream/async/detail/pool.hpp>
#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/format/file_info.hpp>
#include <mdstream/hash/detail/hash_set.hpp>
#include <mdstream/store/detail/patient_store.hpp>
#include <mdstream/writer/detail/stored_shards.hpp>
#include <mdstream/writer/options.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// A shard whose bytes are complete. `release` is called when they are no longer needed.
struct finished_shard {
  std::uint64_t number = 0;
  std::uint64_t samples = 0;
  bytes_view data{};
  std::optional<bytes_view> meta{};
  unique_function<void()> release{};
};

/// What an uploader does beside storing.
struct upload_extras {
  std::optional<patient_store> copy{};  ///< gets all files, too
  progress_function progress{};
};

/// Turns finished shards into objects of a store and entries of the index, on threads of its own.
/// `submit`, `wait` and `publish_index` are for one thread.
class shard_uploader {
 public:
  /// `config`: the members of a shard's entry besides files and samples.
  shard_uploader(patient_store store, shard_format format, json::object config,
                 const std::string& compression, std::vector<std::string> hashes, unsigned workers,
                 codec_set codecs, hash_set computes, upload_extras extras = {});
  shard_uploader(const shard_uploader&) = delete;
  shard_uploader& operator=(const shard_uploader&) = delete;
  /// Shards that were not begun are dropped.
  ~shard_uploader();

  [[nodiscard]] const patient_store& store() const noexcept { return store_; }
  /// The store of the copy, null if there is none.
  [[nodiscard]] const patient_store* copy() const noexcept {
    return extras_.copy ? &*extras_.copy : nullptr;
  }

  /// The name of the data or meta file that is stored of a shard.
  [[nodiscard]] std::string stored_name(std::uint64_t number, bool meta) const;
  /// The members of a shard's entry besides files and samples.
  [[nodiscard]] const json::object& config() const noexcept { return config_; }
  /// Whether shards have a meta file beside their data.
  [[nodiscard]] bool has_meta() const noexcept { return format_ != shard_format::mds; }

  /// Reads `count` shards from `first` on that an earlier writer stored, and enters those before
  /// the first that is not complete into the index. Returns what these are.
  /// Throws what `check` throws besides errc::corrupt, and what the store throws.
  /// With `copies`, the copy gets what it lacks of these shards.
  writer_progress adopt(std::uint64_t first, std::uint64_t count, const stored_shard_check& check,
                        bool copies);

  /// Counts what an index has already, before any shard is adopted or submitted.
  void count(const writer_progress& before);

  /// Takes a shard; waits while twice as many as there are workers are on their way.
  /// Throws what an earlier shard failed with.
  void submit(finished_shard shard);

  /// Does a job on one of the threads, or at once if there are none. `rethrow` and `wait` throw
  /// what it throws.
  void run(unique_function<void()> job);

  /// Throws what a shard failed with, if one did.
  void rethrow();

  /// Waits until all shards are stored; throws what one failed with.
  void wait();

  /// The text of the index: the entries of `before`, then all shards in the order of their numbers.
  /// Call `wait` before.
  [[nodiscard]] std::string index_text(const std::vector<std::string>& before) const;

  /// The copy gets the index first. A reader that sees the store's index can rely on the copy.
  void publish_index(std::string_view text) const;

  /// Reads a file of the store for the copy, unless the copy has it. With `same_size`, a file of
  /// its size is enough, or one of the size of `raw`, which it is decompressed to; else it is
  /// compared with the store's. Throws errc::corrupt if the store's has another size. Does nothing
  /// after a failure.
  void copy_stored(const file_info& file, const std::optional<file_info>& raw, bool same_size);

 private:
  /// A shard's entry in the making, and what the shard adds to the progress.
  struct shard_entry {
    json::object members{};
    writer_progress adds{};
  };
  struct index_entry {
    std::string text{};
    writer_progress adds{};
  };

  void process(finished_shard& shard);
  void attempt(unique_function<void()>& job);
  [[nodiscard]] bool stopped();
  void note_failure(std::exception_ptr failure);

  [[nodiscard]] shard_entry begin_entry(std::uint64_t samples) const;
  /// Stores the shard's files, data before meta, and enters it into the index.
  void store_files(const finished_shard& shard);
  void store_file(std::uint64_t number, bytes_view raw, bool meta, shard_entry& entry) const;
  void add_file(std::uint64_t number, bytes_view raw, bytes_view stored, bool meta,
                shard_entry& entry) const;
  void enter(std::uint64_t number, const shard_entry& entry);
  [[nodiscard]] json::value describe(const std::string& name, bytes_view bytes) const;

  /// False where a file of the shard is missing or not complete.
  bool adopt_one(std::uint64_t number, const stored_shard_check& check, bool copies);
  /// Gives the copy a file of the store, unless it has that with the same bytes.
  void copy_file(const std::string& key, bytes_view bytes) const;
  [[nodiscard]] std::optional<std::uint64_t> copied_size(const std::string& key) const;

  patient_store store_;
  upload_extras extras_;
  shard_format format_;
  json::object config_;
  std::vector<std::string> hashes_;
  hash_set computes_;
  unsigned workers_;
  std::unique_ptr<const opened_codec> codec_;  // null: shards are stored as they are

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t pending_ = 0;
  bool abandoned_ = false;
  std::exception_ptr failure_;
  std::map<std::uint64_t, index_entry> entries_;  // of the index, by shard number
  writer_progress progress_;
  std::unique_ptr<thread_pool> pool_;  // last: joins before the rest goes
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/writer/detail/impl/shard_uploader.ipp>
#endif
