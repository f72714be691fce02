#pragma once

#include <mdstream/async/detail/event.hpp>
#include <mdstream/async/detail/start_thread.hpp>
#include <mdstream/cache/detail/describe_streams.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/source/detail/source_request.hpp>
#include <mdstream/store/prefixed.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/stream/detail/joined_source.hpp>
#include <mdstream/stream/detail/opened_streams.hpp>
#include <mdstream/version.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>

namespace mdstream::inline v0::detail {

/// Whether the remote holds foreign files, and no dataset.
[[nodiscard]] MDSTREAM_INLINE bool reads_files(const stream_options& stream) {
  return !stream.raw.format.empty() || !stream.raw.files.empty();
}

MDSTREAM_INLINE opened_streams::opened_streams(const options& given, runtime& threads,
                                               const detail::storage_policies& policies)
    : threads_(threads), policies_(policies), warn_(warn_of(given)) {
  std::vector<stream_options> streams = streams_of(given);
  std::error_code deleted;  // then relative paths lead nowhere
  dataset_places places =
      settle_places(requests(streams), local_of(given),
                    needs_temporary(streams, local_of(given)) ? temporary() : std::string(),
                    std::filesystem::current_path(deleted).native());
  root_ = std::move(places.root);
  for (std::size_t i = 0; i < streams.size(); ++i)
    streams_.push_back(open(given, std::move(streams[i]), std::move(places.streams[i])));
}

MDSTREAM_INLINE void opened_streams::load() {
  std::exception_ptr failure;
  one_time_event ended;
  async_load({}, [&](std::exception_ptr why) {
    failure = std::move(why);
    ended.set();
  });
  ended.wait();
  if (failure) std::rethrow_exception(failure);
}

MDSTREAM_INLINE void opened_streams::async_load(std::stop_token stop,
                                                unique_function<void(std::exception_ptr)> done) {
  std::make_shared<loading>(*this, std::move(stop), std::move(done))->begin();
}

MDSTREAM_INLINE warning_function opened_streams::warn_of(const options& given) const {
  if (given.warn) return given.warn;
  return [kept = warnings_](const std::string& text) { kept->add(text); };
}

MDSTREAM_INLINE void opened_streams::loading::begin() {
  const std::size_t lanes = std::clamp<std::size_t>(all.streams_.size(), 1, most_at_a_time);
  going = lanes;
  for (std::size_t i = 0; i < lanes; ++i) go_on();
}

MDSTREAM_INLINE void opened_streams::loading::go_on() {
  while (true) {
    const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
    if (number >= all.streams_.size() || failed()) return leave();
    if (begin(number)) return;
  }
}

MDSTREAM_INLINE bool opened_streams::loading::begin(std::size_t number) {
  opened_stream& each = all.streams_[number];
  try {
    if (stop.stop_requested()) throw error(errc::canceled, "opening was canceled");
    index_source source = all.source_of(each);
    if (!each.remote ||
        detail::is_same_place(*each.remote, source.prefix, detail::normal_path(source.directory))) {
      each.index = std::make_shared<const dataset_index>(load_index(source));
      return false;
    }
    if (each.raw)
      open_source(each, std::move(source));
    else if (!each.joined.empty())
      open_joined(each, std::move(source));
    else
      load(each, std::move(source));
    return true;
  } catch (...) {
    fail(std::current_exception());
    return false;
  }
}

MDSTREAM_INLINE void opened_streams::loading::load(opened_stream& stream, index_source source) {
  index_loading::start(
      all.threads_, stream.remote->on(all.threads_), std::move(source), stop,
      [self = this->shared_from_this(), &stream](std::exception_ptr why, loaded_index loaded) {
        why ? self->fail(std::move(why)) : self->take(stream, std::move(loaded));
        self->go_on();
      });
}

MDSTREAM_INLINE void opened_streams::loading::open_source(opened_stream& stream,
                                                          index_source source) {
  retry_policy requests = source.retry;  // where an index lies there, that is gone on with soon
  std::error_code ignored;
  if (std::filesystem::exists(source.directory + "/index.json", ignored)) requests.patience = {};
  auto request = std::make_shared<source_request>(source_request{
      .name = source.name,
      .store =
          prefixed(retrying(all.threads_, stream.remote->on(all.threads_), requests, source.budget),
                   source.prefix),
      .about = *stream.raw,
      .decoders = all.policies_.codecs.streams(),
      .directory = source.directory,
      .in_place = stream.in_place,
      .warn = all.warn_,
      .stop = stop});
  open_elsewhere(stream, std::move(source),
                 [open = all.policies_.open_source, request]() -> opened_source {
                   return open(std::move(*request));
                 });
}

MDSTREAM_INLINE void opened_streams::loading::open_joined(opened_stream& stream,
                                                          index_source source) {
  join_request request{.codecs = all.policies_.codecs,
                       .hashes = all.policies_.hashes,
                       .validate_hash = std::exchange(stream.validate_hash, {}),
                       .index = {.allow_unsafe_types = stream.allow_unsafe_types,
                                 .where = {.stream = stream.place.name}}};
  for (const any_async_store& each : stream.joined)
    request.parts.push_back(retrying(all.threads_, each, source.retry, source.budget));
  open_elsewhere(stream, std::move(source),
                 [request = std::move(request)]() mutable -> opened_source {
                   return detail::open_joined(std::move(request));
                 });
}

MDSTREAM_INLINE void opened_streams::loading::open_elsewhere(
    opened_stream& stream, index_source source, unique_function<opened_source()> open) {
  struct thread_of_opening {
    std::thread thread{};
    one_time_event began{};
  };
  auto own = std::make_shared<thread_of_opening>();
  own->thread = detail::start_thread([self = this->shared_from_this(), own, &stream,
                                      open = std::move(open),
                                      source = std::move(source)]() mutable {
    own->began.wait();
    std::exception_ptr why;
    try {
      opened_source opened = open();
      source.made = std::move(opened.index);
      stream.maker = std::move(opened.maker);
      stream.source = opened.fingerprint;
      stream.in_place = std::move(opened.in_place);
    } catch (...) {
      why = std::current_exception();
    }
    open = {};
    runtime& threads = self->all.threads_;
    threads.post([self = std::move(self), own, &stream, source = std::move(source), why]() mutable {
      own->thread.join();
      if (!why) {
        try {
          return self->load(stream, std::move(source));
        } catch (...) {
          why = std::current_exception();
        }
      }
      self->fail(std::move(why));
      self->go_on();
    });
  });
  own->began.set();
}

MDSTREAM_INLINE void opened_streams::loading::take(opened_stream& stream, loaded_index loaded) {
  stream.index = std::make_shared<const dataset_index>(std::move(loaded.index));
  stream.version = loaded.version;
  stream.adopted = loaded.adopted;
  if (!loaded.notice.empty()) all.warn_("stream \"" + stream.place.name + "\": " + loaded.notice);
}

MDSTREAM_INLINE bool opened_streams::loading::failed() {
  const std::lock_guard lock(mutex);
  return failure != nullptr;
}

MDSTREAM_INLINE void opened_streams::loading::fail(std::exception_ptr why) {
  const std::lock_guard lock(mutex);
  if (!failure) failure = std::move(why);
}

MDSTREAM_INLINE void opened_streams::loading::leave() {
  if (going.fetch_sub(1) == 1) done(std::exchange(failure, nullptr));
}

MDSTREAM_INLINE index_source opened_streams::source_of(const opened_stream& stream) const {
  return {.name = stream.place.name,
          .directory = stream.place.directory,
          .root = root_,
          .prefix = stream.place.split,
          .retry = stream.requests(),
          .budget = stream.budget,
          .timeout = stream.download_timeout,
          .allow_unsafe_types = stream.allow_unsafe_types};
}

MDSTREAM_INLINE opened_stream opened_streams::open(const options& given, stream_options stream,
                                                   stream_place place) const {
  const bool has_store = stream.store.has_value();
  opened_stream out{
      .remote = std::move(stream.store),
      .keep_zip = stream.keep_zip.value_or(given.keep_zip),
      .allow_unsafe_types = stream.allow_unsafe_types.value_or(given.allow_unsafe_types),
      .validate_hash = stream.validate_hash.value_or(given.validate_hash),
      .download_retry = stream.download_retry.value_or(given.download_retry),
      .download_timeout = stream.download_timeout.value_or(given.download_timeout),
      .patience = stream.patience.value_or(given.patience)};
  out.budget = {retry_budget(), detail::tells_of_trouble(warn_, place.name, out.patience)};
  const bool is_raw = reads_files(stream);
  if (out.download_retry == 0)
    throw error(errc::invalid_argument,
                diagnostics{.what = "download_retry counts all attempts, so it is at least 1",
                            .stream = place.name});
  if (!out.remote && !place.remote.empty())
    out.remote = policies_.open(place.remote, threads_, warn_);
  if (is_raw && policies_.open_source == nullptr)
    throw error(errc::unsupported,
                diagnostics{.what = "the policies name no format, and so read no foreign files: "
                                    "set format (mdstream/source/formats.hpp)",
                            .stream = place.name});
  if (is_raw && (!out.remote || detail::is_same_place(*out.remote, place.split,
                                                      detail::normal_path(place.directory))))
    throw error(errc::invalid_argument,
                diagnostics{.what = "files that are no dataset need a remote that holds them, and "
                                    "another directory for the shards that are made of them",
                            .stream = place.name});
  if (is_raw) out.raw = std::move(stream.raw);
  // A store that was given is what shall be read, and not what it may stand for.
  if (is_raw && !has_store && stream.local.empty() && given.local.empty()) {
    const std::string path = out.remote->url(place.split);
    if (url_scheme(path).empty()) out.in_place = normal_path(path);
  }
  out.place = std::move(place);
  if (!stream.join.empty()) {
    if (is_raw)
      throw error(errc::unsupported,
                  diagnostics{.what = "files that are no dataset cannot be joined with others",
                              .stream = out.place.name});
    join(out, std::move(stream.join));
  }
  return out;
}

MDSTREAM_INLINE void opened_streams::join(opened_stream& stream,
                                          std::vector<joined_dataset> others) const {
  stream_place& place = stream.place;
  const auto refuse = [&place](const char* what) {
    throw error(errc::invalid_argument, diagnostics{.what = what, .stream = place.name});
  };
  if (!stream.remote ||
      detail::is_same_place(*stream.remote, place.split, detail::normal_path(place.directory)))
    refuse("a join needs a remote that holds the dataset, and another directory for its shards");
  const auto add = [&](const opened_store& from, const std::string& split) {
    const any_async_store store = from.on(threads_);
    stream.joined.push_back(split.empty() ? store : prefixed(store, split));
  };
  add(*stream.remote, place.split);
  for (joined_dataset& each : others) {
    if (each.remote.empty() == !each.store)
      refuse("a joined dataset has either a remote or an opened store");
    add(each.store ? *each.store : policies_.open(each.remote, threads_, warn_), each.split);
  }
  stream.remote = any_async_store(std::make_shared<const joined_store>(stream.joined));
  place.split.clear();  // the stores have it
}

MDSTREAM_INLINE std::vector<stream_options> opened_streams::streams_of(const options& given) {
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

MDSTREAM_INLINE std::string opened_streams::temporary() {
  const std::string path =
      std::filesystem::temp_directory_path().native() + "/mdstream-" + std::to_string(::geteuid());
  struct stat found{};
  if ((::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) || ::lstat(path.c_str(), &found) != 0)
    throw system_failure(errno, "cannot make a cache; give local", path);
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & 022) != 0)
    throw error(errc::permission_denied,
                diagnostics{.what = "others may write to this cache; give local", .url = path});
  // A process whose cache was removed makes the directory again, as its umask says.
  if ((found.st_mode & 055) != 0 && ::chmod(path.c_str(), 0700) != 0)
    throw system_failure(errno, "cannot keep a cache from others; give local", path);
  return path;
}

MDSTREAM_INLINE bool opened_streams::needs_temporary(const std::vector<stream_options>& streams,
                                                     const std::string& local) {
  return local.empty() &&
         std::ranges::any_of(streams, [](const auto& stream) { return stream.local.empty(); });
}

MDSTREAM_INLINE std::vector<stream_request> opened_streams::requests(
    const std::vector<stream_options>& streams) {
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
                   .has_store = stream.store.has_value(),
                   .reading = reads_files(stream) ? json::dump(raw::detail::json_of(stream.raw))
                                                  : std::string()});
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
