#pragma once

/// What happens to a finished shard: hash, compress, store; and the index at the end.

#include <mdstream/async/detail/pool.hpp>
#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/file_info.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/hash/detail/hash_set.hpp>
#include <mdstream/store/detail/patient_store.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/writer/detail/index_text.hpp>
#include <mdstream/writer/detail/left_shards.hpp>
#include <mdstream/writer/options.hpp>

#include <algorithm>
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
                 codec_set codecs, hash_set computes, upload_extras extras = {})
      : store_(std::move(store)),
        extras_(std::move(extras)),
        format_(format),
        config_(std::move(config)),
        hashes_(std::move(hashes)),
        computes_(computes),
        codecs_(codecs),
        workers_(workers) {
    if (!compression.empty()) codec_ = codecs.open(compression);
    for (const std::string& name : hashes_) computes_.require(name);
    if (workers_ > 0) pool_ = std::make_unique<thread_pool>(workers_);
  }

  shard_uploader(const shard_uploader&) = delete;
  shard_uploader& operator=(const shard_uploader&) = delete;
  /// Shards that were not begun are dropped.
  ~shard_uploader() {
    store_.stop();
    if (extras_.copy) extras_.copy->stop();
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }

  [[nodiscard]] const patient_store& store() const noexcept { return store_; }
  /// The store of the copy, null if there is none.
  [[nodiscard]] const patient_store* copy() const noexcept {
    return extras_.copy ? &*extras_.copy : nullptr;
  }

  /// The name of the data or meta file that is stored of a shard.
  [[nodiscard]] std::string stored_name(std::uint64_t number, bool meta) const {
    return shard_file_name(number, format_, meta, codec_ ? codec_->extension() : "");
  }
  /// The members of a shard's entry besides files and samples.
  [[nodiscard]] const json::object& config() const noexcept { return config_; }
  /// Whether shards have a meta file beside their data.
  [[nodiscard]] bool has_meta() const noexcept { return format_ != shard_format::mds; }

  /// Reads `count` shards from `first` on that an earlier writer stored, and enters those before
  /// the first that is not complete into the index. Returns what these are.
  /// Throws what `check` throws besides errc::corrupt, and what the store throws.
  /// With `copies`, the copy gets what it lacks of these shards.
  writer_progress adopt(std::uint64_t first, std::uint64_t count, const left_shard_check& check,
                        bool copies) {
    std::uint64_t complete = count;  // guarded by the mutex
    for (std::uint64_t i = 0; i < count; ++i)
      run([this, &check, &complete, first, copies, i] {
        {
          const std::lock_guard lock(mutex_);
          if (failure_ || i >= complete) return;
        }
        if (adopt_one(first + i, check, copies)) return;
        const std::lock_guard lock(mutex_);
        complete = std::min(complete, i);
      });
    wait();
    const std::lock_guard lock(mutex_);
    entries_.erase(entries_.lower_bound(first + complete), entries_.end());
    writer_progress adopted;
    for (const auto& [number, entry] : entries_) add(adopted, entry.adds);
    add(progress_, adopted);
    if (extras_.progress && complete > 0) extras_.progress(progress_);
    return adopted;
  }

  /// Counts what an index has already, before any shard is adopted or submitted.
  void count(const writer_progress& before) { add(progress_, before); }

  /// Takes a shard; waits while twice as many as there are workers are on their way.
  /// Throws what an earlier shard failed with.
  void submit(finished_shard shard) {
    if (pool_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return pending_ < 2 * std::size_t{workers_} || failure_; });
    }
    run([this, shard = std::move(shard)]() mutable { process(shard); });
    rethrow();
  }

  /// Does a job on one of the threads, or at once if there are none. `rethrow` and `wait` throw
  /// what it throws.
  void run(unique_function<void()> job) {
    if (!pool_) return attempt(job);
    {
      const std::lock_guard lock(mutex_);
      ++pending_;
    }
    pool_->post([this, job = std::move(job)]() mutable {
      attempt(job);
      const std::lock_guard lock(mutex_);
      --pending_;
      changed_.notify_all();
    });
  }

  /// Throws what a shard failed with, if one did.
  void rethrow() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Waits until all shards are stored; throws what one failed with.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }

  /// The text of the index: the entries of `before`, then all shards in the order of their numbers.
  /// Call `wait` before.
  [[nodiscard]] std::string index_text(const std::vector<std::string>& before) const {
    std::vector<std::string> entries;
    for (const auto& [number, entry] : entries_) entries.push_back(entry.text);
    std::string text = "{\"shards\": [";
    bool first = true;
    append_entries(text, before, first);
    append_entries(text, entries, first);
    return text + "], \"version\": 2}";
  }

  /// The copy gets the index first: a reader that sees the store's index can rely on the copy.
  void publish_index(std::string_view text) const {
    if (extras_.copy) publish(*extras_.copy, index_file_name, as_bytes(text));
    publish(store_, index_file_name, as_bytes(text));
  }

  /// Reads a file of the store for the copy, which may have it: then `same_size` is enough, or it
  /// is compared with the store's. Throws errc::corrupt if the store's has another size.
  void copy_stored(const file_info& file, bool same_size) const {
    if (same_size && copied_size(file.name) == file.bytes) return;
    const std::vector<std::byte> bytes = read_all(store_, file.name);
    if (bytes.size() != file.bytes)
      throw error(errc::corrupt,
                  diagnostics{.what = "the file has " + std::to_string(bytes.size()) +
                                      " bytes, the index says " + std::to_string(file.bytes),
                              .url = store_.url(file.name)});
    copy_file(file.name, bytes);
  }

 private:
  void process(finished_shard& shard) {
    try {
      if (!stopped()) store_files(shard);
    } catch (const error& e) {
      diagnostics where = e.where();
      where.shard = shard.number;
      note_failure(std::make_exception_ptr(error(e.code(), std::move(where))));
    } catch (...) {
      note_failure(std::current_exception());
    }
    if (shard.release) shard.release();
  }

  void attempt(unique_function<void()>& job) {
    try {
      job();
    } catch (...) {
      note_failure(std::current_exception());
    }
  }

  [[nodiscard]] bool stopped() {
    const std::lock_guard lock(mutex_);
    return abandoned_ || failure_;
  }

  void note_failure(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    changed_.notify_all();
  }

  /// A shard's entry in the making, and what the shard adds to the progress.
  struct shard_entry {
    json::object members{};
    writer_progress adds{};
  };
  struct index_entry {
    std::string text{};
    writer_progress adds{};
  };

  static void add(writer_progress& to, const writer_progress& more) noexcept {
    to.samples += more.samples;
    to.shards += more.shards;
    to.raw_bytes += more.raw_bytes;
    to.stored_bytes += more.stored_bytes;
  }

  [[nodiscard]] shard_entry begin_entry(std::uint64_t samples) const {
    shard_entry out{config_, {.samples = samples, .shards = 1}};
    out.members.emplace_back("samples", samples);
    return out;
  }

  /// Stores the shard's files, data before meta, and enters it into the index.
  void store_files(const finished_shard& shard) {
    shard_entry entry = begin_entry(shard.samples);
    store_file(shard.number, shard.data, false, entry);
    if (shard.meta) store_file(shard.number, *shard.meta, true, entry);
    enter(shard.number, entry);
    const std::lock_guard lock(mutex_);
    add(progress_, entry.adds);
    if (extras_.progress) extras_.progress(progress_);
  }

  void store_file(std::uint64_t number, bytes_view raw, bool meta, shard_entry& entry) const {
    std::vector<std::byte> zip;
    if (codec_) zip = codec_->compress(raw);
    const bytes_view stored = codec_ ? bytes_view(zip) : raw;
    const std::string name = stored_name(number, meta);
    // The store first: a copy that has shards which the store lacks is one of another dataset.
    store_write(store_, name, stored);
    if (extras_.copy) store_write(*extras_.copy, name, stored);
    add_file(number, raw, stored, meta, entry);
  }

  void add_file(std::uint64_t number, bytes_view raw, bytes_view stored, bool meta,
                shard_entry& entry) const {
    entry.members.emplace_back(meta ? "raw_meta" : "raw_data",
                               describe(shard_file_name(number, format_, meta, ""), raw));
    entry.members.emplace_back(
        meta ? "zip_meta" : "zip_data",
        codec_ ? describe(stored_name(number, meta), stored) : json::value());
    entry.adds.raw_bytes += raw.size();
    entry.adds.stored_bytes += stored.size();
  }

  void enter(std::uint64_t number, const shard_entry& entry) {
    std::string text = json::dump(entry.members, json::key_order::sorted);
    const std::lock_guard lock(mutex_);
    entries_.emplace(number, index_entry{std::move(text), entry.adds});
  }

  /// False where a file of the shard is missing or not complete.
  bool adopt_one(std::uint64_t number, const left_shard_check& check, bool copies) try {
    const std::vector<std::byte> data = read_all(store_, stored_name(number, false));
    std::vector<std::byte> meta;
    if (has_meta()) meta = read_all(store_, stored_name(number, true));
    const std::vector<std::byte> raw_data = codec_ ? raw_of(data) : std::vector<std::byte>();
    const std::vector<std::byte> raw_meta =
        codec_ && has_meta() ? raw_of(meta) : std::vector<std::byte>();
    const bytes_view plain_data = codec_ ? raw_data : data, plain_meta = codec_ ? raw_meta : meta;
    shard_entry entry = begin_entry(check(plain_data, plain_meta));
    add_file(number, plain_data, data, false, entry);
    if (has_meta()) add_file(number, plain_meta, meta, true, entry);
    if (copies) {
      copy_file(stored_name(number, false), data);
      if (has_meta()) copy_file(stored_name(number, true), meta);
    }
    enter(number, entry);
    return true;
  } catch (const error& e) {
    if (e.code() == errc::corrupt || e.code() == errc::not_found) return false;
    diagnostics where = e.where();
    where.shard = number;
    if (where.url.empty()) where.url = store_.url(stored_name(number, false));
    throw error(e.code(), std::move(where));
  }

  /// Gives the copy a file of the store, unless it has that with the same bytes.
  void copy_file(const std::string& key, bytes_view bytes) const {
    if (copied_size(key) != bytes.size() ||
        !std::ranges::equal(read_all(*extras_.copy, key), bytes))
      store_write(*extras_.copy, key, bytes);
  }

  [[nodiscard]] std::optional<std::uint64_t> copied_size(const std::string& key) const try {
    return store_size(*extras_.copy, key);
  } catch (const error& e) {
    if (e.code() == errc::not_found) return std::nullopt;
    throw;
  }

  [[nodiscard]] std::vector<std::byte> raw_of(bytes_view zip) const {
    return decompress_left(codecs_.streams(), codec_->extension(), zip);
  }

  [[nodiscard]] json::value describe(const std::string& name, bytes_view bytes) const {
    json::object digests;
    for (const std::string& hash : hashes_)
      digests.emplace_back(hash, computes_.hex_of(hash, bytes));
    return json::object{
        {"basename", name}, {"bytes", bytes.size()}, {"hashes", std::move(digests)}};
  }

  patient_store store_;
  upload_extras extras_;
  shard_format format_;
  json::object config_;
  std::vector<std::string> hashes_;
  hash_set computes_;
  codec_set codecs_;
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
