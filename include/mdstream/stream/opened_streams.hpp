#pragma once

/// The streams of a dataset, opened: their stores and indexes.

#include <mdstream/async/event.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/describe_streams.hpp>
#include <mdstream/cache/load_index.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/places.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

template <class Store>
struct opened_stream {
  stream_place place{};
  std::optional<Store> remote{};
  std::shared_ptr<const dataset_index> index{};
  std::uint64_t version = 0;  ///< this and the next as `loaded_index` says
  std::int64_t adopted = 0;
  bool keep_zip = false;
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
template <class Store>
class opened_streams {
 public:
  using options = dataset_options<Store>;

  /// Settles where everything lies and opens the stores; nothing is fetched yet.
  /// Throws `errc::invalid_argument` for options that contradict each other.
  opened_streams(const options& given, runtime& threads)
      : threads_(threads), warn_(warn_of(given)) {
    std::vector<stream_options<Store>> streams = streams_of(given);
    dataset_places places =
        settle_places(requests(streams), local_of(given),
                      needs_temporary(streams, local_of(given)) ? temporary() : std::string());
    root_ = std::move(places.root);
    for (std::size_t i = 0; i < streams.size(); ++i)
      streams_.push_back(open(given, std::move(streams[i]), std::move(places.streams[i])));
  }

  /// Loads the index of every stream, see `load_index` and `index_loading`. Blocks; never on a
  /// thread of the runtime.
  void load() {
    std::exception_ptr failure;
    one_time_event ended;
    async_load({}, [&](std::exception_ptr why) {
      failure = std::move(why);
      ended.set();
    });
    ended.wait();
    if (failure) std::rethrow_exception(failure);
  }

  /// The same without blocking: completes once, on the pool, with nothing or what `load` throws,
  /// `errc::canceled` after a stop. To be called on the pool; this has to stay until then.
  void async_load(std::stop_token stop, unique_function<void(std::exception_ptr)> done) {
    std::make_shared<loading>(*this, std::move(stop), std::move(done))->begin();
  }

  [[nodiscard]] std::vector<opened_stream<Store>>& streams() noexcept { return streams_; }
  /// The cache directory; empty where no stream has a remote.
  [[nodiscard]] const std::string& root() const noexcept { return root_; }
  /// Who is told of what can be worked with: as the options say, or who takes it from `warnings`.
  [[nodiscard]] warning_function warn_of(const options& given) const {
    if (given.warn) return given.warn;
    return [kept = warnings_](const std::string& text) { kept->add(text); };
  }
  /// Where warnings go when the options do not say who is told.
  [[nodiscard]] const std::shared_ptr<kept_warnings>& warnings() const noexcept {
    return warnings_;
  }

 private:
  /// Some streams at a time; its steps run on the pool.
  struct loading : std::enable_shared_from_this<loading> {
    loading(opened_streams& streams, std::stop_token token,
            unique_function<void(std::exception_ptr)> handler)
        : all(streams), stop(std::move(token)), done(std::move(handler)) {}

    void begin() {
      const std::size_t lanes = std::clamp<std::size_t>(all.streams_.size(), 1, most_at_a_time);
      going = lanes;
      for (std::size_t i = 0; i < lanes; ++i) go_on();
    }

    /// The next stream, or the end of one of those that go side by side.
    void go_on() {
      while (true) {
        const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
        if (number >= all.streams_.size() || failed()) return leave();
        if (begin(number)) return;
      }
    }

    /// False when it has ended already.
    bool begin(std::size_t number) {
      opened_stream<Store>& each = all.streams_[number];
      try {
        if (stop.stop_requested()) throw error(errc::canceled, "opening was canceled");
        index_source source = all.source_of(each);
        if (!each.remote || detail::is_same_place(*each.remote, source.prefix,
                                                  detail::normal_path(source.directory))) {
          each.index = std::make_shared<const dataset_index>(load_index(source));
          return false;
        }
        index_loading::start(
            all.threads_, any_async_store(make_async(all.threads_, *each.remote)),
            std::move(source), stop,
            [self = this->shared_from_this(), &each](std::exception_ptr why, loaded_index loaded) {
              why ? self->fail(std::move(why)) : self->take(each, std::move(loaded));
              self->go_on();
            });
        return true;
      } catch (...) {
        fail(std::current_exception());
        return false;
      }
    }

    void take(opened_stream<Store>& stream, loaded_index loaded) {
      stream.index = std::make_shared<const dataset_index>(std::move(loaded.index));
      stream.version = loaded.version;
      stream.adopted = loaded.adopted;
      if (!loaded.notice.empty())
        all.warn_("stream \"" + stream.place.name + "\": " + loaded.notice);
    }

    [[nodiscard]] bool failed() {
      const std::lock_guard lock(mutex);
      return failure != nullptr;
    }
    void fail(std::exception_ptr why) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::move(why);
    }
    void leave() {
      if (going.fetch_sub(1) == 1) done(std::exchange(failure, nullptr));
    }

    static constexpr std::size_t most_at_a_time = 32;

    opened_streams& all;
    std::stop_token stop;
    unique_function<void(std::exception_ptr)> done;
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> going{0};
    std::mutex mutex;
    std::exception_ptr failure;
  };

  [[nodiscard]] index_source source_of(const opened_stream<Store>& stream) const {
    return {.name = stream.place.name,
            .directory = stream.place.directory,
            .root = root_,
            .prefix = stream.place.split,
            .retry = stream.requests(),
            .budget = stream.budget};
  }

  [[nodiscard]] opened_stream<Store> open(const options& given, stream_options<Store> stream,
                                          stream_place place) const {
    opened_stream<Store> out{
        .remote = std::move(stream.store),
        .keep_zip = stream.keep_zip.value_or(given.keep_zip),
        .validate_hash = stream.validate_hash.value_or(given.validate_hash),
        .download_retry = stream.download_retry.value_or(given.download_retry),
        .download_timeout = stream.download_timeout.value_or(given.download_timeout),
        .patience = stream.patience.value_or(given.patience)};
    out.budget = {retry_budget(), detail::tells_of_trouble(warn_, place.name, out.patience)};
    if (out.download_retry == 0)
      throw error(errc::invalid_argument,
                  diagnostics{.what = "download_retry counts all attempts, so it is at least 1",
                              .stream = place.name});
    if (!out.remote && !place.remote.empty())
      out.remote = open_store<Store>(place.remote, threads_, warn_);
    out.place = std::move(place);
    return out;
  }

  static std::vector<stream_options<Store>> streams_of(const options& given) {
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

  static bool needs_temporary(const std::vector<stream_options<Store>>& streams,
                              const std::string& local) {
    return local.empty() &&
           std::ranges::any_of(streams, [](const auto& stream) { return stream.local.empty(); });
  }

  static std::vector<stream_request> requests(const std::vector<stream_options<Store>>& streams) {
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

  runtime& threads_;
  std::shared_ptr<kept_warnings> warnings_ = std::make_shared<kept_warnings>();
  warning_function warn_;
  std::string root_;
  std::vector<opened_stream<Store>> streams_;
};

}  // namespace mdstream::inline v0
