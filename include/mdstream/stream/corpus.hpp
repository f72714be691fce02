#pragma once

/// The opened streams of a dataset or loader: their indexes, the cache of their shards, and where
/// each sample lies.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/load_index.hpp>
#include <mdstream/cache/shard_cache.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/places.hpp>
#include <mdstream/stream/shard_locator.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
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
  explicit corpus(options given)
      : own_runtime_(given.shared_runtime == nullptr ? std::make_unique<runtime>(given.threads)
                                                     : nullptr),
        threads_(given.shared_runtime == nullptr ? *own_runtime_ : *given.shared_runtime) {
    std::vector<stream_options<store_type>> streams = streams_of(given);
    const dataset_places places =
        settle_places(requests(streams), local_of(given),
                      needs_temporary(streams, local_of(given)) ? temporary() : std::string());
    std::vector<cache_stream<store_type>> cached;
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      cached.push_back(open(given, std::move(streams[i]), places.streams[i]));
      const std::vector<std::uint64_t> own = cached.back().index->shard_sizes();
      stream_shards_.push_back(own);
      sizes.insert(sizes.end(), own.begin(), own.end());
    }
    cache_root_ = places.root;
    locate_ = shard_locator(sizes);
    sample_size_ = common_sample_size();
    only_layout_ = common_layout();
    cache_ = std::make_unique<cache_type>(
        threads_, cache_options{.root = places.root, .limit = given.cache_limit.value},
        std::move(cached));
  }

  [[nodiscard]] runtime& threads() const noexcept { return threads_; }
  [[nodiscard]] cache_type& cache() const noexcept { return *cache_; }
  /// The cache directory; empty where no stream has a remote.
  [[nodiscard]] const std::string& cache_root() const noexcept { return cache_root_; }
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
  /// The columns of a shard.
  [[nodiscard]] const sample_layout& layout(std::uint32_t shard) const noexcept {
    if (only_layout_ != nullptr) return *only_layout_;
    const stream_part& part = stream_of(shard);
    return part.index->layout(shard - part.first_shard);
  }
  /// The columns of the first stream's first shard.
  [[nodiscard]] const sample_layout& layout() const noexcept { return layout(0); }

  /// A mapped shard as samples. Throws `errc::corrupt` naming stream, shard and byte.
  [[nodiscard]] mds_shard_view view(const shard_ref& shard, std::uint32_t number) const {
    try {
      const mds_shard_view samples(shard.bytes(), locate_.shard_samples(number), sample_size_);
      if (sample_size_ != 0) (void)first_sample(shard, samples);
      return samples;
    } catch (const error& e) {
      throw error(e.code(), placed(e.where(), number));
    }
  }

  /// The bytes of a sample in its mapped shard.
  /// Throws `errc::corrupt` naming stream, shard, sample and byte.
  [[nodiscard]] bytes_view bytes(const shard_ref& shard, sample_location at) const {
    if (sample_size_ != 0) {
      const std::uint64_t first = shard.fact([&] { return view(shard, at.shard).first_sample(); });
      return {shard.bytes().data() + first + at.index * sample_size_,
              static_cast<std::size_t>(sample_size_)};
    }
    const mds_shard_view samples = view(shard, at.shard);
    try {
      return samples[at.index];
    } catch (const error& e) {
      throw error(e.code(), placed(e.where(), at.shard));
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

 private:
  static_assert(detail::checked_policies<Policies>::value);

  struct stream_part {
    std::string name;
    std::string directory;
    std::shared_ptr<const dataset_index> index;
    std::uint32_t first_shard = 0;
  };

  static std::vector<stream_options<store_type>> streams_of(const options& given) {
    if (given.streams.empty()) {
      if (given.remote.empty() && given.local.empty())
        throw error(errc::invalid_argument, "give streams, or a remote or local directory");
      return {{.remote = given.remote, .local = given.local, .split = given.split}};
    }
    if (!given.remote.empty() || !given.split.empty())
      throw error(errc::invalid_argument,
                  "give either streams, each with its own remote and split, or one remote");
    return given.streams;
  }

  // With one stream in short form, `local` is that stream's own directory.
  static std::string local_of(const options& given) {
    return given.streams.empty() ? std::string() : given.local;
  }

  /// Below the system's temporary directory, where others may write too: made for this user alone,
  /// because whoever writes there decides what is read.
  static std::string temporary() {
    const std::string path = std::filesystem::temp_directory_path().native() + "/mdstream-" +
                             std::to_string(::geteuid());
    struct stat found{};
    if ((::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) || ::lstat(path.c_str(), &found) != 0)
      throw system_failure(errno, "cannot make a cache; give local", path);
    if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & 077) != 0)
      throw error(errc::permission_denied,
                  diagnostics{.what = "others may write to this cache; give local", .url = path});
    return path;
  }

  static bool needs_temporary(const std::vector<stream_options<store_type>>& streams,
                              const std::string& local) {
    return local.empty() &&
           std::ranges::any_of(streams, [](const auto& stream) { return stream.local.empty(); });
  }

  static std::vector<stream_request> requests(
      const std::vector<stream_options<store_type>>& streams) {
    std::vector<stream_request> out;
    for (const auto& stream : streams) {
      if (stream.store && !stream.remote.empty())
        throw error(errc::invalid_argument,
                    diagnostics{.what = "a stream has either a remote or an opened store",
                                .stream = stream.remote});
      out.push_back({.name = stream.name,
                     .remote = stream.store ? stream.store->url("") : stream.remote,
                     .local = stream.local,
                     .split = stream.split,
                     .has_store = stream.store.has_value()});
    }
    return out;
  }

  cache_stream<store_type> open(const options& given, stream_options<store_type> stream,
                                const stream_place& place) {
    const std::chrono::nanoseconds timeout =
        stream.download_timeout.value_or(given.download_timeout);
    const unsigned attempts = stream.download_retry.value_or(given.download_retry);
    if (attempts == 0)
      throw error(errc::invalid_argument,
                  diagnostics{.what = "download_retry counts all attempts, so it is at least 1",
                              .stream = place.name});
    std::optional<store_type> remote = std::move(stream.store);
    if (!remote && !place.remote.empty()) remote = open_store<store_type>(place.remote, threads_);
    auto index = std::make_shared<const dataset_index>(
        load_index<store_type>(remote ? &*remote : nullptr, {.name = place.name,
                                                             .directory = place.directory,
                                                             .prefix = place.split,
                                                             .attempts = attempts}));
    check(*index, place);
    parts_.push_back({place.name, place.directory, index, next_shard_});
    next_shard_ += static_cast<std::uint32_t>(index->shards());
    return {.name = place.name,
            .directory = place.directory,
            .remote = std::move(remote),
            .prefix = place.split,
            .index = index.get(),
            .keep_zip = stream.keep_zip.value_or(given.keep_zip),
            .validate_hash = stream.validate_hash.value_or(given.validate_hash),
            .download_retry = attempts,
            .download_timeout = timeout};
  }

  static void check(const dataset_index& index, const stream_place& place) {
    const auto fail = [&place](errc code, std::string what) {
      throw error(code, diagnostics{.what = std::move(what),
                                    .stream = place.name,
                                    .url = place.directory + "/index.json"});
    };
    if (index.samples() == 0) fail(errc::invalid_argument, "the dataset has no samples");
    for (const shard_config& config : index.configs()) {
      if (config.layout.format() != shard_format::mds)
        fail(errc::unsupported, "shards of format \"" +
                                    std::string(to_string(config.layout.format())) +
                                    "\" can not be streamed; MDS shards can");
      try {
        Policies::schema::check(config.layout);
      } catch (const error& e) {
        diagnostics where = e.where();
        where.stream = place.name;
        where.url = place.directory + "/index.json";
        throw error(e.code(), std::move(where));
      }
    }
  }

  /// Where samples have one size, the offset of a shard's first one; the shard's offsets are
  /// checked once for each mapping.
  static std::uint64_t first_sample(const shard_ref& shard, const mds_shard_view& samples) {
    return shard.fact([&samples] {
      samples.check_offsets();
      return samples.first_sample();
    });
  }

  /// The layout of every shard; null where they differ.
  [[nodiscard]] const sample_layout* common_layout() const {
    if (parts_.size() != 1 || parts_.front().index->configs().size() != 1) return nullptr;
    return &parts_.front().index->layout(0);
  }

  /// Bytes of every sample of every shard; 0 where they differ.
  [[nodiscard]] std::uint64_t common_sample_size() const {
    const std::uint64_t size = layout().fixed_sample_size().value_or(0);
    for (const stream_part& part : parts_)
      for (const shard_config& config : part.index->configs())
        if (config.layout.fixed_sample_size() != size) return 0;
    return size;
  }

  [[nodiscard]] const stream_part& stream_of(std::uint32_t shard) const noexcept {
    std::size_t i = parts_.size() - 1;
    while (parts_[i].first_shard > shard) --i;
    return parts_[i];
  }

  std::unique_ptr<runtime> own_runtime_;
  runtime& threads_;
  std::vector<stream_part> parts_;
  std::vector<std::vector<std::uint64_t>> stream_shards_;
  std::string cache_root_;
  shard_locator locate_;
  std::uint64_t sample_size_ = 0;
  const sample_layout* only_layout_ = nullptr;
  std::uint32_t next_shard_ = 0;
  std::unique_ptr<cache_type> cache_;  // last: its shards go before the indexes and the threads
};

}  // namespace mdstream::inline v0
