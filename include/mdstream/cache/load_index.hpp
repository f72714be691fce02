#pragma once

/// Brings the index of a dataset to where its shards will be cached.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/describe_streams.hpp>
#include <mdstream/cache/detail/settled_index.hpp>
#include <mdstream/cache/detail/shard_facts.hpp>
#include <mdstream/cache/detail/stream_origin.hpp>
#include <mdstream/cache/file_lock.hpp>
#include <mdstream/cache/journal.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/file.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/shared_retry_budget.hpp>
#include <mdstream/store/store.hpp>
#include <mdstream/store/versions.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

struct index_source {
  std::string name{};       ///< of the stream, for messages
  std::string directory{};  ///< `<local>/<split>`
  std::string root{};       ///< the cache's directory; empty: there is none
  std::string prefix{};     ///< put before `index.json` in the remote: the split
  retry_policy retry = patient_requests(default_patience, 2);
  shared_retry_budget budget{};
  bool allow_unsafe_types = false;
};

namespace detail {

[[nodiscard]] inline dataset_index parse_index(std::string_view text, const index_source& source,
                                               std::string url) {
  return dataset_index::parse(text, {.allow_unsafe_types = source.allow_unsafe_types,
                                     .where = {.stream = source.name, .url = std::move(url)}});
}

inline constexpr std::string_view index_in_the_making = ".mdstream-index-";

/// Deletes what processes left that were killed while they put an index there: files in the making
/// that nobody holds locked.
inline void drop_dead_indexes(const std::string& directory) {
  std::error_code failure;
  std::filesystem::directory_iterator at(directory, failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    if (!at->path().filename().native().starts_with(index_in_the_making)) continue;
    const std::string& path = at->path().native();
    const unique_fd fd = try_open(path, O_RDWR);
    if (fd && try_lock_file(fd.get(), lock_kind::exclusive, path)) ::unlink(path.c_str());
  }
}

/// Puts an index there, whole or not at all.
inline void keep_index(const std::string& directory, bytes_view bytes) {
  if (const int failure = make_shared_directories(directory); failure != 0)
    throw system_failure(failure, "cannot make the directory", directory);
  drop_dead_indexes(directory);
  std::string temporary;
  unique_fd fd;
  while (!fd) {  // who cleans up at this moment may come between making and locking
    temporary = directory + '/' + std::string(index_in_the_making) + unique_name() + ".tmp";
    fd = try_lock_path(temporary, lock_kind::exclusive);
  }
  try {
    write_at(fd.get(), 0, bytes, temporary);
    const std::string path = directory + "/index.json";
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throw system_failure(errno, "cannot rename a temporary file to", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

/// Has the bytes in use below a cache's root counted anew, by who looks next.
inline void count_anew(const std::string& root) {
  const std::string path = root + "/.mdstream/lock";
  const unique_fd lock = root.empty() ? unique_fd() : try_open(path, O_RDWR);
  if (!lock) return;
  lock_file(lock.get(), path);
  cache_journal journal(root + "/.mdstream/journal");
  if (journal.read()) journal.begin_change();
}

/// What lies in a stream's directory as it is opened.
struct held_index {
  std::optional<stream_origin> origin{};
  std::optional<dataset_index> index{};  ///< none, or damaged
  std::uint64_t version = 0;             ///< of that index; 0: none
};

/// The index that lies in the stream's directory, whosever it is. A damaged one is none if there is
/// a remote that has it; without one it is an error, as is one that is missing.
[[nodiscard]] inline held_index read_held_index(const index_source& source, bool has_remote) {
  held_index held;
  const std::string path = source.directory + "/index.json";
  if (const unique_fd fd = try_open(path, O_RDONLY)) {
    std::string text(static_cast<std::size_t>(file_size(fd.get(), path)), '\0');
    text.resize(read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), path));
    try {
      held.index = parse_index(text, source, path);
      held.version = index_version(as_bytes(text));
    } catch (const error& e) {
      if (e.code() != errc::corrupt || !has_remote) throw;
    }
  } else if (errno != ENOENT && errno != ENOTDIR) {
    throw system_failure(errno, "cannot open", path);
  } else if (!has_remote) {
    throw error(errc::not_found, {.what = "there is no index here, and the stream has no remote",
                                  .stream = source.name,
                                  .url = path});
  }
  if (has_remote) held.origin = read_origin(source.directory);
  return held;
}

}  // namespace detail

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
                std::stop_token stop, handler done)
      : threads_(threads),
        remote_(threads, std::move(remote), requests_of(source), source.budget),
        source_(std::move(source)),
        key_(join_key(source_.prefix, index_file_name)),
        offered_{.remote = place_of(remote_.url(source_.prefix))},
        stop_(std::move(stop)),
        done_(std::move(done)) {}

  static void start(runtime& threads, any_async_store remote, index_source source,
                    std::stop_token stop, handler done) {
    auto made = std::make_shared<index_loading>(
        access{}, threads, std::move(remote), std::move(source), std::move(stop), std::move(done));
    threads.post([made] { made->guarded([&] { made->begin(); }); });
  }

 private:
  /// Where an index lies there, that is gone on with soon; where none does, the remote is waited
  /// for.
  [[nodiscard]] static retry_policy requests_of(const index_source& source) {
    retry_policy out = source.retry;
    std::error_code failure;
    if (std::filesystem::exists(source.directory + '/' + std::string(index_file_name), failure))
      out.patience = {};
    return out;
  }
  /// Equal for equal places: a path is made absolute, and neither ends with a slash.
  [[nodiscard]] static std::string place_of(std::string url) {
    if (url_scheme(url).empty()) return detail::normal_path(url);
    while (url.ends_with('/')) url.pop_back();
    return url;
  }

  template <class Step>
  void guarded(Step step) {
    try {
      step();
    } catch (...) {
      done_(std::current_exception(), {});
    }
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

  void begin() {
    if (stop_.stop_requested()) throw error(errc::canceled, "opening was canceled");
    held_ = detail::read_held_index(source_, true);
    async_version_of(remote_, key_, stop_, where_,
                     [self = shared_from_this()](std::error_code code, object_version found) {
                       self->go_on(code, [self = self.get(), found] { self->told(found); });
                     });
  }

  /// Whether what lies there was fetched from this remote.
  [[nodiscard]] bool holds_own() const {
    return held_.index && held_.origin && held_.origin->remote == offered_.remote &&
           held_.origin->version == held_.version;
  }

  [[nodiscard]] mutable_bytes bytes() const noexcept { return {room_.data(), room_.size()}; }

  void told(const object_version& found) {
    found_ = found;
    if (has_known_tag()) {
      index_ = *held_.index;
      offered_.version = held_.version;
      return compare_shards();
    }
    try {
      room_ = detail::room_for_object(found.bytes, remote_.url(key_));
    } catch (const error& e) {
      return without_remote(e);
    }
    async_read_version_of(remote_, key_, found, 0, bytes(), stop_, where_,
                          [self = shared_from_this()](std::error_code code, std::size_t got) {
                            self->go_on(code, [self = self.get(), got] { self->came(got); });
                          });
  }

  /// Whether the index of the remote is the one that lies there.
  [[nodiscard]] bool has_known_tag() const {
    return !found_.tag.empty() && holds_own() && held_.origin->tag == found_.tag &&
           held_.origin->tagged_bytes == found_.bytes;
  }

  void came(std::size_t got) {
    const std::string url = remote_.url(key_);
    if (got != bytes().size() && ++cut_short_ < source_.retry.attempts) return begin();
    try {
      if (got != bytes().size())
        throw error(errc::corrupt,
                    {.what = "the object became shorter while it was read", .url = url});
      index_ = detail::parse_index(as_text(bytes()), source_, url);
    } catch (const error& e) {
      return without_remote(e);
    }
    offered_.version = detail::index_version(bytes());
    compare_shards();
  }

  /// What was fetched before serves where the remote does not.
  void without_remote(const error& why) {
    const std::string url = remote_.url(key_);
    if (!holds_own())
      throw error(why.code(), diagnostics{.what = "cannot fetch the index",
                                          .stream = source_.name,
                                          .url = url,
                                          .cause = why.what()});
    std::string first_line(why.what());
    first_line.resize(std::min(first_line.find('\n'), first_line.size()));
    notice_ = "cannot ask whether the dataset changed: " + first_line + "; going on with what " +
              source_.directory + " holds of " + offered_.remote;
    finish(*std::move(held_.index), *held_.origin);
  }

  // Indexes without hashes may be equal though the shards are not. There the ends of a few shards
  // that lie here, where the samples are, are compared with the remote's.

  void compare_shards() {
    offered_.is_hashed = detail::is_hashed(index_);
    if (!offered_.is_hashed) find_probes();
    probe();
  }

  void find_probes() {
    if (held_.version != 0 && held_.version != offered_.version) return;
    const std::size_t step = 1 + index_.shards() / most_looked_at;
    for (std::size_t i = 0; i < index_.shards() && probes_.size() < most_probes; i += step) {
      file_info file = index_.raw(i);
      struct stat info{};
      const std::string path = source_.directory + '/' + file.name;
      if (!index_.zip(i) && ::stat(path.c_str(), &info) == 0 &&
          static_cast<std::uint64_t>(info.st_size) == file.bytes)
        probes_.push_back(std::move(file));
    }
    // Compressed shards of different samples differ in size: an equal index has said enough.
    offered_.same_bytes = held_.version != 0 || held_.origin || !index_.zip(0);
  }

  void probe() {
    if (probes_.empty()) {
      if (has_known_tag() && offered_.same_bytes) return finish(std::move(index_), *held_.origin);
      return settle();
    }
    const std::uint64_t size = probes_.back().bytes;
    bytes_of_probe_.resize(static_cast<std::size_t>(std::min(size, probe_bytes)));
    remote_.async_read(join_key(source_.prefix, probes_.back().name), size - bytes_of_probe_.size(),
                       bytes_of_probe_, stop_, where_,
                       [self = shared_from_this()](std::error_code code, std::size_t got) {
                         self->go_on(code, [self = self.get(), got] { self->compare(got); });
                       });
  }

  void compare(std::size_t got) {
    const std::string path = source_.directory + '/' + probes_.back().name;
    std::vector<std::byte> here(bytes_of_probe_.size());
    if (const unique_fd fd = detail::try_open(path, O_RDONLY)) {  // else it was evicted meanwhile
      here.resize(detail::read_at(fd.get(), probes_.back().bytes - here.size(), here, path));
      bytes_of_probe_.resize(got);
      offered_.same_bytes = offered_.same_bytes && here == bytes_of_probe_;
    }
    probes_.pop_back();
    probe();
  }

  // Under the directory's lock.

  void settle() {
    detail::stream_origin origin;
    try {
      const std::string own = source_.directory + "/.mdstream";
      if (const int failure = detail::make_directories(own); failure != 0)
        throw system_failure(failure, "cannot make the directory", own);
      const std::string path = own + "/origin.lock";
      const unique_fd lock = detail::open_lock(path);
      detail::lock_file(lock.get(), path);
      held_ = detail::read_held_index(source_, true);  // another process may have been faster
      if (held_.version != offered_.version && bytes().empty()) return begin();
      origin = settle_held();
    } catch (const error& e) {
      if (e.code() != errc::permission_denied) throw;
      const detail::settlement result = settlement();
      if (result == detail::settlement::refuse) refuse();
      if (result == detail::settlement::replace && holds_files()) throw;
    }
    finish(std::move(index_), origin);
  }

  [[nodiscard]] bool holds_files() const {
    return detail::holds_files(source_.directory, held_.index ? &*held_.index : nullptr, index_);
  }
  [[nodiscard]] detail::settlement settlement() const {
    const bool is_known = held_.origin && held_.origin->remote == offered_.remote;
    return detail::settle(
        {.origin = held_.origin, .version = held_.version, .has_files = !is_known && holds_files()},
        offered_);
  }

  [[nodiscard]] detail::stream_origin settle_held() {
    const detail::settlement result = settlement();
    if (result == detail::settlement::refuse) refuse();
    detail::stream_origin origin{.remote = offered_.remote,
                                 .version = offered_.version,
                                 .tag = found_.tag,
                                 .tagged_bytes = found_.bytes};
    if (result == detail::settlement::hold) origin.adopted = held_.origin->adopted;
    if (result == detail::settlement::adopt) origin.adopted = detail::file_clock_now();
    if (result == detail::settlement::replace) replace();
    if (held_.version != offered_.version) detail::keep_index(source_.directory, bytes());
    detail::make_facts(source_.directory, origin.version);
    if (held_.origin != origin) detail::write_origin(source_.directory, origin);
    return origin;
  }

  /// The record changes last: who dies before leaves a directory that is replaced again.
  void replace() {
    if (held_.origin) detail::drop_facts(source_.directory, held_.origin->version);
    const dataset_index* const before = held_.index ? &*held_.index : nullptr;
    const detail::dropped_files files =
        detail::drop_other_versions(source_.directory, before, index_);
    if (files.dropped + files.kept == 0) return;
    detail::count_anew(source_.root);
    const bool same_index = held_.version == offered_.version;
    notice_ = std::string("the dataset was rewritten") +
              (same_index ? ", or files here were damaged," : "") + " since " + source_.directory +
              " was filled from it (" + offered_.remote + "): of the files there, " +
              std::to_string(files.dropped) + " were of another version and were deleted, " +
              std::to_string(files.kept) + " are in both";
  }

  [[noreturn]] void refuse() const {
    const std::string other =
        held_.origin ? held_.origin->remote
                     : std::string("another dataset, as its index or the ends of its shards tell");
    throw error(errc::invalid_argument,
                {.what = "the directory holds shards of " + other + ", not of " + offered_.remote +
                         ": give this stream a local of its own, or delete the directory",
                 .stream = source_.name,
                 .url = source_.directory});
  }

  void finish(dataset_index index, const detail::stream_origin& origin) {
    done_(nullptr, {.index = std::move(index),
                    .version = origin.version,
                    .adopted = origin.adopted,
                    .notice = std::move(notice_)});
  }

  static constexpr std::size_t most_probes = 3;
  static constexpr std::size_t most_looked_at = 20'000;
  static constexpr std::uint64_t probe_bytes = std::uint64_t{64} << 10;

  runtime& threads_;
  retrying<any_async_store> remote_;
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
  unsigned cut_short_ = 0;  // times that the index was shorter than its size
};

}  // namespace mdstream::inline v0
