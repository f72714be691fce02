#pragma once

#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/cache/detail/describe_streams.hpp>
#include <mdstream/cache/detail/file_lock.hpp>
#include <mdstream/cache/detail/journal.hpp>
#include <mdstream/cache/detail/load_index.hpp>
#include <mdstream/cache/detail/shard_facts.hpp>
#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/core/detail/directory_reader.hpp>
#include <mdstream/store/detail/bounded_calls.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/detail/streamed_read.hpp>
#include <mdstream/version.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE dataset_index parse_index(std::string_view text, const index_source& source,
                                          std::string url) {
  return dataset_index::parse(text, {.allow_unsafe_types = source.allow_unsafe_types,
                                     .where = {.stream = source.name, .url = std::move(url)}});
}

/// Deletes what processes left that were killed while they put an index there: files in the making
/// that nobody holds locked.
MDSTREAM_INLINE void drop_dead_indexes(const std::string& directory) {
  directory_reader entries(directory);
  while (const char* const name = entries.next()) {
    if (!std::string_view(name).starts_with(index_in_the_making)) continue;
    const std::string path = directory + '/' + name;
    const unique_fd fd = try_open(path, O_RDWR);
    if (fd && try_lock_file(fd.get(), lock_kind::exclusive, path)) ::unlink(path.c_str());
  }
}

/// Puts an index there, whole or not at all, also after a loss of power: what is recorded of the
/// directory from now on is of this index.
MDSTREAM_INLINE void keep_index(const std::string& directory, bytes_view bytes) {
  make_cache_directory(directory);
  drop_dead_indexes(directory);
  std::string temporary;
  unique_fd fd;
  while (!fd) {  // a process that cleans up may come between making and locking
    temporary = directory + '/' + std::string(index_in_the_making) + unique_name() + ".tmp";
    fd = try_lock_path(temporary, lock_kind::exclusive);
  }
  try {
    write_at(fd.get(), 0, bytes, temporary);
    make_durable(fd.get(), temporary);
    const std::string path = directory + "/index.json";
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throw system_failure(errno, "cannot rename a temporary file to", path);
    make_directory_durable(directory);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

/// Has the bytes in use below a cache's root counted anew, by the next process that looks.
MDSTREAM_INLINE void count_anew(const std::string& root) {
  const std::string path = root + "/.mdstream/lock";
  const unique_fd lock = root.empty() ? unique_fd() : try_open(path, O_RDWR);
  if (!lock && !root.empty() && lacks_descriptors(errno))
    throw system_failure(errno, "cannot open", path);
  if (!lock) return;
  lock_file(lock.get(), path);
  cache_journal journal(root + "/.mdstream/journal");
  if (journal.read()) journal.begin_change();
}

MDSTREAM_INLINE held_index read_held_index(const index_source& source, bool has_remote) {
  held_index held;
  const std::string path = source.directory + "/index.json";
  if (const unique_fd fd = open_if_there(path, O_RDONLY)) {
    std::string text(static_cast<std::size_t>(file_size(fd.get(), path)), '\0');
    text.resize(read_at(fd.get(), 0, std::as_writable_bytes(std::span(text)), path));
    try {
      held.index = parse_index(text, source, path);
      held.version = index_version(as_bytes(text));
    } catch (const error& e) {
      if (e.code() != errc::corrupt || !has_remote) throw;
    }
  } else if (!has_remote) {
    throw error(errc::not_found, {.what = "there is no index here, and the stream has no remote",
                                  .stream = source.name,
                                  .url = path});
  }
  if (has_remote) held.origin = read_origin(source.directory);
  return held;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE index_loading::index_loading(access, runtime& threads, any_async_store remote,
                                             index_source source, std::stop_token stop,
                                             handler done)
    : threads_(threads),
      calls_(bounded_calls(threads, remote, make_gate(threads, remote), source.timeout, nullptr)),
      requests_(requests_of(source)),
      remote_(threads, calls_, requests_, source.budget),
      source_(std::move(source)),
      key_(join_key(source_.prefix, index_file_name)),
      offered_{.remote = place_of(remote_.url(source_.prefix))},
      stop_(std::move(stop)),
      done_(std::move(done)) {}

MDSTREAM_INLINE void index_loading::start(runtime& threads, any_async_store remote,
                                          index_source source, std::stop_token stop, handler done) {
  auto made = std::make_shared<index_loading>(access{}, threads, std::move(remote),
                                              std::move(source), std::move(stop), std::move(done));
  threads.post([made] { made->guarded([&] { made->begin(); }); });
}

MDSTREAM_INLINE retry_policy index_loading::requests_of(const index_source& source) {
  retry_policy out = source.retry;
  std::error_code failure;
  if (std::filesystem::exists(source.directory + '/' + std::string(index_file_name), failure))
    out.patience = {};
  return out;
}

MDSTREAM_INLINE std::string index_loading::place_of(std::string url) {
  if (url_scheme(url).empty()) return detail::normal_path(url);
  while (url.ends_with('/')) url.pop_back();
  return url;
}

MDSTREAM_INLINE void index_loading::begin() {
  if (stop_.stop_requested()) throw error(errc::canceled, "opening was canceled");
  held_ = detail::read_held_index(source_, true);
  if (source_.made) return take_made();
  remote_.async_version(
      key_, stop_, where_, [self = shared_from_this()](std::error_code code, object_version found) {
        self->go_on(code, [self = self.get(), found = std::move(found)] { self->told(found); });
      });
}

MDSTREAM_INLINE void index_loading::take_made() {
  room_ = pages(source_.made->size());
  std::ranges::copy(as_bytes(*source_.made), room_.data());
  index_ = detail::parse_index(*source_.made, source_, remote_.url(source_.prefix));
  offered_.version = detail::index_version(bytes());
  compare_shards();
}

MDSTREAM_INLINE bool index_loading::holds_own() const {
  return held_.index && held_.origin && held_.origin->remote == offered_.remote &&
         held_.origin->version == held_.version;
}

MDSTREAM_INLINE void index_loading::told(const object_version& found) {
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
  read_index();
}

MDSTREAM_INLINE void index_loading::read_index() {
  async_read_whole(
      threads_, calls_, key_, bytes().size(), ranged_target::memory(bytes()), found_, requests_,
      source_.budget, stop_, where_,
      [self = shared_from_this()](std::error_code code, std::uint64_t got) {
        if (code == errc::corrupt && ++self->begun_anew_ < self->source_.retry.attempts)
          return self->go_on({}, [self = self.get()] { self->begin(); });
        self->go_on(code, [self = self.get(), got] { self->came(got); });
      });
}

MDSTREAM_INLINE bool index_loading::has_known_tag() const {
  return !found_.tag.empty() && holds_own() && held_.origin->tag == found_.tag &&
         held_.origin->tagged_bytes == found_.bytes;
}

MDSTREAM_INLINE void index_loading::came(std::uint64_t got) {
  const std::string url = remote_.url(key_);
  if (got != bytes().size() && ++begun_anew_ < source_.retry.attempts) return begin();
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

MDSTREAM_INLINE void index_loading::without_remote(const error& why) {
  const std::string url = remote_.url(key_);
  if (!holds_own())
    throw error(why.code(), diagnostics{.what = why.code() == errc::not_found
                                                    ? "there is no dataset: it has no index here; "
                                                      "check the remote and the split"
                                                    : "cannot fetch the index",
                                        .stream = source_.name,
                                        .url = url,
                                        .cause = why.what()});
  std::string first_line(why.what());
  first_line.resize(std::min(first_line.find('\n'), first_line.size()));
  notice_ = "cannot ask whether the dataset changed: " + first_line + "; going on with what " +
            source_.directory + " holds of " + offered_.remote;
  finish(*std::move(held_.index), *held_.origin);
}

MDSTREAM_INLINE void index_loading::compare_shards() {
  offered_.is_hashed = detail::is_hashed(index_);
  if (!offered_.is_hashed) find_probes();
  probe();
}

MDSTREAM_INLINE void index_loading::find_probes() {
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

MDSTREAM_INLINE void index_loading::probe() {
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

MDSTREAM_INLINE void index_loading::compare(std::size_t got) {
  const std::string path = source_.directory + '/' + probes_.back().name;
  std::vector<std::byte> here(bytes_of_probe_.size());
  if (const unique_fd fd = detail::open_if_there(path, O_RDONLY)) {  // else it was evicted
    here.resize(detail::read_at(fd.get(), probes_.back().bytes - here.size(), here, path));
    bytes_of_probe_.resize(got);
    offered_.same_bytes = offered_.same_bytes && here == bytes_of_probe_;
  }
  probes_.pop_back();
  probe();
}

MDSTREAM_INLINE void index_loading::settle() {
  detail::stream_origin origin;
  try {
    const std::string own = source_.directory + "/.mdstream";
    make_cache_directory(own);
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

MDSTREAM_INLINE bool index_loading::holds_files() const {
  return detail::holds_files(source_.directory, held_.index ? &*held_.index : nullptr, index_);
}

MDSTREAM_INLINE detail::settlement index_loading::settlement() const {
  const bool is_known = held_.origin && held_.origin->remote == offered_.remote;
  return detail::settle(
      {.origin = held_.origin, .version = held_.version, .has_files = !is_known && holds_files()},
      offered_);
}

MDSTREAM_INLINE detail::stream_origin index_loading::settle_held() {
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

MDSTREAM_INLINE void index_loading::replace() {
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

MDSTREAM_INLINE void index_loading::refuse() const {
  const std::string other =
      held_.origin ? held_.origin->remote
                   : std::string("another dataset, as its index or the ends of its shards tell");
  throw error(errc::invalid_argument,
              {.what = "the directory holds shards of " + other + ", not of " + offered_.remote +
                       ": give this stream a local of its own, or delete the directory",
               .stream = source_.name,
               .url = source_.directory});
}

MDSTREAM_INLINE void index_loading::finish(dataset_index index,
                                           const detail::stream_origin& origin) {
  done_(nullptr, {.index = std::move(index),
                  .version = origin.version,
                  .adopted = origin.adopted,
                  .notice = std::move(notice_)});
}

}  // namespace mdstream::inline v0::detail
