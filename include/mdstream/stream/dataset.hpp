#pragma once

/// Random access to the samples of one or more streams.

#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/core/process.hpp>
#include <mdstream/stream/corpus.hpp>
#include <mdstream/stream/sample.hpp>
#include <mdstream/stream/sample_ranges.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The samples of all streams, numbered one stream after another. Any thread may read; each sample
/// owns a reference to its shard.
///
///     mds::dataset<> texts({.remote = "/data/c4", .local = "/nvme/c4"});
///     std::string_view text = texts[17].get<std::string_view>("text");   // while the sample lives
///
/// A shard that is not on this machine is fetched whole, or, where `range_request_cost` says so,
/// only the bytes of the sample. A resident sample costs about 100 ns.
template <class Policies = default_policies>
class dataset {
 public:
  using policies = Policies;
  using schema = typename Policies::schema;
  using sample_type = sample<schema>;
  using options = dataset_options<typename Policies::store>;

  /// Opens the streams, see `corpus`. Fetches their indexes, no shards.
  explicit dataset(options given) : dataset(nullptr, std::move(given)) {}

  /// The streams of these options.
  [[nodiscard]] static const options& streams_of(const options& given) noexcept { return given; }
  /// The same on streams that were opened from these options, which are used up.
  dataset(opened_streams<typename Policies::store>& opened, options given)
      : dataset(&opened, std::move(given)) {}

  /// Number of samples of all streams.
  [[nodiscard]] std::uint64_t size() const noexcept { return corpus_->samples(); }

  /// The columns of the first stream.
  [[nodiscard]] const sample_layout& layout() const noexcept { return corpus_->layout(); }

  /// Sample `i`. Waits for its shard where it is not resident: never call this on a thread of the
  /// dataset's runtime. Throws `errc::out_of_range`, what fetching the shard throws, and
  /// `errc::corrupt` for a shard whose offsets do not fit.
  [[nodiscard, gnu::flatten]] sample_type operator[](std::uint64_t i) const {
    const corpus<Policies>& from = *corpus_;
    if (from.is_uniform(i)) [[likely]] {
      const std::uint32_t number = from.locate().shard_of(i);
      if (std::optional<shard_ref> shard = from.cache().try_acquire(number)) [[likely]]
        if (const std::byte* const origin = from.uniform_origin(*shard, i)) [[likely]]
          return {*std::move(shard), from.uniform_bytes(origin, i), from.uniform_layout()};
    }
    // Moved, so that nobody takes the address of what is returned, which then stays in registers.
    sample_type found = looked_for(i);
    return sample_type(std::move(found));
  }

  /// The same for any completion token, with `void(std::exception_ptr, std::optional<sample>)`.
  /// A cancellation slot ends it with `errc::canceled`; an index beyond the end and everything
  /// else that `operator[]` throws comes as the exception. The handler runs on its associated
  /// executor, else on the runtime's io thread. The dataset has to outlive the call.
  template <class Token>
  auto async_get(std::uint64_t i, Token&& token) const {
    using signature = void(std::exception_ptr, std::optional<sample_type>);
    return initiate<signature>(std::forward<Token>(token), [this, i](auto handler) {
      corpus_.get_deleter().made.require_here("dataset");
      auto call = std::make_shared<get_call>();
      stop_on_cancel(handler, call->stop);
      call->done = deliver_on<signature>(corpus_->threads().get_executor(), std::move(handler));
      // On the pool, because a sample that is resident must not complete on the caller's stack.
      corpus_->threads().post([this, i, call] { start_get(i, call); });
    });
  }

  [[nodiscard]] cache_counters counters() const noexcept { return corpus_->cache().counters(); }

 private:
  dataset(opened_streams<typename Policies::store>* opened, options given)
      : ranges_cost_(given.range_request_cost.value) {
    corpus_.reset(new corpus<Policies>(std::move(given), opened));
    if (ranges_cost_ != 0) ranges_ = detail::make_where_made<ranges>(*corpus_, ranges_cost_);
  }

  /// A handler that holds the last reference destroys the dataset on one of its own threads, which
  /// can not end themselves.
  struct off_own_threads {
    void operator()(corpus<Policies>* gone) const {
      if (gone->owns_threads() && gone->threads().runs_here())
        std::thread([gone] { delete gone; }).detach();
      else
        delete gone;
    }
  };

  struct get_call {
    std::stop_source stop;
    diagnostics where{};
    unique_function<void(std::exception_ptr, std::optional<sample_type>)> done;
  };

  [[nodiscard]] sample_location located(std::uint64_t i) const {
    if (i >= size()) [[unlikely]]
      fail_index(i);
    return corpus_->locate()(i);
  }

  [[noreturn, gnu::noinline]] void fail_index(std::uint64_t i) const {
    throw error(errc::out_of_range, "sample " + std::to_string(i) + " of a dataset of " +
                                        std::to_string(size()) + " samples");
  }

  /// A sample, wherever it is, if there is one.
  [[nodiscard, gnu::noinline]] sample_type looked_for(std::uint64_t i) const {
    const sample_location at = located(i);
    if (std::optional<shard_ref> shard = corpus_->cache().try_acquire(at.shard))
      return make(*std::move(shard), at);
    corpus_.get_deleter().made.require_here("dataset");
    if (ranges_ && ranges_->serves(at)) return make(ranges_->read(at), at);
    return make(corpus_->cache().acquire(at.shard), at);
  }

  [[nodiscard]] sample_type make(shard_ref shard, sample_location at) const {
    const bytes_view bytes = corpus_->bytes(shard, at);
    if (corpus_->has_rows())
      if (const shard_config* config = corpus_->row_config(at.shard))
        return row(std::move(shard), bytes, *config, at);
    return {std::move(shard), bytes, corpus_->layout(at.shard)};
  }

  /// A sample that was read by itself.
  [[nodiscard]] sample_type make(const std::shared_ptr<std::vector<std::byte>>& bytes,
                                 sample_location at) const {
    auto made = std::make_shared<typename sample_type::row>();
    made->mds = std::move(*bytes);
    made->raw = made->mds;
    return {shard_ref(), std::move(made), corpus_->layout(at.shard)};
  }

  [[nodiscard]] sample_type row(shard_ref shard, bytes_view bytes, const shard_config& config,
                                sample_location at) const {
    const sample_layout& layout = corpus_->layout(at.shard);
    auto made = std::make_shared<typename sample_type::row>();
    made->raw = bytes;
    try {
      detail::read_mapped([&] { append_row_as_mds(config, layout, bytes, made->mds); });
    } catch (const error& e) {
      diagnostics where = e.where();
      where.sample = at.index;
      throw error(e.code(), corpus_->placed(std::move(where), at.shard));
    }
    return {std::move(shard), std::move(made), layout};
  }

  void start_get(std::uint64_t i, const std::shared_ptr<get_call>& call) const {
    try {
      const sample_location at = located(i);
      if (ranges_ && !corpus_->cache().try_acquire(at.shard) && ranges_->serves(at)) {
        return ranges_->async_read(
            at, call->stop.get_token(), call->where,
            [this, at, call](std::error_code failure,
                             const std::shared_ptr<std::vector<std::byte>>& bytes) {
              complete(*call, failure, [&] { return make(bytes, at); });
            });
      }
      corpus_->cache().async_acquire(at.shard, call->stop.get_token(), call->where,
                                     [this, at, call](std::error_code failure, shard_ref shard) {
                                       complete(*call, failure,
                                                [&] { return make(std::move(shard), at); });
                                     });
    } catch (...) {
      call->done(std::current_exception(), std::nullopt);
    }
  }

  template <class Make>
  static void complete(get_call& call, std::error_code failure, const Make& made) {
    std::optional<sample_type> found;
    std::exception_ptr thrown;
    try {
      if (failure) throw error(failure, std::move(call.where));
      found.emplace(made());
    } catch (...) {
      thrown = std::current_exception();
    }
    call.done(std::move(thrown), std::move(found));
  }

  using ranges = sample_ranges<corpus<Policies>>;

  std::uint64_t ranges_cost_;
  detail::unique_where_made<corpus<Policies>, off_own_threads> corpus_;
  detail::unique_where_made<ranges> ranges_;  // where samples may be read by themselves
};

}  // namespace mdstream::inline v0
