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

/// Turns finished shards into objects of a store and entries of the index, on threads of its own.
/// `submit`, `wait` and `publish_index` are for one thread.
class shard_uploader {
 public:
  /// `config`: the members of a shard's entry besides files and samples.
  shard_uploader(patient_store store, shard_format format, json::object config,
                 const std::string& compression, std::vector<std::string> hashes, unsigned workers,
                 codec_set codecs, hash_set computes)
      : store_(std::move(store)),
        format_(format),
        config_(std::move(config)),
        hashes_(std::move(hashes)),
        computes_(computes),
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
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }

  [[nodiscard]] const patient_store& store() const noexcept { return store_; }

  /// Takes a shard; waits while twice as many as there are workers are on their way.
  /// Throws what an earlier shard failed with.
  void submit(finished_shard shard) {
    if (!pool_) {
      rethrow();
      process(shard);
      return;
    }
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return pending_ < 2 * std::size_t{workers_} || failure_; });
      ++pending_;
    }
    pool_->post([this, shard = std::move(shard)]() mutable {
      process(shard);
      const std::lock_guard lock(mutex_);
      --pending_;
      changed_.notify_all();
    });
    rethrow();
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

  /// Writes the index: the entries of `before`, then all shards in the order of their numbers. Call
  /// `wait` before.
  void publish_index(const std::vector<std::string>& before) {
    std::vector<std::string> entries;
    for (const auto& [number, entry] : entries_) entries.push_back(entry);
    std::string text = "{\"shards\": [";
    bool first = true;
    append_entries(text, before, first);
    append_entries(text, entries, first);
    text += "], \"version\": 2}";
    publish(store_, index_file_name, as_bytes(text));
  }

 private:
  void process(finished_shard& shard) {
    try {
      if (!stopped()) {
        std::string entry = store_files(shard);
        const std::lock_guard lock(mutex_);
        entries_.emplace(shard.number, std::move(entry));
      }
    } catch (const error& e) {
      diagnostics where = e.where();
      where.shard = shard.number;
      note_failure(std::make_exception_ptr(error(e.code(), std::move(where))));
    } catch (...) {
      note_failure(std::current_exception());
    }
    if (shard.release) shard.release();
    if (!pool_) rethrow();
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

  /// Stores the shard's files, data before meta, and returns its entry in the index.
  std::string store_files(const finished_shard& shard) const {
    json::object entry = config_;
    entry.emplace_back("samples", shard.samples);
    store_file(shard.number, shard.data, false, entry);
    if (shard.meta) store_file(shard.number, *shard.meta, true, entry);
    return json::dump(entry, json::key_order::sorted);
  }

  void store_file(std::uint64_t number, bytes_view raw, bool meta, json::object& entry) const {
    const std::string raw_name = shard_file_name(number, format_, meta, "");
    entry.emplace_back(meta ? "raw_meta" : "raw_data", describe(raw_name, raw));
    json::value zip_info;
    if (codec_) {
      const std::vector<std::byte> zip = codec_->compress(raw);
      const std::string name = shard_file_name(number, format_, meta, codec_->extension());
      zip_info = describe(name, zip);
      store_write(store_, name, zip);
    } else {
      store_write(store_, raw_name, raw);
    }
    entry.emplace_back(meta ? "zip_meta" : "zip_data", std::move(zip_info));
  }

  [[nodiscard]] json::value describe(const std::string& name, bytes_view bytes) const {
    json::object digests;
    for (const std::string& hash : hashes_)
      digests.emplace_back(hash, computes_.hex_of(hash, bytes));
    return json::object{
        {"basename", name}, {"bytes", bytes.size()}, {"hashes", std::move(digests)}};
  }

  patient_store store_;
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
  std::map<std::uint64_t, std::string> entries_;  // of the index, by shard number
  std::unique_ptr<thread_pool> pool_;             // last: joins before the rest goes
};

}  // namespace mdstream::inline v0::detail
