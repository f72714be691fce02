#pragma once

/// What writers of all formats share: the place, what was there before, shards on their way.

#include <mdstream/core/detail/process.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/policies/detail/storage.hpp>
#include <mdstream/writer/detail/index_text.hpp>
#include <mdstream/writer/detail/shard_uploader.hpp>
#include <mdstream/writer/detail/writer_place.hpp>
#include <mdstream/writer/options.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The limit of a writer's options. Throws errc::invalid_argument for 4 GiB and more.
[[nodiscard]] inline std::uint64_t checked_size_limit(std::uint64_t bytes) {
  if (bytes > mds_shard_builder::max_bytes)
    throw error(errc::invalid_argument, "size_limit is " + std::to_string(bytes) +
                                            " bytes; a shard has to stay below 4 GiB");
  return bytes;
}

/// The shard that is being written. One virtual call a shard: a writer knows what it made, and adds
/// samples to that itself.
class growing_shard {
 public:
  growing_shard() = default;
  growing_shard(const growing_shard&) = delete;
  growing_shard& operator=(const growing_shard&) = delete;
  virtual ~growing_shard() = default;

  [[nodiscard]] virtual std::uint64_t samples() const = 0;
  /// Completes the bytes, which stay until `clear`.
  virtual void fill(finished_shard& shard) = 0;
  /// Begins the next shard in the same memory.
  virtual void clear() = 0;
};

/// Shards into a store. Not for two threads at once.
class dataset_sink {
 public:
  using maker = std::function<std::unique_ptr<growing_shard>()>;

  /// `check`: of the shards that `make` makes, once they are stored; called here only.
  template <class Options>
  dataset_sink(Options& opts, const storage_policies& storage, shard_format format,
               json::object config, const sample_layout& layout, maker make,
               const left_shard_check& check)
      : make_(std::move(make)),
        place_(place_of(opts, storage)),
        uploader_(make_where_made<shard_uploader>(place_.store(), format, std::move(config),
                                                  opts.compression, opts.hashes, opts.max_workers,
                                                  storage.codecs, storage.hashes,
                                                  upload_extras{place_.copy(), opts.progress})),
        shard_(make_()) {
    if (opts.exist_ok && opts.existing != existing_dataset::error &&
        opts.existing != existing_dataset::replace)
      throw error(errc::invalid_argument,
                  "exist_ok replaces the dataset that is there, existing = append or resume keeps "
                  "it: give one");
    const existing_dataset mode = opts.exist_ok ? existing_dataset::replace : opts.existing;
    place_.require_free(mode);
    prepare(mode, layout, check);
  }

  /// The shard that is being written.
  [[nodiscard]] growing_shard& shard() noexcept { return *shard_; }
  [[nodiscard]] const growing_shard& shard() const noexcept { return *shard_; }
  /// Shards completed so far, without those of before.
  [[nodiscard]] std::uint64_t shards() const noexcept { return shards_; }
  /// Samples of the shards that were there and are kept.
  [[nodiscard]] std::uint64_t kept_samples() const noexcept { return kept_samples_; }
  /// Whether the next sample is the first after a shard that was ended before it, by `end_shard` or
  /// by the writer that is resumed. It needs no further cut, however large it is.
  [[nodiscard]] bool is_cut_already() const {
    return (resumed_ || shards_ > 0) && shard_->samples() == 0;
  }

  void require_open() const {
    uploader_.get_deleter().made.require_here("writer");
    if (finished_) throw error(errc::invalid_argument, "the writer is already finished");
  }

  /// Completes the shard, empty or not, and begins the next.
  void flush() {
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

  void finish() {
    require_open();
    if (shard_->samples() != 0) flush();
    uploader_->wait();
    uploader_->publish_index(uploader_->index_text(before_));
    place_.publish_whole();
    finished_ = true;
  }

 private:
  template <class Options>
  static writer_place place_of(Options& opts, const storage_policies& storage) {
    return {std::move(opts.out).open(storage.open_alone),
            opts.keep_local,
            opts.part,
            patient_requests(opts.patience),
            {retry_budget(), tells_of_trouble(opts.warn, {}, opts.patience)}};
  }

  void prepare(existing_dataset mode, const sample_layout& layout, const left_shard_check& check) {
    if (mode == existing_dataset::append || mode == existing_dataset::resume) {
      const std::optional<std::string> index = index_of(uploader_->store());
      const dataset_index entries = index ? read_entries(*index, layout, mode) : dataset_index();
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

  /// The text of the index, if there is one.
  static std::optional<std::string> index_of(const patient_store& store) try {
    return std::string(as_text(read_all(store, index_file_name)));
  } catch (const error& e) {
    if (e.code() == errc::not_found) return std::nullopt;
    throw;
  }

  /// Throws if there is a dataset, or what a writer left of one.
  static void refuse_dataset(const patient_store& store) {
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

  static void remove_dataset(const patient_store& store) {
    if (exists(store, index_file_name)) store_remove(store, index_file_name);
    remove_shards(store, 0);
  }

  /// Removes the shards whose number is `first` or larger.
  static void remove_shards(const patient_store& store, std::uint64_t first) {
    for (const object_info& each : store_list(store, "shard."))
      if (number_of(each.key).value_or(0) >= first) store_remove(store, each.key);
  }

  /// The number in "shard.00017.mds".
  static std::optional<std::uint64_t> number_of(std::string_view key) {
    std::uint64_t number = 0;
    key.remove_prefix(std::string_view("shard.").size());
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), number);
    return parsed.ec == std::errc{} ? std::optional(number) : std::nullopt;
  }

  /// Keeps the complete shards that a killed writer left, up to the first gap, and removes the
  /// others: those behind the gap will be written again. Changes nothing before all is checked.
  void resume(const std::optional<std::string>& index, const dataset_index& entries,
              const left_shard_check& check) {
    const patient_store* const copy = uploader_->copy();
    std::vector<std::string> stored = shards_of(uploader_->store());
    const std::optional<std::string> copied = copy == nullptr ? std::nullopt : index_of(*copy);
    if (copy != nullptr) require_same_shards(*copy, stored);
    std::erase_if(stored,
                  [&](const std::string& key) { return number_of(key).value_or(first_) < first_; });
    // What may be of another dataset is not written to before its index is compared.
    const bool copies = copy != nullptr && (!copied || copied == index);
    const writer_progress adopted = uploader_->adopt(first_, count_left(stored), check, copies);
    if (copied && copied != index) {
      // Of a writer that was killed between the two indexes.
      if (*copied != uploader_->index_text(before_)) refuse_copy(*copy);
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
    resumed_ = adopted.shards > 0;
    for (const patient_store* each : {copy, &uploader_->store()})
      if (each != nullptr) remove_shards(*each, first_);
  }

  /// Gives the copy the index, and what it lacks of the index's shards. `had_index`: it was
  /// complete once.
  void complete_copy(const std::string& text, const dataset_index& index, bool had_index) {
    for (std::size_t i = 0; i < index.shards(); ++i) {
      const bool zipped = index.zip(i).has_value();
      for (const file_role role : {zipped ? file_role::zip_data : file_role::raw_data,
                                   zipped ? file_role::zip_meta : file_role::raw_meta})
        if (std::optional<file_info> file = index.file(i, role))
          uploader_->run([this, file = *std::move(file), had_index] {
            uploader_->copy_stored(file, had_index);
          });
    }
    uploader_->wait();
    publish(*uploader_->copy(), index_file_name, as_bytes(text));
  }

  /// The keys of all shards' files, sorted.
  static std::vector<std::string> shards_of(const patient_store& store) {
    std::vector<std::string> out;
    for (const object_info& each : store_list(store, "shard.")) out.push_back(each.key);
    std::sort(out.begin(), out.end());
    return out;
  }

  /// Throws unless the store has each shard that the copy has.
  static void require_same_shards(const patient_store& copy,
                                  const std::vector<std::string>& stored) {
    for (const std::string& key : shards_of(copy))
      if (!std::binary_search(stored.begin(), stored.end(), key)) refuse_copy(copy, key);
  }

  [[noreturn]] static void refuse_copy(const patient_store& copy,
                                       std::string_view key = index_file_name) {
    throw error(errc::invalid_argument,
                diagnostics{.what = "keep_local holds another dataset: give another directory, or "
                                    "remove that dataset",
                            .url = copy.url(key)});
  }

  /// How many shards from `first_` on have all their files. Throws errc::schema_mismatch for files
  /// of another format or compression.
  [[nodiscard]] std::uint64_t count_left(const std::vector<std::string>& sorted) const {
    const auto has = [&](std::uint64_t number, bool meta) {
      return std::binary_search(sorted.begin(), sorted.end(), uploader_->stored_name(number, meta));
    };
    for (const std::string& key : sorted) {
      const std::uint64_t number = number_of(key).value_or(0);
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

  /// Takes over the entries of the index that is there; shards are numbered on from its last.
  dataset_index read_entries(const std::string& text, const sample_layout& layout,
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
    uploader_->count(size_of(index));
    before_ = split_index_entries(text, where);
    return index;
  }

  /// A copy has what is appended to already.
  void require_copy(const std::string& index) const {
    const patient_store* const copy = uploader_->copy();
    if (copy == nullptr || index_of(*copy) == index) return;
    throw error(errc::invalid_argument,
                diagnostics{.what = "keep_local has no copy of the dataset that is added to: copy "
                                    "it there first, or leave keep_local out",
                            .url = copy->url(index_file_name)});
  }

  static writer_progress size_of(const dataset_index& index) {
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

  std::unique_ptr<growing_shard> take_spare() {
    const std::lock_guard lock(spare_mutex_);
    if (spare_.empty()) return make_();
    std::unique_ptr<growing_shard> out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }

  maker make_;
  std::mutex spare_mutex_;
  std::vector<std::unique_ptr<growing_shard>> spare_;
  writer_place place_;
  unique_where_made<shard_uploader> uploader_;
  std::unique_ptr<growing_shard> shard_;
  std::vector<std::string> before_;  // entries of the index that is appended to
  std::uint64_t first_ = 0;
  std::uint64_t shards_ = 0;
  std::uint64_t kept_samples_ = 0;
  bool resumed_ = false;  // with shards that were read back
  bool finished_ = false;
};

}  // namespace mdstream::inline v0::detail
