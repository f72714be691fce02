#pragma once

/// What writers of all formats share: the place, what was there before, shards on their way.

#include <mdstream/core/detail/process.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/policies/detail/storage.hpp>
#include <mdstream/writer/detail/shard_uploader.hpp>
#include <mdstream/writer/detail/writer_place.hpp>
#include <mdstream/writer/options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The limit of a writer's options. Throws errc::invalid_argument for 4 GiB and more.
[[nodiscard]] std::uint64_t checked_size_limit(std::uint64_t bytes);

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

  /// `check`: of the shards that `make` makes, once they are stored; called here only.
  template <class Options>
  dataset_sink(Options& opts, const storage_policies& storage, shard_format format,
               json::object config, const sample_layout& layout, maker make,
               const stored_shard_check& check)
      : make_(std::move(make)),
        place_(place_of(opts, storage)),
        uploader_(make_where_made<shard_uploader>(place_.store(), format, std::move(config),
                                                  opts.compression, opts.hashes, opts.max_workers,
                                                  storage.codecs, storage.hashes,
                                                  upload_extras{place_.copy(), opts.progress})),
        shard_(make_()) {
    prepare(opts.existing, layout, check);
  }

  /// The shard that is being written.
  [[nodiscard]] growing_shard& shard() noexcept { return *shard_; }
  [[nodiscard]] const growing_shard& shard() const noexcept { return *shard_; }
  /// Shards completed so far, without those of before.
  [[nodiscard]] std::uint64_t shards() const noexcept { return shards_; }
  /// Samples of the shards that were there and are kept.
  [[nodiscard]] std::uint64_t kept_samples() const noexcept { return kept_samples_; }
  /// Whether the next sample is the first after a shard that was ended before it, by this writer or
  /// by one whose shards are kept. It needs no further cut, however large it is.
  [[nodiscard]] bool is_cut_already() const {
    return first_ + shards_ > 0 && shard_->samples() == 0;
  }

  void require_open() const {
    uploader_.get_deleter().made.require_here("writer");
    if (finished_) throw error(errc::invalid_argument, "the writer is already finished");
  }

  /// Completes the shard, empty or not, and begins the next.
  void flush();

  void finish();

 private:
  template <class Options>
  static writer_place place_of(Options& opts, const storage_policies& storage) {
    return {std::move(opts.out).open(storage.open_alone),
            opts.keep_local,
            opts.part,
            patient_requests(opts.patience),
            {retry_budget(), tells_of_trouble(opts.warn, {}, opts.patience)}};
  }

  void prepare(existing_dataset mode, const sample_layout& layout, const stored_shard_check& check);

  /// Takes over the entries of the index that is there; shards are numbered on from its last.
  dataset_index read_entries(const std::string& text, const sample_layout& layout,
                             existing_dataset mode);

  /// Keeps the complete shards that a killed writer stored, up to the first gap, and removes the
  /// others: those behind the gap will be written again. Changes nothing before all is checked.
  void resume(const std::optional<std::string>& index, const dataset_index& entries,
              const stored_shard_check& check);

  /// Gives the copy the index, and what it lacks of the index's shards. `had_index`: it was
  /// complete once.
  void complete_copy(const std::string& text, const dataset_index& index, bool had_index);

  /// How many shards from `first_` on have all their files. Throws errc::schema_mismatch for files
  /// of another format or compression.
  [[nodiscard]] std::uint64_t count_stored(const std::vector<std::string>& sorted) const;

  /// A copy has what is appended to already.
  void require_copy(const std::string& index) const;

  std::unique_ptr<growing_shard> take_spare();

  maker make_;
  std::mutex spare_mutex_;
  std::vector<std::unique_ptr<growing_shard>> spare_;
  writer_place place_;
  unique_where_made<shard_uploader> uploader_;
  std::unique_ptr<growing_shard> shard_;
  std::vector<std::string> before_;  // entries of the index that is appended to
  std::uint64_t first_ = 0;
  std::uint64_t shards_ = 0;
  std::uint64_t kept_samples_ = 0;
  bool is_published_ = false;  // all that was there is in its index
  bool finished_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/writer/detail/impl/dataset_sink.ipp>
#endif
