#pragma once

/// What writers of all formats share: the place, what was there before, shards on their way.

#include <mdstream/core/detail/process.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/policies/detail/storage.hpp>
#include <mdstream/writer/detail/index_text.hpp>
#include <mdstream/writer/detail/shard_uploader.hpp>
#include <mdstream/writer/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The limit of a writer's options. Throws errc::invalid_argument for 4 GiB and more.
[[nodiscard]] inline std::uint64_t checked_size_limit(std::uint64_t bytes) {
  if (bytes > mds_shard_builder::max_bytes)
    throw error(errc::invalid_argument, "size_limit is " + std::to_string(bytes) +
                                            " bytes; a shard has to stay below 4 GiB");
  return bytes;
}

/// The shard that is being written. One virtual call a shard: a writer knows what it made, and adds
/// samples to that itself.
class growing_shard {
 public:
  growing_shard() = default;
  growing_shard(const growing_shard&) = delete;
  growing_shard& operator=(const growing_shard&) = delete;
  virtual ~growing_shard() = default;

  [[nodiscard]] virtual std::uint64_t samples() const = 0;
  /// Completes the bytes, which stay until `clear`.
  virtual void fill(finished_shard& shard) = 0;
  /// Begins the next shard in the same memory.
  virtual void clear() = 0;
};

/// Shards into a store. Not for two threads at once.
class dataset_sink {
 public:
  using maker = std::function<std::unique_ptr<growing_shard>()>;

  template <class Options>
  dataset_sink(Options& opts, const storage_policies& storage, shard_format format,
               json::object config, const sample_layout& layout, maker make)
      : make_(std::move(make)),
        uploader_(make_where_made<shard_uploader>(
            patient_store(std::move(opts.out).open(storage.open_alone),
                          patient_requests(opts.patience),
                          {retry_budget(), tells_of_trouble(opts.warn, {}, opts.patience)}),
            format, std::move(config), opts.compression, opts.hashes, opts.max_workers,
            storage.codecs, storage.hashes)),
        shard_(make_()) {
    if (opts.exist_ok && opts.existing == existing_dataset::append)
      throw error(
          errc::invalid_argument,
          "exist_ok replaces the dataset that is there, existing = append keeps it: give one");
    prepare(opts.exist_ok ? existing_dataset::replace : opts.existing, layout);
  }

  /// The shard that is being written.
  [[nodiscard]] growing_shard& shard() noexcept { return *shard_; }
  [[nodiscard]] const growing_shard& shard() const noexcept { return *shard_; }
  /// Shards completed so far, without those of before.
  [[nodiscard]] std::uint64_t shards() const noexcept { return shards_; }

  void require_open() const {
    uploader_.get_deleter().made.require_here("writer");
    if (finished_) throw error(errc::invalid_argument, "the writer is already finished");
  }

  /// Completes the shard, empty or not, and begins the next.
  void flush() {
    std::unique_ptr<growing_shard> next = take_spare();
    finished_shard full{.number = first_ + shards_, .samples = shard_->samples()};
    shard_->fill(full);
    full.release = [this, written = std::move(shard_)]() mutable {
      written->clear();
      const std::lock_guard lock(spare_mutex_);
      spare_.push_back(std::move(written));
    };
    shard_ = std::move(next);
    ++shards_;
    uploader_->submit(std::move(full));
  }

  void finish() {
    require_open();
    if (shard_->samples() != 0) flush();
    uploader_->wait();
    uploader_->publish_index(before_);
    finished_ = true;
  }

 private:
  void prepare(existing_dataset mode, const sample_layout& layout) {
    const auto& target = uploader_->store();
    const bool has_index = exists(target, index_file_name);
    if (mode == existing_dataset::append && has_index) {
      before_ = read_entries(layout);
      return;
    }
    const std::vector<object_info> shards = store_list(target, "shard.");
    if (!has_index && (shards.empty() || mode == existing_dataset::append)) return;
    if (mode == existing_dataset::refuse)
      throw error(errc::invalid_argument,
                  diagnostics{.what = has_index ? "a dataset is already there; \"existing\" says "
                                                  "what becomes of it: replace, or append"
                                                : "shards without an index are already there, of "
                                                  "a writer that did not finish; with "
                                                  "\"existing\" as replace they are deleted",
                              .url = target.url("")});
    if (has_index) store_remove(target, index_file_name);
    for (const object_info& each : shards) store_remove(target, each.key);
  }

  /// The entries of the index that is there; shards are numbered on from its last.
  std::vector<std::string> read_entries(const sample_layout& layout) {
    const auto& target = uploader_->store();
    const std::vector<std::byte> bytes = read_all(target, index_file_name);
    const diagnostics where{.url = target.url(index_file_name)};
    const dataset_index index =
        dataset_index::parse(as_text(bytes), {.allow_unsafe_types = true, .where = where});
    for (std::size_t i = 0; i < index.shards(); ++i) {
      if (!(index.layout(i) == layout))
        throw error(errc::schema_mismatch,
                    diagnostics{.what = "can not append samples of (" + layout.describe() +
                                        ") to shards of (" + index.layout(i).describe() + ")",
                                .url = where.url,
                                .shard = i});
      const std::string name = index.raw(i).name;
      const auto suffix = "." + std::string(mdstream::to_string(index.format(i)));
      if (const auto usual = parse_usual_name(name, suffix); usual && usual->directory.empty())
        first_ = std::max(first_, usual->number + 1);
    }
    return split_index_entries(as_text(bytes), where);
  }

  std::unique_ptr<growing_shard> take_spare() {
    const std::lock_guard lock(spare_mutex_);
    if (spare_.empty()) return make_();
    std::unique_ptr<growing_shard> out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }

  maker make_;
  std::mutex spare_mutex_;
  std::vector<std::unique_ptr<growing_shard>> spare_;
  unique_where_made<shard_uploader> uploader_;
  std::unique_ptr<growing_shard> shard_;
  std::vector<std::string> before_;  // entries of the index that is appended to
  std::uint64_t first_ = 0;
  std::uint64_t shards_ = 0;
  bool finished_ = false;
};

}  // namespace mdstream::inline v0::detail
