#pragma once

/// The opened streams of a dataset or loader: their indexes, the cache of their shards, and where
/// each sample lies.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/shard_cache.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/format/row_to_mds.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stream/opened_streams.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/places.hpp>
#include <mdstream/stream/shard_locator.hpp>
#include <mdstream/stream/shard_samples.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Immutable after it was opened, apart from the cache; thread-safe.
template <class Policies>
class corpus {
 public:
  using store_type = typename Policies::store;
  using cache_type = shard_cache<store_type, typename Policies::codec, typename Policies::hash>;
  using options = dataset_options<store_type>;

  /// Opens every stream: its store, its index, its columns against the schema.
  /// Throws `errc::invalid_argument` for options that contradict each other, `errc::not_found`
  /// where there is no index, `errc::corrupt` for a damaged or empty one, and
  /// `errc::schema_mismatch`; each names the stream.
  explicit corpus(options given) : corpus(std::move(given), nullptr) {}

  /// The same on streams that were opened from the same options, which are used up; null: opens
  /// them.
  corpus(options given, opened_streams<store_type>* opened)
      : own_runtime_(given.shared_runtime == nullptr ? make_runtime(given.threads) : nullptr),
        threads_(given.shared_runtime == nullptr ? *own_runtime_ : *given.shared_runtime) {
    std::optional<opened_streams<store_type>> own;
    if (opened == nullptr) {
      opened = &own.emplace(given, threads_);
      opened->load();
    }
    std::vector<cache_stream<store_type>> cached;
    std::vector<std::uint64_t> sizes;
    for (opened_stream<store_type>& each : opened->streams()) {
      cached.push_back(take(std::move(each)));
      const std::vector<std::uint64_t> of_stream = cached.back().index->shard_sizes();
      stream_shards_.push_back(of_stream);
      sizes.insert(sizes.end(), of_stream.begin(), of_stream.end());
    }
    cache_root_ = opened->root();
    warnings_ = opened->warnings();
    warn_ = opened->warn_of(given);
    locate_ = shard_locator(sizes);
    sample_size_ = common_sample_size();
    only_layout_ = common_layout();
    if (sample_size_ != 0 && only_layout_ != nullptr) uniform_samples_ = samples();
    cache_ = std::make_unique<cache_type>(
        threads_,
        cache_options{.root = cache_root_, .limit = given.cache_limit.value, .warn = warn_},
        std::move(cached));
  }

  corpus(const corpus&) = delete;
  corpus& operator=(const corpus&) = delete;
  /// Cancels what is in progress and waits for it, but not on a thread of a shared runtime, where
  /// it would wait for itself: there the cache is destroyed by what ends last.
  ~corpus() {
    if (own_runtime_ || !threads_.runs_here()) return;
    std::vector<std::shared_ptr<const dataset_index>> indexes;
    for (const stream_part& part : parts_) indexes.push_back(part.index);
    cache_type* const cache = cache_.release();
    cache->async_end([cache, indexes = std::move(indexes)] { delete cache; });
  }

  [[nodiscard]] runtime& threads() const noexcept { return threads_; }
  /// Whether they end with this.
  [[nodiscard]] bool owns_threads() const noexcept { return own_runtime_ != nullptr; }
  [[nodiscard]] cache_type& cache() const noexcept { return *cache_; }
  /// The cache directory; empty where no stream has a remote.
  [[nodiscard]] const std::string& cache_root() const noexcept { return cache_root_; }
  /// Tells whom the options say of something that can be worked with. Any thread.
  void warn(const std::string& text) const { warn_(text); }
  /// Of the stores and of `warn`, where the options do not say who is told.
  [[nodiscard]] const std::shared_ptr<kept_warnings>& warnings() const noexcept {
    return warnings_;
  }
  [[nodiscard]] const shard_locator& locate() const noexcept { return locate_; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return locate_.samples(); }
  [[nodiscard]] std::size_t shards() const noexcept { return locate_.shards(); }
  /// Samples of each shard, stream by stream.
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& stream_shards() const noexcept {
    return stream_shards_;
  }
  /// Number of shards of each stream.
  [[nodiscard]] std::vector<std::uint32_t> shards_of_streams() const {
    std::vector<std::uint32_t> out;
    for (const auto& shards : stream_shards_)
      out.push_back(static_cast<std::uint32_t>(shards.size()));
    return out;
  }
  /// The columns of a shard; of one of rows as they are once its samples are in MDS form.
  [[nodiscard]] const sample_layout& layout(std::uint32_t shard) const noexcept {
    return only_layout_ != nullptr ? *only_layout_ : layout_among_several(shard);
  }
  /// How the rows of a shard are read; null for MDS shards.
  [[nodiscard]] const shard_config* row_config(std::uint32_t shard) const noexcept {
    const stream_part& part = stream_of(shard);
    if (part.mds_forms.empty()) return nullptr;
    const shard_config& config = part.index->config(shard - part.first_shard);
    return config.layout.format() == shard_format::mds ? nullptr : &config;
  }
  /// Bytes of every sample of every shard; 0 where they differ.
  [[nodiscard]] std::uint64_t sample_size() const noexcept { return sample_size_; }
  /// Whether any stream has shards of rows.
  [[nodiscard]] bool has_rows() const noexcept { return has_rows_; }
  /// The columns of the first stream's first shard.
  [[nodiscard]] const sample_layout& layout() const noexcept { return layout(0); }

  /// A mapped shard as samples. Throws `errc::corrupt` naming stream, shard and byte.
  [[nodiscard]] shard_samples view(const shard_ref& shard, std::uint32_t number) const {
    try {
      return detail::read_mapped([&] {
        if (has_rows_ && row_config(number) != nullptr)
          return shard_samples(rows_of(shard.bytes(), number));
        const mds_shard_view samples(shard.bytes(), locate_.shard_samples(number), sample_size_);
        if (sample_size_ != 0)
          (void)shard.landmark([&] { return checked_origin(samples, number); });
        return shard_samples(samples);
      });
    } catch (const error& e) {
      throw error(e.code(), placed(e.where(), number));
    }
  }

  /// The bytes of a sample in its mapped shard.
  /// Throws `errc::corrupt` naming stream, shard, sample and byte.
  [[nodiscard]] bytes_view bytes(const shard_ref& shard, sample_location at) const {
    if (sample_size_ == 0) return bytes_of_varying(shard.bytes(), at);
    const std::byte* const origin =
        shard.landmark([&] { return origin_of(shard.bytes(), at.shard); });
    return uniform_bytes(origin, locate_.first_sample(at.shard) + at.index);
  }

  // The same in a few instructions, for a sample whose size and layout are those of all.

  /// Whether there is such a sample.
  [[nodiscard]] bool is_uniform(std::uint64_t sample) const noexcept {
    return sample < uniform_samples_;
  }
  /// What `uniform_bytes` needs of a sample's mapped shard; null where `bytes` has to be asked,
  /// which says why. Precondition: `is_uniform(sample)`.
  [[nodiscard]] const std::byte* uniform_origin(const shard_ref& shard,
                                                std::uint64_t sample) const noexcept {
    return shard.landmark([&]() noexcept { return origin_or_null(shard.bytes(), sample); });
  }
  [[nodiscard]] bytes_view uniform_bytes(const std::byte* origin,
                                         std::uint64_t sample) const noexcept {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(origin) + sample * one_size();
    return {reinterpret_cast<const std::byte*>(at), one_size()};
  }
  /// Precondition: `is_uniform` of any sample.
  [[nodiscard]] const sample_layout& uniform_layout() const noexcept { return *only_layout_; }

  /// Throws `errc::schema_mismatch` where a stream's columns are not those of the first.
  void require_equal_columns() const {
    const sample_layout& first = layout();
    for (const stream_part& part : parts_) {
      for (std::size_t i = 0; i < part.index->configs().size(); ++i) {
        const sample_layout& other =
            part.mds_forms.empty() ? part.index->configs()[i].layout : part.mds_forms[i];
        if (other == first) continue;
        std::uint32_t shard = part.first_shard;
        while (part.config_of(shard) != i) ++shard;
        throw error(errc::schema_mismatch, placed({.what = "its columns (" + other.describe() +
                                                           ") are not those of the first stream (" +
                                                           first.describe() + ")"},
                                                  shard));
      }
    }
  }

  /// Adds to diagnostics which stream, shard and file they are about.
  [[nodiscard]] diagnostics placed(diagnostics where, std::uint32_t shard) const {
    const stream_part& part = stream_of(shard);
    where.stream = part.name;
    where.shard = shard - part.first_shard;
    where.url = part.directory + '/' + part.index->raw(shard - part.first_shard).name;
    return where;
  }

  /// In a forked child: unmaps what nobody there uses.
  void abandon() noexcept { cache_->abandon(); }

 private:
  static_assert(detail::checked_policies<Policies>::value);

  /// Who wants a single worker wants few threads altogether.
  [[nodiscard]] static std::unique_ptr<runtime> make_runtime(unsigned threads) {
    return std::make_unique<runtime>(threads,
                                     threads == 1 ? 1 : runtime::io_threads_for_transfers());
  }

  struct stream_part {
    std::string name;
    std::string directory;
    std::shared_ptr<const dataset_index> index;
    std::uint32_t first_shard = 0;
    std::vector<sample_layout> mds_forms{};  // of the index's configurations, where some are rows

    [[nodiscard]] std::size_t config_of(std::uint32_t shard) const noexcept {
      return static_cast<std::size_t>(&index->config(shard - first_shard) -
                                      index->configs().data());
    }
  };

  /// The data file and the meta file lie one behind the other.
  [[nodiscard]] row_shard_view rows_of(bytes_view shard, std::uint32_t number) const {
    const stream_part& part = stream_of(number);
    const auto data = static_cast<std::size_t>(
        part.index->file_bytes(number - part.first_shard, file_role::raw_data));
    return {shard.first(data), shard.subspan(file_mapping::whole_pages(data)),
            locate_.shard_samples(number)};
  }

  cache_stream<store_type> take(opened_stream<store_type> opened) {
    const std::shared_ptr<const dataset_index> index = std::move(opened.index);
    const stream_place& place = opened.place;
    parts_.push_back({place.name, place.directory, index, next_shard_, check(*index, place)});
    has_rows_ = has_rows_ || !parts_.back().mds_forms.empty();
    next_shard_ += static_cast<std::uint32_t>(index->shards());
    return {.name = place.name,
            .directory = place.directory,
            .remote = std::move(opened.remote),
            .prefix = place.split,
            .index = index.get(),
            .version = opened.version,
            .adopted = opened.adopted,
            .keep_zip = opened.keep_zip,
            .validate_hash = std::move(opened.validate_hash),
            .download_retry = opened.download_retry,
            .download_timeout = opened.download_timeout,
            .patience = opened.patience};
  }

  /// Checks the columns of every configuration and returns them in MDS form, where there are rows.
  static std::vector<sample_layout> check(const dataset_index& index, const stream_place& place) {
    const auto fail = [&place](errc code, std::string what) {
      throw error(code, diagnostics{.what = std::move(what),
                                    .stream = place.name,
                                    .url = place.directory + "/index.json"});
    };
    if (index.samples() == 0) fail(errc::invalid_argument, "the dataset has no samples");
    std::vector<sample_layout> forms;
    bool rows = false;
    for (const shard_config& config : index.configs()) {
      try {
        const bool is_mds = config.layout.format() == shard_format::mds;
        rows = rows || !is_mds;
        forms.push_back(is_mds ? config.layout : mds_form(config.layout));
        Policies::schema::check(forms.back());
      } catch (const error& e) {
        diagnostics where = e.where();
        where.stream = place.name;
        where.url = place.directory + "/index.json";
        throw error(e.code(), std::move(where));
      }
    }
    if (!rows) forms.clear();
    return forms;
  }

  [[nodiscard, gnu::pure]] const sample_layout& layout_among_several(
      std::uint32_t shard) const noexcept {
    const stream_part& part = stream_of(shard);
    if (part.mds_forms.empty()) return part.index->layout(shard - part.first_shard);
    return part.mds_forms[part.config_of(shard)];
  }

  // Where samples have one size, a mapping's landmark is its origin: where the first sample of the
  // whole dataset would lie if all came one behind another as they do in this shard. So a sample's
  // number is all that is needed to find it. That place is not in the mapping, and so is computed
  // with numbers.

  /// All of the shard's offsets are checked for it, which is done once for each mapping.
  [[nodiscard]] const std::byte* checked_origin(const mds_shard_view& samples,
                                                std::uint32_t number) const {
    samples.check_offsets();
    const std::byte* const first = samples.bytes().data() + samples.first_sample();
    return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(first) -
                                              locate_.first_sample(number) * one_size());
  }

  // What `bytes` does rarely, or at greater length. The shard is given as its bytes: a caller's
  // reference whose address nobody takes stays in a register.

  /// The same for a shard that was not looked at yet; throws as `view`.
  [[nodiscard, gnu::noinline]] const std::byte* origin_of(bytes_view shard,
                                                          std::uint32_t number) const {
    try {
      return detail::read_mapped([&] {
        return checked_origin({shard, locate_.shard_samples(number), sample_size_}, number);
      });
    } catch (const error& e) {
      throw error(e.code(), placed(e.where(), number));
    }
  }

  /// The same for a sample's shard; null where it can not be read.
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
        if (has_rows_ && row_config(at.shard) != nullptr) return rows_of(shard, at.shard)[at.index];
        return mds_shard_view(shard, locate_.shard_samples(at.shard))[at.index];
      });
    } catch (const error& e) {
      throw error(e.code(), placed(e.where(), at.shard));
    }
  }

  /// Where samples have one size: that, known to the compiler where the schema says it.
  [[nodiscard]] std::size_t one_size() const noexcept {
    using schema = typename Policies::schema;
    if constexpr (!schema::is_dynamic)
      if constexpr (schema::is_fixed) return schema::smallest_sample;
    return static_cast<std::size_t>(sample_size_);
  }

  /// The layout of every shard; null where they differ, or some are of rows.
  [[nodiscard]] const sample_layout* common_layout() const {
    if (parts_.size() == 1 && parts_.front().index->configs().size() == 1) return &layout(0);
    if (has_rows_) return nullptr;
    const sample_layout& first = layout(0);
    for (const stream_part& part : parts_)
      for (const shard_config& config : part.index->configs())
        if (config.layout != first) return nullptr;
    return &first;
  }

  /// Bytes of every sample of every shard; 0 where they differ.
  [[nodiscard]] std::uint64_t common_sample_size() const {
    if (has_rows_) return 0;
    const std::uint64_t size = layout().fixed_sample_size().value_or(0);
    for (const stream_part& part : parts_)
      for (const shard_config& config : part.index->configs())
        if (config.layout.fixed_sample_size() != size) return 0;
    return size;
  }

  [[nodiscard]] const stream_part& stream_of(std::uint32_t shard) const noexcept {
    return *std::prev(std::ranges::upper_bound(parts_, shard, {}, &stream_part::first_shard));
  }

  std::unique_ptr<runtime> own_runtime_;
  runtime& threads_;
  std::vector<stream_part> parts_;
  std::vector<std::vector<std::uint64_t>> stream_shards_;
  std::string cache_root_;
  std::shared_ptr<kept_warnings> warnings_;
  warning_function warn_;
  shard_locator locate_;
  std::uint64_t sample_size_ = 0;
  bool has_rows_ = false;
  const sample_layout* only_layout_ = nullptr;
  std::uint64_t uniform_samples_ = 0;  // all, or none
  std::uint32_t next_shard_ = 0;
  std::unique_ptr<cache_type> cache_;  // last: its shards go before the indexes and the threads
};

}  // namespace mdstream::inline v0
