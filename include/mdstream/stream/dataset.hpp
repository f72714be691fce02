#pragma once

/// Random access to the samples of one or more streams.

#include <mdstream/async/detail/asio.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/sample_lookup.hpp>
#include <mdstream/stream/sample.hpp>
#include <mdstream/stream/subset.hpp>

#include <asio/associated_executor.hpp>
#include <asio/bind_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Reads samples by number. The samples of all streams are numbered one stream after another.
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

  // Parts of the dataset, for `loader_options::subset` of a loader of the same streams.

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
