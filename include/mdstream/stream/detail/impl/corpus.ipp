#pragma once

#include <mdstream/cache/detail/map_range.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE corpus::corpus(const dataset_options& given, const corpus_policies& policies,
                               opened_streams* opened)
    : own_runtime_(given.shared_runtime == nullptr ? make_runtime(given.threads) : nullptr),
      threads_(given.shared_runtime == nullptr ? *own_runtime_ : *given.shared_runtime) {
  std::optional<opened_streams> own;
  if (opened == nullptr) {
    opened = &own.emplace(given, threads_, policies.storage);
    opened->load();
  }
  const std::optional<sample_layout> schema = policies.schema();
  std::vector<cache_stream> cached;
  std::vector<std::uint64_t> sizes;
  for (opened_stream& each : opened->streams()) {
    cached.push_back(take(std::move(each), schema));
    const std::vector<std::uint64_t> of_stream = cached.back().index->shard_sizes();
    stream_shards_.push_back(of_stream);
    sizes.insert(sizes.end(), of_stream.begin(), of_stream.end());
  }
  cache_root_ = opened->root();
  warnings_ = opened->warnings();
  warn_ = opened->warn_of(given);
  locate_ = shard_locator(sizes);
  sample_size_ = common_sample_size();
  if (sample_size_ != 0) sample_step_ = step_of(parts_.front());
  settle_columns();
  has_schema_ = schema.has_value();
  has_schema_ ? warn_of_ignored_columns() : warn_of_other_encodings();
  cache_ = std::make_unique<shard_cache>(
      threads_, cache_options{.root = cache_root_, .limit = given.cache_limit.value, .warn = warn_},
      std::move(cached), policies.storage.codecs, policies.storage.hashes);
}

MDSTREAM_INLINE corpus::~corpus() {
  if (own_runtime_ || !threads_.runs_here()) return;
  std::vector<std::shared_ptr<const dataset_index>> indexes;
  for (const stream_part& part : parts_) indexes.push_back(part.index);
  shard_cache* const cache = cache_.release();
  cache->async_end([cache, indexes = std::move(indexes)] { delete cache; });
}

MDSTREAM_INLINE std::uint64_t corpus::shard_bytes() const {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < shards(); ++i)
    out += cache_->footprint(static_cast<std::uint32_t>(i));
  return out;
}

MDSTREAM_INLINE std::uint64_t corpus::source() const noexcept {
  if (std::ranges::all_of(sources_, [](std::uint64_t each) { return each == 0; })) return 0;
  fnv1a hash;
  for (const std::uint64_t each : sources_) hash.add(each);
  return hash.value();
}

MDSTREAM_INLINE const sample_layout& corpus::layout(std::uint32_t shard) const noexcept {
  return only_layout_ != nullptr ? *only_layout_ : layout_among_several(shard);
}

MDSTREAM_INLINE const sample_form& corpus::form(std::uint32_t shard) const noexcept {
  const stream_part& part = stream_of(shard);
  return part.forms[part.config_of(shard)];
}

MDSTREAM_INLINE shard_samples corpus::view(const shard_ref& shard, std::uint32_t number) const {
  try {
    return detail::read_mapped([&] {
      if (has_rows_ && form(number).is_row()) return shard_samples(rows_of(shard.bytes(), number));
      const mds_shard_view samples = samples_of(shard.bytes(), number);
      if (sample_size_ != 0) (void)shard.landmark([&] { return checked_origin(samples, number); });
      return shard_samples(samples);
    });
  } catch (const error& e) {
    throw error(e.code(), placed(e.where(), number));
  }
}

MDSTREAM_INLINE bytes_view corpus::bytes(const shard_ref& shard, sample_location at) const {
  if (sample_size_ == 0) return bytes_of_varying(shard.bytes(), at);
  const std::byte* const origin =
      shard.landmark([&] { return origin_of(shard.bytes(), at.shard); });
  const std::uint64_t sample = locate_.first_sample(at.shard) + at.index;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(origin) + sample * sample_step_;
  return {reinterpret_cast<const std::byte*>(begin), static_cast<std::size_t>(sample_size_)};
}

MDSTREAM_INLINE const std::byte* corpus::uniform_origin(const shard_ref& shard,
                                                        std::uint64_t sample) const noexcept {
  return shard.landmark([&]() noexcept { return origin_or_null(shard.bytes(), sample); });
}

MDSTREAM_INLINE bytes_view corpus::uniform_bytes(const std::byte* origin, std::uint64_t sample,
                                                 std::size_t size) noexcept {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(origin) + sample * size;
  return {reinterpret_cast<const std::byte*>(at), size};
}

MDSTREAM_INLINE void corpus::select_common_columns() {
  if (has_schema_ || only_layout_ != nullptr) return;
  sample_layout common = layout();
  for (const stream_part& part : parts_)
    for (std::size_t i = 0; i < part.forms.size(); ++i) {
      const sample_layout& other = part.forms[i].layout();
      std::vector<column_layout> columns = common_columns({common, other});
      if (columns.empty()) fail_without_common_columns(part, i, common);
      common = sample_layout(shard_format::mds, std::move(columns));
    }
  for (stream_part& part : parts_)
    for (sample_form& form : part.forms) form.select(common);
  settle_columns();
  warn_of_ignored_columns();
}

MDSTREAM_INLINE void corpus::fail_without_common_columns(const stream_part& part,
                                                         std::size_t config,
                                                         const sample_layout& common) const {
  std::uint32_t shard = part.first_shard;
  while (part.config_of(shard) != config) ++shard;
  throw error(
      errc::schema_mismatch,
      placed({.what = "no column is in all streams with the same encoding, so a batch would "
                      "have none: this one has (" +
                      part.forms[config].layout().describe() + "), those before have (" +
                      common.describe() +
                      ") in common; name columns that all have, or leave a stream out"},
             shard));
}

MDSTREAM_INLINE void corpus::settle_columns() {
  converts_ = std::ranges::any_of(parts_, [](const stream_part& part) {
    return !std::ranges::all_of(part.forms, &sample_form::as_stored);
  });
  only_layout_ = common_layout();
  const bool uniform =
      sample_size_ != 0 && sample_step_ == sample_size_ && only_layout_ != nullptr && !converts_;
  uniform_samples_ = uniform ? samples() : 0;
}

MDSTREAM_INLINE void corpus::warn_of_ignored_columns() const {
  warn_of_streams("columns that are not read", [](const sample_form& of) { return of.ignored(); });
}

MDSTREAM_INLINE void corpus::warn_of_other_encodings() const {
  warn_of_streams(
      "columns whose encoding MDS does not define, read as bytes", [](const sample_form& of) {
        std::string out;
        for (const column_layout& column : of.layout().columns())
          if (column.type.kind == encoding_kind::other)
            out += (out.empty() ? "" : ", ") + column.name + ": " + column.encoding_text;
        return out;
      });
}

MDSTREAM_INLINE void corpus::warn_of_streams(
    const std::string& what, const std::function<std::string(const sample_form&)>& of) const {
  constexpr std::size_t most = 4;
  std::string text;
  std::size_t streams = 0;
  for (const stream_part& part : parts_) {
    std::string found;
    for (auto form = part.forms.begin(); form != part.forms.end() && found.empty(); ++form)
      found = of(*form);
    if (found.empty() || ++streams > most) continue;
    text += (streams == 1 ? "stream \"" : "; stream \"") + part.name + "\": " + found;
  }
  if (streams > most) text += "; and " + std::to_string(streams - most) + " streams more";
  if (streams != 0) warn_(what + ": " + text);
}

MDSTREAM_INLINE diagnostics corpus::placed(diagnostics where, std::uint32_t shard) const {
  const stream_part& part = stream_of(shard);
  where.stream = part.name;
  where.shard = shard - part.first_shard;
  where.url = part.in_place.empty()
                  ? part.directory + '/' + part.index->raw(shard - part.first_shard).name
                  : file_of_range(part.in_place, *part.maker, shard - part.first_shard);
  return where;
}

MDSTREAM_INLINE void corpus::async_acquire(std::uint32_t shard, std::stop_token stop,
                                           diagnostics& where, acquire_handler done) {
  cache_->async_acquire(shard, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void corpus::async_prefetch(std::uint32_t shard, std::stop_token stop,
                                            diagnostics& where, prefetch_handler done) {
  cache_->async_prefetch(shard, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE std::unique_ptr<runtime> corpus::make_runtime(unsigned threads) {
  return std::make_unique<runtime>(threads, threads == 1 ? 1 : runtime::io_threads_for_transfers());
}

MDSTREAM_INLINE std::size_t corpus::stream_part::config_of(std::uint32_t shard) const noexcept {
  return static_cast<std::size_t>(&index->config(shard - first_shard) - index->configs().data());
}

MDSTREAM_INLINE mds_shard_view corpus::samples_of(bytes_view shard, std::uint32_t number) const {
  const std::uint64_t samples = locate_.shard_samples(number);
  if (some_in_place_)
    if (const stream_part& part = stream_of(number); part.maker)
      return mds_shard_view::in_place(shard, samples,
                                      part.index->layout(0).fixed_sample_size().value_or(0),
                                      part.maker->step());
  return {shard, samples, sample_size_};
}

MDSTREAM_INLINE row_shard_view corpus::rows_of(bytes_view shard, std::uint32_t number) const {
  const stream_part& part = stream_of(number);
  const auto data = static_cast<std::size_t>(
      part.index->file_bytes(number - part.first_shard, file_role::raw_data));
  return {shard.first(data), shard.subspan(file_mapping::whole_pages(data)),
          locate_.shard_samples(number)};
}

MDSTREAM_INLINE cache_stream corpus::take(opened_stream opened,
                                          const std::optional<sample_layout>& schema) {
  const std::shared_ptr<const dataset_index> index = std::move(opened.index);
  const stream_place& place = opened.place;
  parts_.push_back(
      {place.name, place.directory, index, numbers_.shards(), forms_of(*index, place, schema)});
  for (const sample_form& form : parts_.back().forms) has_rows_ = has_rows_ || form.is_row();
  if (!opened.in_place.empty()) {
    parts_.back().in_place = opened.in_place;
    parts_.back().maker = opened.maker;
    some_in_place_ = true;
  }
  parts_.back().remote = opened.remote;
  sources_.push_back(opened.source);
  numbers_.add_stream(index->shards());
  return {.name = place.name,
          .directory = place.directory,
          .remote = std::move(opened.remote),
          .prefix = place.split,
          .maker = std::move(opened.maker),
          .in_place = std::move(opened.in_place),
          .index = index.get(),
          .version = opened.version,
          .adopted = opened.adopted,
          .keep_zip = opened.keep_zip,
          .validate_hash = std::move(opened.validate_hash),
          .download_retry = opened.download_retry,
          .download_timeout = opened.download_timeout,
          .patience = opened.patience};
}

MDSTREAM_INLINE std::vector<sample_form> corpus::forms_of(
    const dataset_index& index, const stream_place& place,
    const std::optional<sample_layout>& schema) {
  const auto fail = [&place](errc code, std::string what) {
    throw error(code, diagnostics{.what = std::move(what),
                                  .stream = place.name,
                                  .url = place.directory + "/index.json"});
  };
  if (index.samples() == 0) fail(errc::invalid_argument, "the dataset has no samples");
  std::vector<sample_form> forms;
  for (const shard_config& config : index.configs()) {
    try {
      forms.emplace_back(config);
      if (schema) forms.back().select(*schema);
    } catch (const error& e) {
      diagnostics where = e.where();
      where.stream = place.name;
      where.url = place.directory + "/index.json";
      throw error(e.code(), std::move(where));
    }
  }
  return forms;
}

MDSTREAM_INLINE const std::byte* corpus::checked_origin(const mds_shard_view& samples,
                                                        std::uint32_t number) const {
  samples.check_offsets();
  const std::byte* const first = samples.bytes().data() + samples.first_sample();
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(first) -
                                            locate_.first_sample(number) * sample_step_);
}

MDSTREAM_INLINE const sample_layout* corpus::common_layout() const {
  const sample_layout& first = parts_.front().forms.front().layout();
  for (const stream_part& part : parts_)
    for (const sample_form& form : part.forms)
      if (form.layout() != first) return nullptr;
  return &first;
}

MDSTREAM_INLINE std::uint64_t corpus::common_sample_size() const {
  if (has_rows_) return 0;
  const std::uint64_t size = parts_.front().index->layout(0).fixed_sample_size().value_or(0);
  for (const stream_part& part : parts_)
    for (const shard_config& config : part.index->configs())
      if (config.layout.fixed_sample_size() != size) return 0;
  for (const stream_part& part : parts_)
    if (step_of(part) != step_of(parts_.front())) return 0;
  return size;
}

MDSTREAM_INLINE std::uint64_t corpus::step_of(const stream_part& part) {
  return part.maker ? part.maker->step() : part.index->layout(0).fixed_sample_size().value_or(0);
}

MDSTREAM_INLINE sample_origin corpus::origin(std::uint64_t sample) const noexcept {
  const sample_location at = locate_(sample);
  const std::size_t stream = numbers_.stream_of(at.shard);
  return {.stream = stream, .shard = at.shard - numbers_.first(stream), .index = at.index};
}

MDSTREAM_INLINE shard_span corpus::shards_of_stream(std::size_t number) const {
  if (number >= parts_.size())
    throw error(errc::out_of_range,
                "stream " + std::to_string(number) + " of " + std::to_string(parts_.size()));
  return numbers_.of_stream(number);
}

MDSTREAM_INLINE std::vector<stream_info> corpus::streams() const {
  std::vector<stream_info> out;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const stream_part& part = parts_[i];
    stream_info& of = out.emplace_back(
        stream_info{.name = part.name,
                    .directory = part.directory,
                    .credentials = part.remote ? part.remote->credentials() : std::string(),
                    .shards = stream_shards_[i].size()});
    for (std::uint32_t shard = 0; shard < of.shards; ++shard) {
      of.samples += stream_shards_[i][shard];
      of.bytes += cache_->footprint(part.first_shard + shard);
    }
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
