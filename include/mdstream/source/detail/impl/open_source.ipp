#pragma once

#include <mdstream/async/detail/event.hpp>
#include <mdstream/cache/detail/file_lock.hpp>
#include <mdstream/cache/detail/map_range.hpp>
#include <mdstream/cache/detail/stream_origin.hpp>
#include <mdstream/raw/detail/guess_format.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/source/build_index.hpp>
#include <mdstream/source/detail/open_source.hpp>
#include <mdstream/source/detail/raw_maker.hpp>
#include <mdstream/source/list_source.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/prefixed.hpp>
#include <mdstream/version.hpp>

#include <sys/stat.h>
#include <chrono>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool answers(const raw::options& made, const raw::options& asked) {
  raw::options settled = asked;
  if (settled.format.empty()) settled.format = made.format;
  if (settled.columns.empty()) settled.columns = made.columns;
  return json::dump(raw::detail::json_of(settled)) == json::dump(raw::detail::json_of(made));
}

/// The row index of one stream, kept in its directory.
class source_opening {
 public:
  source_opening(source_request asked, format_opener open)
      : asked_(std::move(asked)), open_(open), kept_in_(asked_.directory + "/.mdstream") {}

  [[nodiscard]] raw::detail::row_index index() {
    try {
      if (std::optional<raw::detail::row_index> found = published()) {
        is_published_ = true;
        return *std::move(found);
      }
      const std::int64_t began = file_clock_now();
      if (const int failure = make_shared_directories(kept_in_); failure != 0)
        throw system_failure(failure, "cannot make the directory", kept_in_);
      const std::string path = kept_in_ + "/rows.lock";
      const unique_fd lock = open_lock(path);
      lock_file(lock.get(), path, std::chrono::hours(24));  // while another process reads all files
      std::optional<raw::detail::row_index> kept = kept_index();
      if (kept && written() >= began) return *std::move(kept);
      return made(kept ? &*kept : nullptr);
    } catch (const error& e) {
      if (!is_transient(e.code())) throw;
      std::optional<raw::detail::row_index> kept = kept_index();
      if (!kept) throw;
      if (asked_.warn)
        asked_.warn("stream \"" + asked_.name + "\": cannot ask whether the files changed: " +
                    e.what() + "; going on with the row index in " + kept_in_);
      return *std::move(kept);
    }
  }

  /// After `index`.
  [[nodiscard]] entry_states states() const {
    if (is_published_) return {};
    return {.prefix = std::string(raw::detail::object_entries::directory),
            .store = store::local(kept_in_)};
  }

 private:
  /// What `mdstream index` has put beside the files.
  [[nodiscard]] std::optional<raw::detail::row_index> published() const {
    const prefixed beside(asked_.store, std::string(raw::row_index_directory));
    std::optional<raw::detail::row_index> found = raw::read_row_index(beside);
    return found && answers(found->options, asked_.about) ? std::move(found) : std::nullopt;
  }

  [[nodiscard]] std::optional<raw::detail::row_index> kept_index() const {
    try {
      std::optional<raw::detail::row_index> found = raw::read_row_index(store::local(kept_in_));
      return found && answers(found->options, asked_.about) ? std::move(found) : std::nullopt;
    } catch (const error& e) {
      if (e.code() == errc::corrupt || e.code() == errc::unsupported) return std::nullopt;
      throw;
    }
  }

  /// When the kept index was written, by the clock of files.
  [[nodiscard]] std::int64_t written() const {
    struct stat info{};
    const std::string path = kept_in_ + '/' + std::string(raw::row_index_name);
    if (::stat(path.c_str(), &info) != 0) return 0;
    return static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  }

  [[nodiscard]] raw::detail::row_index made(const raw::detail::row_index* kept) const {
    raw::options about = asked_.about;
    std::vector<raw::detail::listed_object> listing =
        raw::list_source(asked_.store, about.files, asked_.stop);
    if (about.format.empty()) raw::detail::guess_format(about, listing);
    const auto build = [&](const raw::detail::row_index* known) {
      return raw::build_index(asked_.store, asked_.decoders,
                              open_(known != nullptr ? known->options : about), listing,
                              store::local(kept_in_), {.known = known, .stop = asked_.stop});
    };
    raw::made_index out = build(kept);
    const bool changed = !out.update.to_scan.empty() || !out.update.gone.empty();
    // Columns that were inferred are those of all files, whenever a machine looked first.
    if (kept != nullptr && changed && about.columns.empty()) out = build(nullptr);
    return std::move(out.index);
  }

  const source_request asked_;
  const format_opener open_;
  const std::string kept_in_;
  bool is_published_ = false;
};

MDSTREAM_INLINE opened_source open_source(source_request request, format_opener open) {
  stream_decoders decoders = request.decoders;
  any_async_store store = request.store;
  std::string in_place = request.in_place;
  source_opening opening(std::move(request), open);
  raw::detail::row_index index = opening.index();
  const std::uint64_t fingerprint = index.fingerprint();
  raw::source_format format = open(index.options);
  auto maker = std::make_shared<const raw_maker>(
      std::move(format), std::move(index), std::move(decoders), std::move(store), opening.states());
  // A store whose URLs look like paths may have no such files.
  if (in_place.empty() || maker->step() == 0 || !has_range(in_place, *maker, 0)) in_place.clear();
  return {.index = maker->index_text(!in_place.empty()),
          .maker = maker,
          .fingerprint = fingerprint,
          .in_place = std::move(in_place)};
}

}  // namespace mdstream::inline v0::detail
