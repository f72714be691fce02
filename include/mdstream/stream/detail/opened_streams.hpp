#pragma once

/// The streams of a dataset, opened: their stores and indexes.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/load_index.hpp>
#include <mdstream/cache/detail/shard_maker.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/policies/detail/storage.hpp>
#include <mdstream/raw/options.hpp>
#include <mdstream/source/detail/source_request.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/stream/detail/places.hpp>
#include <mdstream/stream/options.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct opened_stream {
  stream_place place{};
  std::optional<opened_store> remote{};
  std::optional<raw::options> raw{};
  std::vector<any_async_store> joined{};  ///< the datasets of a join, whose store `remote` is then
  std::shared_ptr<const dataset_index> index{};
  std::shared_ptr<const shard_maker> maker{};  ///< of foreign files
  std::string in_place{};    ///< as `cache_stream` says, once it is opened; before: where it may be
  std::uint64_t source = 0;  ///< fingerprint of foreign files; 0: none
  std::uint64_t version = 0;  ///< this and the next as `loaded_index` says
  std::int64_t adopted = 0;
  bool keep_zip = false;
  bool allow_unsafe_types = false;
  std::string validate_hash{};
  unsigned download_retry = 2;
  std::chrono::nanoseconds download_timeout{};
  std::chrono::nanoseconds patience = default_patience;
  shared_retry_budget budget{};  ///< of the requests for the index

  [[nodiscard]] retry_policy requests() const noexcept {
    return patient_requests(patience, download_retry);
  }
};

/// Not thread-safe.
class opened_streams {
 public:
  using options = dataset_options;

  /// Settles where everything lies and opens the stores; nothing is fetched yet.
  /// Throws `errc::invalid_argument` for options that contradict each other.
  opened_streams(const options& given, runtime& threads, const detail::storage_policies& policies);

  /// Loads the index of every stream, see `load_index` and `index_loading`. Blocks; never on a
  /// thread of the runtime.
  void load();

  /// The same without blocking: completes once, on the pool, with nothing or what `load` throws,
  /// `errc::canceled` after a stop. To be called on the pool; this has to stay until then.
  void async_load(std::stop_token stop, unique_function<void(std::exception_ptr)> done);

  [[nodiscard]] std::vector<opened_stream>& streams() noexcept { return streams_; }
  /// The cache directory; empty where no stream has a remote.
  [[nodiscard]] const std::string& root() const noexcept { return root_; }
  /// Takes warnings of what can be worked with: as the options say, or into `warnings`.
  [[nodiscard]] warning_function warn_of(const options& given) const;
  /// Where warnings go when the options name no function for them.
  [[nodiscard]] const std::shared_ptr<kept_warnings>& warnings() const noexcept {
    return warnings_;
  }

 private:
  /// Some streams at a time; its steps run on the pool.
  struct loading : std::enable_shared_from_this<loading> {
    loading(opened_streams& streams, std::stop_token token,
            unique_function<void(std::exception_ptr)> handler)
        : all(streams), stop(std::move(token)), done(std::move(handler)) {}

    void begin();

    /// The next stream, or the end of one of those that go side by side.
    void go_on();

    /// False when it has ended already.
    bool begin(std::size_t number);

    /// Loads the index of a stream's remote, or one that was made.
    void load(opened_stream& stream, index_source source);
    /// Finds out of foreign files, or of the datasets of a join, which index they make.
    void open_source(opened_stream& stream, index_source source);
    void open_joined(opened_stream& stream, index_source source);
    /// Calls `open`, which may block, on a thread of its own, and goes on with what it gives.
    void open_elsewhere(opened_stream& stream, index_source source,
                        unique_function<opened_source()> open);
    void take(opened_stream& stream, loaded_index loaded);

    [[nodiscard]] bool failed();
    void fail(std::exception_ptr why);
    void leave();

    static constexpr std::size_t most_at_a_time = 32;

    opened_streams& all;
    std::stop_token stop;
    unique_function<void(std::exception_ptr)> done;
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> going{0};
    std::mutex mutex;
    std::exception_ptr failure;
  };

  [[nodiscard]] index_source source_of(const opened_stream& stream) const;

  [[nodiscard]] opened_stream open(const options& given, stream_options stream,
                                   stream_place place) const;
  /// Puts the datasets of a join in the place of the stream's remote.
  void join(opened_stream& stream, std::vector<joined_dataset> others) const;

  static std::vector<stream_options> streams_of(const options& given);

  // With one stream in short form, `local` is that stream's own directory.
  static std::string local_of(const options& given) {
    return given.streams.empty() ? std::string() : given.local;
  }

  /// Below the system's temporary directory, where others may write too: made for this user alone,
  /// because a writer there decides what is read.
  static std::string temporary();

  static bool needs_temporary(const std::vector<stream_options>& streams, const std::string& local);

  static std::vector<stream_request> requests(const std::vector<stream_options>& streams);

  runtime& threads_;
  detail::storage_policies policies_;
  std::shared_ptr<kept_warnings> warnings_ = std::make_shared<kept_warnings>();
  warning_function warn_;
  std::string root_;
  std::vector<opened_stream> streams_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/opened_streams.ipp>
#endif
