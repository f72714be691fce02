#pragma once

/// The opened streams of a dataset or loader: their indexes, the cache of their shards, and where
/// each sample lies.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/shard_cache.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/core/detail/shard_numbers.hpp>
#include <mdstream/format/detail/sample_form.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/policies/detail/storage.hpp>
#include <mdstream/stream/detail/opened_streams.hpp>
#include <mdstream/stream/detail/places.hpp>
#include <mdstream/stream/detail/shard_locator.hpp>
#include <mdstream/stream/detail/shard_samples.hpp>
#include <mdstream/stream/detail/shard_supply.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/stream_info.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// What opening a corpus takes of the policies.
struct corpus_policies {
  detail::storage_policies storage;
  std::optional<sample_layout> (*schema)();  ///< the columns to read; nothing: those that there are

  template <class Policies>
  [[nodiscard]] static constexpr corpus_policies of() noexcept {
    return {detail::storage_of<Policies>(), &columns_of<typename Policies::schema>};
  }

 private:
  template <class Schema>
  [[nodiscard]] static std::optional<sample_layout> columns_of() {
    if constexpr (Schema::is_dynamic)
      return std::nullopt;
    else
      return Schema::layout();
  }
};

/// Immutable after it was opened, apart from the cache; thread-safe.
class corpus final : public detail::shard_supply {
 public:
  /// Opens every stream: its store, its index, the columns of the schema. Warns, once, of columns
  /// that are ignored; without a schema, of those whose encoding MDS does not define.
  /// Throws `errc::invalid_argument` for options that contradict each other, `errc::not_found`
  /// where there is no index, `errc::corrupt` for a damaged or empty one, and
  /// `errc::schema_mismatch`; each names the stream.
  /// `opened`: streams that were opened from the same options, which are used up; null: opens them.
  corpus(const dataset_options& given, const corpus_policies& policies,
         opened_streams* opened = nullptr);

  /// Cancels what is in progress and waits for it, but not on a thread of a shared runtime, where
  /// it would wait for itself: there the cache is destroyed by what ends last.
  MDSTREAM_INLINE ~corpus() override;

  [[nodiscard]] runtime& threads() const noexcept { return threads_; }
  /// Whether they end with this.
  [[nodiscard]] bool owns_threads() const noexcept { return own_runtime_ != nullptr; }
  [[nodiscard]] shard_cache& cache() const noexcept { return *cache_; }
  /// The cache directory; empty where no stream has a remote.
  [[nodiscard]] const std::string& cache_root() const noexcept { return cache_root_; }
  /// Warns, as the options say, of something that can be worked with. Any thread.
  void warn(const std::string& text) const { warn_(text); }
  /// Of the stores and of `warn`, where the options name no function for them.
  [[nodiscard]] const std::shared_ptr<kept_warnings>& warnings() const noexcept {
    return warnings_;
  }
  [[nodiscard]] const shard_locator& locate() const noexcept { return locate_; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return locate_.samples(); }
  [[nodiscard]] std::size_t shards() const noexcept override { return locate_.shards(); }
  /// Of all shards in the cache directory, once all are there. O(shards).
  [[nodiscard]] std::uint64_t shard_bytes() const;
  /// Precondition: there is such a sample. O(log streams).
  [[nodiscard]] sample_origin origin(std::uint64_t sample) const noexcept;
  /// Throws `errc::out_of_range` unless there is such a stream.
  [[nodiscard]] shard_span shards_of_stream(std::size_t number) const;
  /// All that is known of the streams without a mix. O(shards).
  [[nodiscard]] std::vector<stream_info> streams() const;
  /// Fingerprint of the foreign files of all streams; 0 where no stream has any.
  [[nodiscard]] std::uint64_t source() const noexcept;
  /// Samples of each shard, stream by stream.
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& stream_shards() const noexcept {
    return stream_shards_;
  }
  [[nodiscard]] const shard_numbers& numbers() const noexcept { return numbers_; }
  /// The columns that samples of a shard have in the end.
  [[nodiscard]] const sample_layout& layout(std::uint32_t shard) const noexcept;
  /// How samples of a shard become those that are used.
  [[nodiscard]] const sample_form& form(std::uint32_t shard) const noexcept;
  /// Bytes of every sample of every shard; 0 where they differ.
  [[nodiscard]] std::uint64_t sample_size() const noexcept { return sample_size_; }
  /// Whether any stream has shards whose samples are not used as they are stored.
  [[nodiscard]] bool converts() const noexcept { return converts_; }
  /// The columns of the first stream's first shard.
  [[nodiscard]] const sample_layout& layout() const noexcept { return layout(0); }

  /// A mapped shard as samples. Throws `errc::corrupt` naming stream, shard and byte.
  [[nodiscard]] MDSTREAM_INLINE shard_samples view(const shard_ref& shard,
                                                   std::uint32_t number) const override;

  /// The bytes of a sample in its mapped shard.
  /// Throws `errc::corrupt` naming stream, shard, sample and byte.
  [[nodiscard]] bytes_view bytes(const shard_ref& shard, sample_location at) const;

  // The same in a few instructions, for a sample whose size and layout are those of all.

  /// Whether there is such a sample.
  [[nodiscard]] bool is_uniform(std::uint64_t sample) const noexcept {
    return sample < uniform_samples_;
  }
  /// What `uniform_bytes` needs of a sample's mapped shard; null where `bytes` has to be asked,
  /// which says why. Precondition: `is_uniform(sample)`.
  [[nodiscard]] const std::byte* uniform_origin(const shard_ref& shard,
                                                std::uint64_t sample) const noexcept;
  /// `size`: that of every sample, which a caller may know while compiling.
  [[nodiscard]] static bytes_view uniform_bytes(const std::byte* origin, std::uint64_t sample,
                                                std::size_t size) noexcept;
  /// Precondition: `is_uniform` of any sample.
  [[nodiscard]] const sample_layout& uniform_layout() const noexcept { return *only_layout_; }

  /// From here on all samples have the same columns: without a schema, those that all streams have.
  /// Warns of the others. Throws `errc::schema_mismatch` where there are none. Called before any
  /// sample is read.
  void select_common_columns();

  /// Adds to diagnostics which stream, shard and file they are about.
  [[nodiscard]] diagnostics placed(diagnostics where, std::uint32_t shard) const;

  /// In a forked child: unmaps what nobody there uses.
  void abandon() noexcept { cache_->abandon(); }

  // The cache, as code that knows nothing else of a corpus sees it.

  [[nodiscard]] bool limited() const override { return cache_->limited(); }
  [[nodiscard]] std::uint64_t footprint(std::uint32_t shard) const override {
    return cache_->footprint(shard);
  }
  [[nodiscard]] std::size_t fetches_at_once() const override { return cache_->fetches_at_once(); }
  [[nodiscard]] bool may_hold(std::uint64_t bytes) override { return cache_->may_hold(bytes); }
  [[nodiscard]] std::optional<shard_ref> try_acquire(std::uint32_t shard) override {
    return cache_->try_acquire(shard);
  }
  MDSTREAM_INLINE void async_acquire(std::uint32_t shard, std::stop_token stop, diagnostics& where,
                                     acquire_handler done) override;
  MDSTREAM_INLINE void async_prefetch(std::uint32_t shard, std::stop_token stop, diagnostics& where,
                                      prefetch_handler done) override;
  void unpin(std::uint32_t shard) override { cache_->unpin(shard); }
  bool drop(std::uint32_t shard) override { return cache_->drop(shard); }

 private:
  /// An option of one worker means few threads altogether.
  [[nodiscard]] static std::unique_ptr<runtime> make_runtime(unsigned threads);

  struct stream_part {
    std::string name;
    std::string directory;
    std::shared_ptr<const dataset_index> index;
    std::uint32_t first_shard = 0;
    std::vector<sample_form> forms{};            // of the index's configurations
    std::string in_place{};                      // as in `cache_stream`
    std::shared_ptr<const shard_maker> maker{};  // of a stream in place
    std::optional<opened_store> remote{};

    [[nodiscard]] std::size_t config_of(std::uint32_t shard) const noexcept;
  };

  /// Of an MDS shard, or one in place.
  [[nodiscard]] mds_shard_view samples_of(bytes_view shard, std::uint32_t number) const;

  /// The data file and the meta file lie one behind the other.
  [[nodiscard]] row_shard_view rows_of(bytes_view shard, std::uint32_t number) const;

  cache_stream take(opened_stream opened, const std::optional<sample_layout>& schema);

  /// What becomes of the samples of every configuration.
  static std::vector<sample_form> forms_of(const dataset_index& index, const stream_place& place,
                                           const std::optional<sample_layout>& schema);

  /// What follows from the forms of all streams.
  void settle_columns();
  void warn_of_ignored_columns() const;
  void warn_of_other_encodings() const;
  /// Warns of what `of` says of the first form of each stream for which it says anything.
  void warn_of_streams(const std::string& what,
                       const std::function<std::string(const sample_form&)>& of) const;
  [[noreturn]] void fail_without_common_columns(const stream_part& part, std::size_t config,
                                                const sample_layout& common) const;

  [[nodiscard, gnu::pure]] const sample_layout& layout_among_several(
      std::uint32_t shard) const noexcept {
    return form(shard).layout();
  }

  // Where samples have one size, a mapping's landmark is its origin: where the first sample of the
  // whole dataset would lie if all came one behind another as they do in this shard. So a sample's
  // number is all that is needed to find it. That place is not in the mapping, and so is computed
  // with numbers.

  /// All of the shard's offsets are checked for it, which is done once for each mapping.
  [[nodiscard]] const std::byte* checked_origin(const mds_shard_view& samples,
                                                std::uint32_t number) const;

  // What `bytes` does rarely, or at greater length. The shard is given as its bytes: a caller's
  // reference whose address nobody takes stays in a register.

  /// The same for a shard that was not looked at yet; throws as `view`.
  [[nodiscard, gnu::noinline]] const std::byte* origin_of(bytes_view shard,
                                                          std::uint32_t number) const {
    try {
      return detail::read_mapped([&] { return checked_origin(samples_of(shard, number), number); });
    } catch (const error& e) {
      throw error(e.code(), placed(e.where(), number));
    }
  }

  /// The same for a sample's shard; null where it cannot be read.
  [[nodiscard, gnu::noinline, gnu::cold]] const std::byte* origin_or_null(
      bytes_view shard, std::uint64_t sample) const noexcept {
    try {
      return origin_of(shard, locate_.shard_of(sample));
    } catch (...) {
      return nullptr;
    }
  }

  [[nodiscard, gnu::noinline]] bytes_view bytes_of_varying(bytes_view shard,
                                                           sample_location at) const {
    try {
      return detail::read_mapped([&] {
        if (has_rows_ && form(at.shard).is_row()) return rows_of(shard, at.shard)[at.index];
        return samples_of(shard, at.shard)[at.index];
      });
    } catch (const error& e) {
      throw error(e.code(), placed(e.where(), at.shard));
    }
  }

  /// The layout of every shard; null where they differ, or some are of rows.
  [[nodiscard]] const sample_layout* common_layout() const;

  /// Bytes of every sample of every shard; 0 where they differ, or how far apart they begin.
  [[nodiscard]] std::uint64_t common_sample_size() const;
  /// Bytes from one sample of the stream to the next; 0 where that is no one number.
  [[nodiscard]] static std::uint64_t step_of(const stream_part& part);

  [[nodiscard]] const stream_part& stream_of(std::uint32_t shard) const noexcept {
    return parts_[numbers_.stream_of(shard)];
  }

  std::unique_ptr<runtime> own_runtime_;
  runtime& threads_;
  std::vector<stream_part> parts_;
  shard_numbers numbers_;
  std::vector<std::vector<std::uint64_t>> stream_shards_;
  std::vector<std::uint64_t> sources_;  // by stream: 0 where its files are no foreign ones
  std::string cache_root_;
  std::shared_ptr<kept_warnings> warnings_;
  warning_function warn_;
  shard_locator locate_;
  std::uint64_t sample_size_ = 0;
  std::uint64_t sample_step_ = 0;  // where samples have one size
  bool has_rows_ = false;
  bool converts_ = false;
  bool has_schema_ = false;
  bool some_in_place_ = false;
  const sample_layout* only_layout_ = nullptr;
  std::uint64_t uniform_samples_ = 0;   // all, or none
  std::unique_ptr<shard_cache> cache_;  // last: its shards go before the indexes and the threads
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/corpus.ipp>
#endif
