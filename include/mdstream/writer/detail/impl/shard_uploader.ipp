#pragma once

#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>
#include <mdstream/writer/detail/index_text.hpp>
#include <mdstream/writer/detail/shard_uploader.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void add_progress(writer_progress& to, const writer_progress& more) noexcept {
  to.samples += more.samples;
  to.shards += more.shards;
  to.raw_bytes += more.raw_bytes;
  to.stored_bytes += more.stored_bytes;
}

MDSTREAM_INLINE shard_uploader::shard_uploader(patient_store store, shard_format format,
                                               json::object config, const std::string& compression,
                                               std::vector<std::string> hashes, unsigned workers,
                                               codec_set codecs, hash_set computes,
                                               upload_extras extras)
    : store_(std::move(store)),
      extras_(std::move(extras)),
      format_(format),
      config_(std::move(config)),
      hashes_(std::move(hashes)),
      computes_(computes),
      workers_(workers) {
  if (!compression.empty()) codec_ = codecs.open(compression);
  for (const std::string& name : hashes_) computes_.require(name);
  if (workers_ > 0) pool_ = std::make_unique<thread_pool>(workers_);
}

MDSTREAM_INLINE shard_uploader::~shard_uploader() {
  store_.stop();
  if (extras_.copy) extras_.copy->stop();
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
}

MDSTREAM_INLINE std::string shard_uploader::stored_name(std::uint64_t number, bool meta) const {
  return shard_file_name(number, format_, meta, codec_ ? codec_->extension() : "");
}

MDSTREAM_INLINE writer_progress shard_uploader::adopt(std::uint64_t first, std::uint64_t count,
                                                      const stored_shard_check& check,
                                                      bool copies) {
  std::uint64_t complete = count;  // guarded by the mutex
  try {
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
  } catch (...) {
    note_failure(std::current_exception());  // thrown when no job refers to `check` any more
  }
  wait();
  const std::lock_guard lock(mutex_);
  entries_.erase(entries_.lower_bound(first + complete), entries_.end());
  writer_progress adopted;
  for (const auto& [number, entry] : entries_) add_progress(adopted, entry.adds);
  add_progress(progress_, adopted);
  if (extras_.progress && complete > 0) extras_.progress(progress_);
  return adopted;
}

MDSTREAM_INLINE void shard_uploader::count(const writer_progress& before) {
  add_progress(progress_, before);
}

MDSTREAM_INLINE void shard_uploader::submit(finished_shard shard) {
  if (pool_) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_ < 2 * std::size_t{workers_} || failure_; });
  }
  run([this, shard = std::move(shard)]() mutable { process(shard); });
  rethrow();
}

MDSTREAM_INLINE void shard_uploader::run(unique_function<void()> job) {
  if (!pool_) return attempt(job);
  {
    const std::lock_guard lock(mutex_);
    ++pending_;
  }
  const auto ended = [this] {
    const std::lock_guard lock(mutex_);
    --pending_;
    changed_.notify_all();
  };
  try {
    pool_->post([this, ended, job = std::move(job)]() mutable {
      attempt(job);
      ended();
    });
  } catch (...) {
    ended();
    throw;
  }
}

MDSTREAM_INLINE void shard_uploader::rethrow() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

MDSTREAM_INLINE void shard_uploader::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pending_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

MDSTREAM_INLINE std::string shard_uploader::index_text(
    const std::vector<std::string>& before) const {
  std::vector<std::string> entries;
  for (const auto& [number, entry] : entries_) entries.push_back(entry.text);
  std::string text = "{\"shards\": [";
  bool first = true;
  append_entries(text, before, first);
  append_entries(text, entries, first);
  return text + "], \"version\": 2}";
}

MDSTREAM_INLINE void shard_uploader::publish_index(std::string_view text) const {
  if (extras_.copy) publish(*extras_.copy, index_file_name, as_bytes(text));
  publish(store_, index_file_name, as_bytes(text));
}

MDSTREAM_INLINE void shard_uploader::copy_stored(const file_info& file,
                                                 const std::optional<file_info>& raw,
                                                 bool same_size) {
  if (stopped()) return;
  if (same_size && copied_size(file.name) == file.bytes) return;
  if (same_size && raw && copied_size(raw->name) == raw->bytes) return;
  const std::vector<std::byte> bytes = read_all(store_, file.name);
  if (bytes.size() != file.bytes)
    throw error(errc::corrupt,
                diagnostics{.what = "the file has " + std::to_string(bytes.size()) +
                                    " bytes, the index says " + std::to_string(file.bytes),
                            .url = store_.url(file.name)});
  copy_file(file.name, bytes);
}

MDSTREAM_INLINE void shard_uploader::process(finished_shard& shard) {
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

MDSTREAM_INLINE void shard_uploader::attempt(unique_function<void()>& job) {
  try {
    job();
  } catch (...) {
    note_failure(std::current_exception());
  }
}

MDSTREAM_INLINE bool shard_uploader::stopped() {
  const std::lock_guard lock(mutex_);
  return abandoned_ || failure_;
}

MDSTREAM_INLINE void shard_uploader::note_failure(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  changed_.notify_all();
}

MDSTREAM_INLINE shard_uploader::shard_entry shard_uploader::begin_entry(
    std::uint64_t samples) const {
  shard_entry out{config_, {.samples = samples, .shards = 1}};
  out.members.emplace_back("samples", samples);
  return out;
}

MDSTREAM_INLINE void shard_uploader::store_files(const finished_shard& shard) {
  shard_entry entry = begin_entry(shard.samples);
  store_file(shard.number, shard.data, false, entry);
  if (shard.meta) store_file(shard.number, *shard.meta, true, entry);
  enter(shard.number, entry);
  const std::lock_guard lock(mutex_);
  add_progress(progress_, entry.adds);
  if (extras_.progress) extras_.progress(progress_);
}

MDSTREAM_INLINE void shard_uploader::store_file(std::uint64_t number, bytes_view raw, bool meta,
                                                shard_entry& entry) const {
  std::vector<std::byte> zip;
  if (codec_) zip = codec_->compress(raw);
  const bytes_view stored = codec_ ? bytes_view(zip) : raw;
  const std::string name = stored_name(number, meta);
  // The store first: a copy that has shards which the store lacks is one of another dataset.
  store_write(store_, name, stored);
  if (extras_.copy) store_write(*extras_.copy, name, stored);
  add_file(number, raw, stored, meta, entry);
}

MDSTREAM_INLINE void shard_uploader::add_file(std::uint64_t number, bytes_view raw,
                                              bytes_view stored, bool meta,
                                              shard_entry& entry) const {
  entry.members.emplace_back(meta ? "raw_meta" : "raw_data",
                             describe(shard_file_name(number, format_, meta, ""), raw));
  entry.members.emplace_back(meta ? "zip_meta" : "zip_data",
                             codec_ ? describe(stored_name(number, meta), stored) : json::value());
  entry.adds.raw_bytes += raw.size();
  entry.adds.stored_bytes += stored.size();
}

MDSTREAM_INLINE void shard_uploader::enter(std::uint64_t number, const shard_entry& entry) {
  std::string text = json::dump(entry.members, json::key_order::sorted);
  const std::lock_guard lock(mutex_);
  entries_.emplace(number, index_entry{std::move(text), entry.adds});
}

MDSTREAM_INLINE json::value shard_uploader::describe(const std::string& name,
                                                     bytes_view bytes) const {
  json::object digests;
  for (const std::string& hash : hashes_) digests.emplace_back(hash, computes_.hex_of(hash, bytes));
  return json::object{{"basename", name}, {"bytes", bytes.size()}, {"hashes", std::move(digests)}};
}

MDSTREAM_INLINE bool shard_uploader::adopt_one(std::uint64_t number,
                                               const stored_shard_check& check, bool copies) {
  std::vector<std::byte> data, meta;
  std::optional<shard_entry> entry;
  try {
    data = read_all(store_, stored_name(number, false));
    if (has_meta()) meta = read_all(store_, stored_name(number, true));
    const std::vector<std::byte> raw_data =
        codec_ ? decompress_stored(*codec_, data) : std::vector<std::byte>();
    const std::vector<std::byte> raw_meta =
        codec_ && has_meta() ? decompress_stored(*codec_, meta) : std::vector<std::byte>();
    const bytes_view plain_data = codec_ ? raw_data : data, plain_meta = codec_ ? raw_meta : meta;
    entry = begin_entry(check(plain_data, plain_meta));
    add_file(number, plain_data, data, false, *entry);
    if (has_meta()) add_file(number, plain_meta, meta, true, *entry);
  } catch (const error& e) {
    if (e.code() == errc::corrupt || e.code() == errc::not_found) return false;
    diagnostics where = e.where();
    where.shard = number;
    if (where.url.empty()) where.url = store_.url(stored_name(number, false));
    throw error(e.code(), std::move(where));
  }
  // What fails here is the copy: it says nothing about the shard in the store.
  if (copies) {
    copy_file(stored_name(number, false), data);
    if (has_meta()) copy_file(stored_name(number, true), meta);
  }
  enter(number, *entry);
  return true;
}

MDSTREAM_INLINE void shard_uploader::copy_file(const std::string& key, bytes_view bytes) const {
  if (copied_size(key) != bytes.size() || !std::ranges::equal(read_all(*extras_.copy, key), bytes))
    store_write(*extras_.copy, key, bytes);
}

MDSTREAM_INLINE std::optional<std::uint64_t> shard_uploader::copied_size(
    const std::string& key) const {
  try {
    return store_size(*extras_.copy, key);
  } catch (const error& e) {
    if (e.code() == errc::not_found) return std::nullopt;
    throw;
  }
}

}  // namespace mdstream::inline v0::detail
