#pragma once

/// Random access to the samples of one or more streams.

#include <mdstream/async/detail/asio.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/sample_lookup.hpp>
#include <mdstream/stream/sample.hpp>
#include <mdstream/stream/stream_info.hpp>
#include <mdstream/stream/subset.hpp>

#include <asio/associated_executor.hpp>
#include <asio/bind_executor.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Reads samples by number. The samples of all streams are numbered one stream after another. A
/// random-access range: `for (const auto sample : texts)` reads them in this order, each when it is
/// dereferenced, and `texts | std::views::drop(10) | std::views::take(5)` some of them.
///
///     mds::dataset<> texts({.remote = "/data/c4", .local = "/nvme/c4"});
///     const auto one = texts[17];  // owns a reference to its shard
///     std::string_view text = one.get<std::string_view>("text");  // valid as long as `one`
///
/// Thread safety: any number of threads may read.
/// Cost: about 100 ns for a resident sample. Otherwise one download of its shard, or, with
/// `range_request_cost`, of the bytes of the sample.
template <class Policies = mdstream::policies<>>
class dataset {
  static_assert(detail::checked_reading<Policies>::value);

 public:
  using policies = Policies;
  using schema = typename Policies::schema;
  using sample_type = sample<schema>;
  using options = dataset_options;

  /// A place among the samples; `*` reads the sample, as `operator[]`.
  class iterator {
   public:
    using value_type = sample_type;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // before C++20, `*` had to be a reference

    iterator() = default;
    iterator(const dataset& of, std::uint64_t at) noexcept : of_(&of), at_(at) {}

    [[nodiscard]] sample_type operator*() const { return (*of_)[at_]; }
    [[nodiscard]] sample_type operator[](difference_type n) const { return *(*this + n); }
    iterator& operator+=(difference_type n) noexcept {
      at_ += static_cast<std::uint64_t>(n);
      return *this;
    }
    iterator& operator-=(difference_type n) noexcept { return *this += -n; }
    iterator& operator++() noexcept { return *this += 1; }
    iterator& operator--() noexcept { return *this -= 1; }
    iterator operator++(int) noexcept { return std::exchange(*this, *this + 1); }
    iterator operator--(int) noexcept { return std::exchange(*this, *this - 1); }
    [[nodiscard]] friend iterator operator+(iterator i, difference_type n) noexcept {
      return i += n;
    }
    [[nodiscard]] friend iterator operator+(difference_type n, iterator i) noexcept {
      return i += n;
    }
    [[nodiscard]] friend iterator operator-(iterator i, difference_type n) noexcept {
      return i -= n;
    }
    [[nodiscard]] friend difference_type operator-(const iterator& a, const iterator& b) noexcept {
      return static_cast<difference_type>(a.at_ - b.at_);
    }
    [[nodiscard]] friend bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.at_ == b.at_;
    }
    [[nodiscard]] friend auto operator<=>(const iterator& a, const iterator& b) noexcept {
      return a.at_ <=> b.at_;
    }

   private:
    const dataset* of_ = nullptr;
    std::uint64_t at_ = 0;
  };

  /// Opens the streams. Fetches their indexes, but no shards.
  explicit dataset(options given) : dataset(nullptr, std::move(given)) {}

  /// The streams of these options.
  [[nodiscard]] static const options& streams_of(const options& given) noexcept { return given; }
  /// The same on streams that were opened from these options, which are used up.
  dataset(detail::opened_streams& opened, options given) : dataset(&opened, std::move(given)) {}

  /// Number of samples of all streams.
  [[nodiscard]] std::uint64_t size() const noexcept { return from().samples(); }

  /// The columns of the schema; without one, those of the first stream: samples of others may have
  /// other columns, see `sample::layout`.
  [[nodiscard]] const sample_layout& layout() const noexcept { return from().layout(); }

  /// Sample `i`. Waits for its shard if that is not resident, so never call this on a thread of the
  /// dataset's runtime. Throws `errc::out_of_range`, the errors of the download, and
  /// `errc::corrupt` for a shard with wrong offsets.
  [[nodiscard, gnu::flatten]] sample_type operator[](std::uint64_t i) const {
    const detail::corpus& from = lookup_->from();
    if (from.is_uniform(i)) [[likely]] {
      const std::uint32_t number = from.locate().shard_of(i);
      if (std::optional<detail::shard_ref> shard = from.cache().try_acquire(number)) [[likely]]
        if (const std::byte* const origin = from.uniform_origin(*shard, i)) [[likely]]
          return {*std::move(shard), detail::corpus::uniform_bytes(origin, i, one_size(from)),
                  from.uniform_layout()};
    }
    // Moved, so that nobody takes the address of what is returned, which then stays in registers.
    sample_type found = looked_for(i);
    return sample_type(std::move(found));
  }

  /// Sample `i` from the end: `from_end(1)` is the last one. Throws as `operator[]`.
  [[nodiscard]] sample_type from_end(std::uint64_t i) const {
    return (*this)[i == 0 || i > size() ? size() : size() - i];
  }
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, size()}; }
  /// The samples of these ids, in this order: of a subset, or of any range of numbers. Each is read
  /// when the range reaches it. The dataset has to outlive the range.
  ///
  ///     for (const auto sample : data.samples({17, 3, 17})) ...
  ///     for (const auto sample : data.samples(data.shard(2))) ...
  template <std::ranges::input_range Ids>
  [[nodiscard]] auto samples(Ids ids) const {
    return std::ranges::transform_view(std::views::all(std::move(ids)), [this](const auto& id) {
      return (*this)[static_cast<std::uint64_t>(id)];
    });
  }
  [[nodiscard]] auto samples(std::initializer_list<std::uint64_t> ids) const {
    return samples(std::vector<std::uint64_t>(ids));
  }

  /// The streams in the order of the options, with their sizes and directories; they have no share
  /// of an epoch. O(shards).
  [[nodiscard]] std::vector<stream_info> streams() const { return from().streams(); }
  /// The stream, shard and sample of an id. Throws `errc::out_of_range`.
  [[nodiscard]] sample_origin origin(std::uint64_t i) const {
    (void)lookup_->located(i);
    return from().origin(i);
  }

  // Parts of the dataset, for `loader_options::subset` of a loader of the same streams.

  /// The samples of a stream, numbered as in the options. Throws `errc::out_of_range`. A loader
  /// reads it as the subset of a dataset with this stream alone, or without a subset.
  [[nodiscard]] sample_subset stream(std::size_t number) const {
    return lookup_->part(from().shards_of_stream(number));
  }
  /// The samples of a shard. Shards are numbered one stream after another, from 0 to `shards()`.
  /// Throws `errc::out_of_range`.
  [[nodiscard]] sample_subset shard(std::uint64_t number) const {
    lookup_->require_shard(number);
    const auto first = static_cast<std::uint32_t>(number);
    return lookup_->part({first, first + 1});
  }
  /// Number of shards of all streams.
  [[nodiscard]] std::uint64_t shards() const noexcept { return from().shards(); }

  /// These samples. Throws as `sample_subset` does.
  [[nodiscard]] sample_subset subset(std::vector<std::uint64_t> ids) const {
    return {std::move(ids), size()};
  }
  /// Random parts of these shares, as `sample_subset::split`.
  ///
  ///     const auto parts = data.split({0.9, 0.1}, 17);
  [[nodiscard]] std::vector<sample_subset> split(const std::vector<double>& fractions,
                                                 std::uint64_t seed) const {
    return sample_subset::all(size()).split(fractions, seed);
  }
  /// The samples for which `keep(sample)` is true. Calls it for all samples, in order, on this
  /// thread. Throws what it throws, and as `operator[]`. Cost: reads the whole dataset; keep the
  /// ids for the next run.
  ///
  ///     const auto long_ones = data.filter([](const auto& s) { return s.bytes().size() > 4096; });
  template <class Predicate>
  [[nodiscard]] sample_subset filter(Predicate keep) const {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < size(); ++i)
      if (keep((*this)[i])) ids.push_back(i);
    return {std::move(ids), size()};
  }

  /// The same as `operator[]` for any completion token, with
  /// `void(std::exception_ptr, std::optional<sample>)`.
  /// A cancellation slot ends it with `errc::canceled`. The exception is one that `operator[]`
  /// would throw. The handler runs on its associated executor, otherwise on the runtime's I/O
  /// thread. The dataset has to outlive the call.
  template <class Token>
  auto async_get(std::uint64_t i, Token&& token) const {
    using signature = void(std::exception_ptr, std::optional<sample_type>);
    return detail::initiate<signature>(std::forward<Token>(token), [this, i](auto handler) {
      lookup_->require_here();
      auto call = std::make_shared<detail::sample_lookup::find_call>();
      detail::stop_on_cancel(handler, call->stop);
      const auto io = from().threads().get_executor();
      const auto executor = asio::get_associated_executor(handler, io);  // before it is moved
      auto typed = [handler = std::move(handler)](
                       std::exception_ptr failure,
                       std::optional<detail::found_sample> found) mutable {
        std::optional<sample_type> out;
        if (found) out.emplace(*std::move(found));
        std::move(handler)(std::move(failure), std::move(out));
      };
      call->done =
          detail::deliver_on<void(std::exception_ptr, std::optional<detail::found_sample>)>(
              io, asio::bind_executor(executor, std::move(typed)));
      lookup_->async_find(i, call);
    });
  }

  [[nodiscard]] cache_counters counters() const noexcept { return from().cache().counters(); }

  // The cache, by hand. Loaders that use the same directory see the same shards.

  /// Fetches a shard, unless it is in the cache, and returns when it is there. Throws
  /// `errc::out_of_range`, and the errors of the download. Not on a thread of the dataset's
  /// runtime.
  void fetch_shard(std::uint64_t number) const {
    lookup_->require_shard(number);
    lookup_->require_here();
    (void)from().cache().acquire(static_cast<std::uint32_t>(number));
  }
  /// Deletes a shard from the cache; a later read fetches it again. False, and it stays, if it has
  /// no remote, or if a sample of this process is in it, or another process with a cache limit uses
  /// it. Throws `errc::out_of_range`.
  bool evict_shard(std::uint64_t number) const {
    lookup_->require_shard(number);
    lookup_->require_here();
    return from().cache().evict(static_cast<std::uint32_t>(number));
  }

 private:
  // By value: a store that is moved in here goes with the dataset.
  dataset(detail::opened_streams* opened, options given)
      : lookup_(new detail::sample_lookup(given, detail::corpus_policies::of<Policies>(), opened)) {
  }

  [[nodiscard]] const detail::corpus& from() const noexcept { return lookup_->from(); }

  /// Bytes of every sample, known to the compiler where the schema says it.
  [[nodiscard]] static std::size_t one_size(const detail::corpus& from) noexcept {
    if constexpr (!schema::is_dynamic)
      if constexpr (schema::is_fixed) return schema::smallest_sample;
    return static_cast<std::size_t>(from.sample_size());
  }

  /// A sample, wherever it is, if there is one.
  [[nodiscard, gnu::noinline]] sample_type looked_for(std::uint64_t i) const {
    const detail::corpus& all = from();
    const detail::sample_location at = lookup_->located(i);
    if (!all.converts() || all.form(at.shard).as_stored())
      if (std::optional<detail::shard_ref> shard = all.cache().try_acquire(at.shard)) {
        const bytes_view bytes = all.bytes(*shard, at);
        return {*std::move(shard), bytes, all.layout(at.shard)};
      }
    return sample_type(lookup_->find(at));
  }

  detail::unique_where_made<detail::sample_lookup, detail::ends_off_own_threads> lookup_;
};

}  // namespace mdstream::inline v0
