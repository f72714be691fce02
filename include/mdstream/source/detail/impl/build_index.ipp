#pragma once

#include <mdstream/async/detail/in_parallel.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/source/build_index.hpp>
#include <mdstream/source/list_source.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace mdstream::inline v0::raw {

namespace detail {

template <class Store>
std::optional<row_index> read_row_index_of(const Store& place) {
  std::vector<std::byte> text;
  try {
    text = read_all(place, row_index_name);
  } catch (const error& e) {
    if (e.code() == errc::not_found) return std::nullopt;
    throw;
  }
  try {
    return row_index::parse(as_text(text));
  } catch (const error& e) {
    diagnostics where = e.where();
    where.url = place.url(row_index_name);
    throw error(e.code(), std::move(where));
  }
}

}  // namespace detail

MDSTREAM_INLINE std::optional<detail::row_index> read_row_index(const opened_store& place) {
  return detail::read_row_index_of(place);
}

MDSTREAM_INLINE std::optional<detail::row_index> read_row_index(const any_async_store& place) {
  return detail::read_row_index_of(place);
}

}  // namespace mdstream::inline v0::raw

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE row_index_run::row_index_run(const any_async_store& source,
                                             const mdstream::detail::stream_decoders& decoders,
                                             source_format format,
                                             std::vector<listed_object> listing,
                                             const opened_store& place,
                                             const index_settings& settings)
    : source_(source),
      decoders_(decoders),
      format_(std::move(format)),
      listing_(std::move(listing)),
      place_(place),
      settings_(settings),
      jobs_(settings.jobs != 0 ? settings.jobs
                               : std::max(8U, 2 * std::thread::hardware_concurrency())) {
  find_versions(source_, listing_, jobs_, settings_.stop);
  plan();
  // What a bad row is depends on the columns, so they come first.
  if (format_.settings().skip_bad && builder_->infers() && !units_.empty()) {
    format_ = format_.with_columns(infer_all());
    plan();
  }
}

MDSTREAM_INLINE made_index row_index_run::run(mdstream::detail::kept_scans& kept) {
  scan_all(kept);
  bool first = true;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    object_cuts cuts;
    if (known_[i] != nullptr)
      cuts = {known_[i]->cuts, known_[i]->note, known_[i]->entries};
    else if (builder_->to_scan(i) != nullptr)
      cuts = join_stretches(std::move(found_[i]));
    else
      continue;
    builder_->add(i, std::move(cuts), std::exchange(first, false) ? columns_ : empty_);
  }
  out_.skipped += builder_->skipped();
  out_.index = builder_->finish();
  return std::move(out_);
}

MDSTREAM_INLINE void row_index_run::plan() {
  builder_.emplace(format_, listing_);
  take_known();
  units_.clear();
  found_.assign(builder_->objects().size(), {});
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < builder_->objects().size(); ++i) {
    const listed_object* scanned = builder_->to_scan(i);
    if (scanned == nullptr || known_[i] != nullptr) continue;
    const bool is_packed = mdstream::detail::open_decoder(decoders_, scanned->key) != nullptr;
    const std::uint64_t count = is_packed ? 1 : stretches(format_, scanned->bytes);
    found_[i].resize(static_cast<std::size_t>(count));
    for (std::uint64_t k = 0; k < count; ++k) {
      units_.push_back({i, {&format_, &object(i), k, count}});
      bytes += units_.back().what.bytes();
    }
  }
  if (settings_.progress == nullptr) return;
  settings_.progress->objects = builder_->objects().size();
  settings_.progress->bytes_expected = bytes;
}

MDSTREAM_INLINE void row_index_run::take_known() {
  known_.assign(builder_->objects().size(), nullptr);
  if (settings_.known == nullptr) return;
  std::vector<listed_object> files;
  for (const indexed_object& each : builder_->objects()) files.push_back(each.file);
  out_.update = compare(*settings_.known, files);
  std::map<std::string_view, const indexed_object*> by_key;
  for (const indexed_object& each : settings_.known->objects) by_key[each.file.key] = &each;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto found = by_key.find(files[i].key);
    if (found != by_key.end() && found->second->file == files[i] &&
        found->second->beside == object(i).beside)
      known_[i] = found->second;
  }
}

MDSTREAM_INLINE std::vector<column> row_index_run::infer_all() const {
  column_inference all;
  std::mutex mutex;
  mdstream::detail::in_parallel(
      units_.size(), jobs_, settings_.stop, [&](std::size_t i, const std::stop_token& stop) {
        if (units_[i].what.number != 0) return;
        const scan_record found = mdstream::detail::scan_stretch(
            source_, decoders_, units_[i].what, {.infers = true, .cuts = false}, stop);
        const std::lock_guard lock(mutex);
        all.merge(found.columns);
      });
  return all.columns(format_.settings());
}

MDSTREAM_INLINE void row_index_run::scan_all(mdstream::detail::kept_scans& kept) {
  std::vector<const unit*> left;
  for (const unit& each : units_) {
    auto before = kept.take(each.what.object->file, each.what.object->beside, each.what.number);
    if (!before) {
      left.push_back(&each);
      continue;
    }
    ++out_.resumed;
    told(each.what.bytes());
    take(each, *std::move(before));
  }
  const auto scan = [&](std::size_t i, const std::stop_token& stop) {
    const mdstream::detail::stretch_of& what = left[i]->what;
    scan_record found =
        mdstream::detail::scan_stretch(source_, decoders_, what,
                                       {.infers = builder_->infers(),
                                        .leaves_bad_rows_out = format_.settings().skip_bad,
                                        .notes_entries = settings_.entries,
                                        .on_bytes = [this](std::uint64_t bytes) { told(bytes); }},
                                       stop);
    keep_states(found);
    kept.add(found, what.bytes());
    const std::lock_guard lock(mutex_);
    take(*left[i], std::move(found));
  };
  try {
    mdstream::detail::in_parallel(left.size(), jobs_, settings_.stop, scan);
  } catch (...) {
    try {
      kept.flush();
    } catch (const error&) {  // the failure that was first is thrown
    }
    throw;
  }
}

MDSTREAM_INLINE void row_index_run::keep_states(scan_record& found) const {
  if (found.states.empty()) return;
  // A name of its bytes: a process that has read another index by now still finds what it names.
  const std::string name =
      mdstream::detail::hex_digits(fnv1a().add(as_text(found.states)).value()) +
      mdstream::detail::hex_digits(mdstream::detail::crc32c(found.states)) + ".bin";
  place_.publish(std::string(object_entries::directory) + name, found.states);
  found.found.entries->states = name;
  found.states = {};
}

MDSTREAM_INLINE void row_index_run::told(std::uint64_t bytes) const {
  if (settings_.progress != nullptr) settings_.progress->bytes += bytes;
}

MDSTREAM_INLINE void row_index_run::take(const unit& of, scan_record found) {
  out_.skipped += found.skipped;
  // A file that tells its columns has no others, so that one row does for all.
  if (builder_->infers() && format_.get().reads_tail()) {
    if (!first_of_)
      first_of_ = of.object;
    else
      naming_object(of.what.object->file.key, [&] {
        found.columns.require_columns_of(columns_, object(*first_of_).file.key,
                                         format_.settings().null_value.has_value());
      });
  }
  columns_.merge(found.columns);
  found_[of.object][static_cast<std::size_t>(of.what.number)] = std::move(found.found);
}

/// Removes the states of objects that an update has no more, or has with other entry points.
MDSTREAM_INLINE void remove_unused_states(const opened_store& place, const row_index& before,
                                          const row_index& now) {
  std::set<std::string_view> used;
  for (const indexed_object& each : now.objects)
    if (each.entries) used.insert(each.entries->states);
  for (const indexed_object& each : before.objects)
    if (each.entries && !each.entries->states.empty() && !used.contains(each.entries->states))
      place.remove(std::string(object_entries::directory) + each.entries->states);
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE made_index build_index(const any_async_store& source,
                                       const mdstream::detail::stream_decoders& decoders,
                                       source_format format,
                                       std::vector<detail::listed_object> listing,
                                       const opened_store& place, const index_settings& settings) {
  detail::row_index_run run(source, decoders, std::move(format), std::move(listing), place,
                            settings);
  mdstream::detail::kept_scans kept(place, run.about(), settings.keep_every.value);
  made_index out = run.run(kept);
  place.publish(row_index_name, as_bytes(out.index.dump()));
  kept.clear();
  if (settings.known != nullptr) detail::remove_unused_states(place, *settings.known, out.index);
  return out;
}

}  // namespace mdstream::inline v0::raw
