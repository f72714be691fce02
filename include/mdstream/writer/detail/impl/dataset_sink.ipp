#pragma once

#include <mdstream/async/detail/in_parallel.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>
#include <mdstream/writer/detail/dataset_sink.hpp>
#include <mdstream/writer/detail/index_text.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint64_t checked_size_limit(std::uint64_t bytes) {
  if (bytes > mds_shard_builder::max_bytes)
    throw error(errc::invalid_argument, "size_limit is " + std::to_string(bytes) +
                                            " bytes; a shard has to stay below 4 GiB");
  return bytes;
}

/// Throws if there is a dataset, or what a writer left of one.
MDSTREAM_INLINE void refuse_dataset(const patient_store& store) {
  const bool has_index = exists(store, index_file_name);
  if (!has_index && store_list(store, "shard.").empty()) return;
  throw error(
      errc::invalid_argument,
      diagnostics{.what = has_index ? "a dataset is already there; \"existing\" says what "
                                      "becomes of it: replace, append or resume"
                                    : "shards without an index are already there, of a writer "
                                      "that did not finish; with \"existing\" as resume they "
                                      "are kept, as replace they are deleted",
                  .url = store.url("")});
}

/// The number in "shard.00017.mds".
MDSTREAM_INLINE std::optional<std::uint64_t> shard_number(std::string_view key) {
  std::uint64_t number = 0;
  key.remove_prefix(std::string_view("shard.").size());
  const auto parsed = std::from_chars(key.data(), key.data() + key.size(), number);
  return parsed.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

/// The keys of all shards' files, sorted.
MDSTREAM_INLINE std::vector<std::string> shard_keys(const patient_store& store) {
  std::vector<std::string> out;
  for (const object_info& each : store_list(store, "shard.")) out.push_back(each.key);
  std::sort(out.begin(), out.end());
  return out;
}

/// Removes those of the shards' files whose number is `first` or larger. That shard goes before the
/// others: those behind a gap are taken over by no writer that goes on, should this one be killed.
MDSTREAM_INLINE void remove_shards(const patient_store& store, std::vector<std::string> keys,
                                   std::uint64_t first) {
  constexpr std::size_t requests_at_once = 16;
  const auto number = [](const std::string& key) { return shard_number(key).value_or(0); };
  std::erase_if(keys, [&](const std::string& key) { return number(key) < first; });
  const std::span<std::string> others =
      std::ranges::partition(keys, [&](const std::string& key) { return number(key) == first; });
  for (const std::string& key : std::span(keys).first(keys.size() - others.size()))
    store_remove(store, key);
  in_parallel(others.size(), requests_at_once,
              [&](std::size_t i) { store_remove(store, others[i]); });
}

MDSTREAM_INLINE void remove_dataset(const patient_store& store) {
  if (exists(store, index_file_name)) store_remove(store, index_file_name);
  remove_shards(store, shard_keys(store), 0);
}

[[noreturn]] MDSTREAM_INLINE void refuse_copy(const patient_store& copy, std::string_view key) {
  throw error(errc::invalid_argument,
              diagnostics{.what = "keep_local holds another dataset: give another directory, or "
                                  "remove that dataset",
                          .url = copy.url(key)});
}

MDSTREAM_INLINE writer_progress progress_of(const dataset_index& index) {
  writer_progress out{.samples = index.samples(), .shards = index.shards()};
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const auto bytes = [&](file_role role) { return index.file_bytes(i, role); };
    const std::uint64_t raw = bytes(file_role::raw_data) + bytes(file_role::raw_meta);
    out.raw_bytes += raw;
    out.stored_bytes +=
        index.zip(i) ? bytes(file_role::zip_data) + bytes(file_role::zip_meta) : raw;
  }
  return out;
}

MDSTREAM_INLINE void dataset_sink::flush() {
  std::unique_ptr<growing_shard> next = take_spare();
  finished_shard full{.number = first_ + shards_, .samples = shard_->samples()};
  shard_->fill(full);
  full.release = [this, written = std::move(shard_)]() mutable {
    written->clear();
    const std::lock_guard lock(spare_mutex_);
    spare_.push_back(std::move(written));
  };
  shard_ = std::move(next);
  ++shards_;
  uploader_->submit(std::move(full));
}

MDSTREAM_INLINE void dataset_sink::finish() {
  require_open();
  if (shard_->samples() != 0) flush();
  uploader_->wait();
  // Where a finished job of many parts is resumed, no part asks for the others' indexes.
  const bool is_changed = shards_ > 0 || !is_published_;
  if (is_changed) uploader_->publish_index(uploader_->index_text(before_));
  if (is_changed || !place_.whole_has(before_.size())) place_.publish_whole();
  finished_ = true;
}

MDSTREAM_INLINE void dataset_sink::prepare(existing_dataset mode, const sample_layout& layout,
                                           const stored_shard_check& check) {
  place_.require_free(mode);
  if (mode == existing_dataset::append || mode == existing_dataset::resume) {
    const std::optional<std::string> index = index_of(uploader_->store());
    const dataset_index entries = index ? read_entries(*index, layout, mode) : dataset_index();
    is_published_ = index.has_value();
    if (mode == existing_dataset::resume)
      resume(index, entries, check);
    else if (index)
      require_copy(*index);
    return;
  }
  // The copy first, so that it never has shards which the store lacks.
  for (const patient_store* each : {uploader_->copy(), &uploader_->store()}) {
    if (each == nullptr) continue;
    if (mode == existing_dataset::error)
      refuse_dataset(*each);
    else
      remove_dataset(*each);
  }
}

MDSTREAM_INLINE dataset_index dataset_sink::read_entries(const std::string& text,
                                                         const sample_layout& layout,
                                                         existing_dataset mode) {
  const diagnostics where{.url = uploader_->store().url(index_file_name)};
  dataset_index index = dataset_index::parse(text, {.allow_unsafe_types = true, .where = where});
  for (std::size_t i = 0; i < index.shards(); ++i) {
    if (!(index.layout(i) == layout))
      throw error(errc::schema_mismatch,
                  diagnostics{.what = std::string(mode == existing_dataset::append
                                                      ? "can not append"
                                                      : "a writer can not resume with other "
                                                        "options: it does not add") +
                                      " samples of (" + layout.describe() + ") to shards of (" +
                                      index.layout(i).describe() + ")",
                              .url = where.url,
                              .shard = i});
    const std::string name = index.raw(i).name;
    const auto suffix = "." + std::string(mdstream::to_string(index.format(i)));
    if (const auto usual = parse_usual_name(name, suffix); usual && usual->directory.empty())
      first_ = std::max(first_, usual->number + 1);
  }
  kept_samples_ = index.samples();
  uploader_->count(progress_of(index));
  before_ = split_index_entries(text, where);
  return index;
}

MDSTREAM_INLINE void dataset_sink::resume(const std::optional<std::string>& index,
                                          const dataset_index& entries,
                                          const stored_shard_check& check) {
  const patient_store* const copy = uploader_->copy();
  std::vector<std::string> stored = shard_keys(uploader_->store());
  const std::optional<std::string> copied = copy == nullptr ? std::nullopt : index_of(*copy);
  if (copy != nullptr) {
    // A loader that has the copy for its cache decompresses the shards there.
    std::vector<std::string> known = stored;
    for (std::size_t i = 0; copied && copied == index && i < entries.shards(); ++i)
      for (const file_role role : {file_role::raw_data, file_role::raw_meta})
        if (const auto file = entries.file(i, role)) known.push_back(file->name);
    std::sort(known.begin(), known.end());
    for (const std::string& key : shard_keys(*copy))
      if (!std::binary_search(known.begin(), known.end(), key)) refuse_copy(*copy, key);
  }
  std::erase_if(
      stored, [&](const std::string& key) { return shard_number(key).value_or(first_) < first_; });
  // What may be of another dataset is not written to before its index is compared.
  const bool copies = copy != nullptr && (!copied || copied == index);
  const writer_progress adopted = uploader_->adopt(first_, count_stored(stored), check, copies);
  if (copied && copied != index) {
    // Of a writer that was killed between the two indexes.
    if (*copied != uploader_->index_text(before_)) refuse_copy(*copy, index_file_name);
    store_remove(*copy, index_file_name);
  }
  // Those of shards behind the index are checked. Appended ones may have other options than those
  // before, so it is the last that counts.
  if (adopted.shards == 0 && !before_.empty())
    check_entry(before_.back(), uploader_->config(),
                {.url = uploader_->store().url(index_file_name), .shard = before_.size() - 1});
  if (copy != nullptr && index) complete_copy(*index, entries, copied.has_value());
  kept_samples_ += adopted.samples;
  first_ += adopted.shards;
  if (adopted.shards > 0) is_published_ = false;
  // The copy first, as above. It may have got shards of behind the gap.
  if (copy != nullptr) remove_shards(*copy, shard_keys(*copy), first_);
  remove_shards(uploader_->store(), stored, first_);
}

MDSTREAM_INLINE void dataset_sink::complete_copy(const std::string& text,
                                                 const dataset_index& index, bool had_index) {
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const bool zipped = index.zip(i).has_value();
    const auto copy_file = [&](file_role role, file_role raw_role) {
      if (std::optional<file_info> file = index.file(i, role))
        uploader_->run([this, file = *std::move(file),
                        raw = zipped ? index.file(i, raw_role) : std::nullopt,
                        had_index] { uploader_->copy_stored(file, raw, had_index); });
    };
    copy_file(zipped ? file_role::zip_data : file_role::raw_data, file_role::raw_data);
    copy_file(zipped ? file_role::zip_meta : file_role::raw_meta, file_role::raw_meta);
  }
  uploader_->wait();
  publish(*uploader_->copy(), index_file_name, as_bytes(text));
}

MDSTREAM_INLINE std::uint64_t dataset_sink::count_stored(
    const std::vector<std::string>& sorted) const {
  const auto has = [&](std::uint64_t number, bool meta) {
    return std::binary_search(sorted.begin(), sorted.end(), uploader_->stored_name(number, meta));
  };
  for (const std::string& key : sorted) {
    const std::uint64_t number = shard_number(key).value_or(0);
    if (key == uploader_->stored_name(number, false) ||
        (uploader_->has_meta() && key == uploader_->stored_name(number, true)))
      continue;
    throw error(errc::schema_mismatch,
                diagnostics{.what = "a writer can not resume with other options: its shards are "
                                    "named like " +
                                    uploader_->stored_name(0, false),
                            .url = uploader_->store().url(key)});
  }
  std::uint64_t count = 0;
  while (has(first_ + count, false) && (!uploader_->has_meta() || has(first_ + count, true)))
    ++count;
  return count;
}

MDSTREAM_INLINE void dataset_sink::require_copy(const std::string& index) const {
  const patient_store* const copy = uploader_->copy();
  if (copy == nullptr || index_of(*copy) == index) return;
  throw error(errc::invalid_argument,
              diagnostics{.what = "keep_local has no copy of the dataset that is added to: copy "
                                  "it there first, or leave keep_local out",
                          .url = copy->url(index_file_name)});
}

MDSTREAM_INLINE std::unique_ptr<growing_shard> dataset_sink::take_spare() {
  const std::lock_guard lock(spare_mutex_);
  if (spare_.empty()) return make_();
  std::unique_ptr<growing_shard> out = std::move(spare_.back());
  spare_.pop_back();
  return out;
}

}  // namespace mdstream::inline v0::detail
