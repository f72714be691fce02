#pragma once

/// Brings the index of a dataset to where its shards will be cached.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/settled_index.hpp>
#include <mdstream/cache/detail/stream_origin.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct index_source {
  std::string name{};       ///< of the stream, for messages
  std::string directory{};  ///< `<local>/<split>`
  std::string root{};       ///< the cache's directory; empty: there is none
  std::string prefix{};     ///< put before `index.json` in the remote: the split
  retry_policy retry = patient_requests(default_patience, 2);
  shared_retry_budget budget{};
  /// A request that brings nothing for so long is given up, and repeated.
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  /// The index, where it is not an object of the remote: it has to record hashes.
  std::optional<std::string> made{};
  bool allow_unsafe_types = false;
};

inline constexpr std::string_view index_in_the_making = ".mdstream-index-";

/// What lies in a stream's directory as it is opened.
struct held_index {
  std::optional<stream_origin> origin{};
  std::optional<dataset_index> index{};  ///< none, or damaged
  std::uint64_t version = 0;             ///< of that index; 0: none
};

/// The index that lies in the stream's directory, whosever it is. A damaged one is none if there is
/// a remote that has it; without one it is an error, as is one that is missing.
[[nodiscard]] held_index read_held_index(const index_source& source, bool has_remote);

/// An index, and what is known of the directory that its shards are fetched into.
struct loaded_index {
  dataset_index index{};
  std::uint64_t version = 0;  ///< of the dataset that the directory holds; 0: nothing is kept of it
  std::int64_t adopted = 0;   ///< see `stream_origin`
  std::string notice{};       ///< what the user should hear of; or empty
};

/// The index of a dataset without a remote. Throws what `dataset_index::parse` throws, and
/// `errc::not_found`.
[[nodiscard]] inline dataset_index load_index(const index_source& source) {
  return *detail::read_held_index(source, false).index;
}

/// The index of a dataset with a remote, which is asked whether it changed: by the tag of its index
/// where it has tags, else by the index itself, and, where that has no hashes, by some bytes of
/// shards that lie here. What is new is put into the stream's directory,
/// whole or not at all, and shards of another version are deleted there. A directory with shards of
/// another dataset is refused. When the remote does not answer, what was fetched from it before
/// serves, and the notice says so. Where nothing can be written, the index is used without being
/// kept.
///
/// Completes once, on the pool, with what the remote and `dataset_index::parse` throw; a stop ends
/// it with `errc::canceled`.
class index_loading : public std::enable_shared_from_this<index_loading> {
  struct access {};

 public:
  using handler = unique_function<void(std::exception_ptr, loaded_index)>;

  index_loading(access, runtime& threads, any_async_store remote, index_source source,
                std::stop_token stop, handler done);

  static void start(runtime& threads, any_async_store remote, index_source source,
                    std::stop_token stop, handler done);

 private:
  /// Where an index lies there, that is gone on with soon; where none does, the remote is waited
  /// for.
  [[nodiscard]] static retry_policy requests_of(const index_source& source);
  /// Equal for equal places: a path is made absolute, and neither ends with a slash.
  [[nodiscard]] static std::string place_of(std::string url);

  template <class Step>
  void guarded(Step step) {
    std::exception_ptr failure;
    try {
      step();
      return;
    } catch (...) {
      failure = std::current_exception();
    }
    done_(std::move(failure), {});
  }
  /// Goes on on the pool, with what a request of the remote came to.
  template <class Step>
  void go_on(std::error_code code, Step step) {
    threads_.post([self = shared_from_this(), code, step = std::move(step)]() mutable {
      self->guarded([&] {
        if (self->stop_.stop_requested()) throw error(errc::canceled, "opening was canceled");
        code ? self->without_remote(error(code, std::move(self->where_))) : step();
      });
    });
  }

  void begin();

  /// Whether what lies there was fetched from this remote.
  [[nodiscard]] bool holds_own() const;

  [[nodiscard]] mutable_bytes bytes() const noexcept { return {room_.data(), room_.size()}; }

  void take_made();

  void told(const object_version& found);

  void read_index();

  /// Whether the index of the remote equals the cached index, by its tag.
  [[nodiscard]] bool has_known_tag() const;

  void came(std::uint64_t got);

  /// What was fetched before serves where the remote does not.
  void without_remote(const error& why);

  // Indexes without hashes may be equal though the shards are not. There the ends of a few shards
  // that lie here, where the samples are, are compared with the remote's.

  void compare_shards();

  void find_probes();

  void probe();

  void compare(std::size_t got);

  // Under the directory's lock.

  void settle();

  [[nodiscard]] bool holds_files() const;
  [[nodiscard]] detail::settlement settlement() const;

  [[nodiscard]] detail::stream_origin settle_held();

  /// The record changes last: a process that dies before leaves a directory to replace again.
  void replace();

  [[noreturn]] void refuse() const;

  void finish(dataset_index index, const detail::stream_origin& origin);

  static constexpr std::size_t most_probes = 3;
  static constexpr std::size_t most_looked_at = 20'000;
  static constexpr std::uint64_t probe_bytes = std::uint64_t{64} << 10;

  runtime& threads_;
  const any_async_store calls_;  // of the store, each given up when it is silent
  const retry_policy requests_;  // how they are repeated
  retrying remote_;              // the calls, repeated
  index_source source_;
  std::string key_;
  detail::offered_dataset offered_;
  std::stop_token stop_;
  handler done_;
  diagnostics where_;
  detail::held_index held_;
  object_version found_;
  pages room_;  // for the index
  dataset_index index_;
  std::vector<file_info> probes_;
  std::vector<std::byte> bytes_of_probe_;
  std::string notice_;
  unsigned begun_anew_ = 0;  // restarts because the index differed from its stat
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/load_index.ipp>
#endif
