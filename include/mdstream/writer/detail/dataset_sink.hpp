#pragma once

/// What writers of all formats share: the place, what was there before, shards on their way.

#include <mdstream/core/process.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/format/mds_shard_builder.hpp>
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

/// Shards of a builder into a store. `Builder` has `samples()` and `clear()`, and `fill(shard)`,
/// which completes the shard's bytes. Not for two threads at once.
template <class Store, class Codec, class Hash, class Builder>
class dataset_sink {
 public:
  /// `make`: makes a builder.
  template <class Options>
  dataset_sink(Options& opts, shard_format format, json::object config, const sample_layout& layout,
               std::function<std::unique_ptr<Builder>()> make)
      : make_(std::move(make)),
        uploader_(make_where_made<uploader>(
            patient_store(std::move(opts.out).open(), patient_requests(opts.patience),
                          {retry_budget(), tells_of_trouble(opts.warn, {}, opts.patience)}),
            format, std::move(config), opts.compression, opts.hashes, opts.max_workers)),
        builder_(make_()) {
    if (opts.exist_ok && opts.existing == existing_dataset::append)
      throw error(
          errc::invalid_argument,
          "exist_ok replaces the dataset that is there, existing = append keeps it: give one");
    prepare(opts.exist_ok ? existing_dataset::replace : opts.existing, layout);
  }

  /// The shard that is being written.
  [[nodiscard]] Builder& builder() noexcept { return *builder_; }
  /// Shards completed so far, without those of before.
  [[nodiscard]] std::uint64_t shards() const noexcept { return shards_; }

  void require_open() const {
    uploader_.get_deleter().made.require_here("writer");
    if (finished_) throw error(errc::invalid_argument, "the writer is already finished");
  }

  /// Completes the shard, empty or not, and begins the next.
  void flush() {
    std::unique_ptr<Builder> next = take_spare();
    finished_shard shard{.number = first_ + shards_, .samples = builder_->samples()};
    builder_->fill(shard);
    shard.release = [this, full = std::move(builder_)]() mutable {
      full->clear();
      const std::lock_guard lock(spare_mutex_);
      spare_.push_back(std::move(full));
    };
    builder_ = std::move(next);
    ++shards_;
    uploader_->submit(std::move(shard));
  }

  void finish() {
    require_open();
    if (builder_->samples() != 0) flush();
    uploader_->wait();
    uploader_->publish_index(before_);
    finished_ = true;
  }

 private:
  using uploader = shard_uploader<Codec, Hash>;

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
      const auto suffix = "." + std::string(to_string(index.format(i)));
      if (const auto usual = parse_usual_name(name, suffix); usual && usual->directory.empty())
        first_ = std::max(first_, usual->number + 1);
    }
    return split_index_entries(as_text(bytes), where);
  }

  std::unique_ptr<Builder> take_spare() {
    const std::lock_guard lock(spare_mutex_);
    if (spare_.empty()) return make_();
    std::unique_ptr<Builder> out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }

  std::function<std::unique_ptr<Builder>()> make_;
  std::mutex spare_mutex_;
  std::vector<std::unique_ptr<Builder>> spare_;
  unique_where_made<uploader> uploader_;
  std::unique_ptr<Builder> builder_;
  std::vector<std::string> before_;  // entries of the index that is appended to
  std::uint64_t first_ = 0;
  std::uint64_t shards_ = 0;
  bool finished_ = false;
};

}  // namespace mdstream::inline v0::detail
