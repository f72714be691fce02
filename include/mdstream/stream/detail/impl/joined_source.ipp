#pragma once

#include <mdstream/cache/detail/choose_hash.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/core/json.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/stream/detail/joined_source.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE const any_async_store* joined_store::part_of(std::string_view& key) const {
  const std::size_t slash = std::min(key.find('/'), key.size());
  std::size_t number = 0;
  const auto [stop, failure] = std::from_chars(key.data(), key.data() + slash, number);
  if (failure != std::errc{} || stop != key.data() + slash || number >= parts_.size())
    return nullptr;
  key.remove_prefix(std::min(slash + 1, key.size()));
  return &parts_[number];
}

MDSTREAM_INLINE void joined_store::start(store_call call, std::stop_token stop, diagnostics& where,
                                         answer_handler done) const {
  std::string_view key = call.key;
  const any_async_store* const part = part_of(key);
  if (part == nullptr) {
    where = {.what = "a join has no such object", .url = url(call.key)};
    return done(errc::not_found, {});
  }
  call.key = std::string(key);
  if (call.held && call.held->tag.empty()) call.held.reset();  // an index knows no tags
  part->async_call(std::move(call), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE std::string joined_store::url(std::string_view key) const {
  const any_async_store* const part = part_of(key);
  return (part != nullptr ? *part : parts_.front()).url(key);
}

MDSTREAM_INLINE store_abilities joined_store::abilities() const {
  store_abilities out{.streams = true};
  for (const any_async_store& each : parts_) {
    out.streams = out.streams && each.abilities().streams;
    out.occupies_threads = out.occupies_threads || each.abilities().occupies_threads;
  }
  return out;
}

MDSTREAM_INLINE joined_maker::joined_maker(join_request request) : request_(std::move(request)) {
  for (std::size_t i = 0; i < request_.parts.size(); ++i) sets_.push_back(read(i));
  check_lengths();
  settle_columns();
}

MDSTREAM_INLINE joined_maker::dataset joined_maker::read(std::size_t number) const {
  const opened_store store(request_.parts[number]);
  const std::vector<std::byte> text = read_all(store, index_file_name);
  index_options options = request_.index;
  options.where.url = store.url(index_file_name);
  dataset out{.index = dataset_index::parse(as_text(text), options), .first = {0}};
  for (const std::uint64_t samples : out.index.shard_sizes())
    out.first.push_back(out.first.back() + samples);
  const auto refuse = [&](const char* what) {
    throw error(errc::unsupported, diagnostics{.what = what, .url = options.where.url});
  };
  if (out.index.samples() == 0) return out;
  if (out.index.format(0) != shard_format::mds)
    refuse("only datasets of MDS shards are joined: convert it");
  for (const shard_config& each : out.index.configs()) {
    if (each.layout != out.index.layout(0))
      refuse("a dataset whose shards have different columns cannot be joined");
    if (names_hash() && std::ranges::find(each.hashes, request_.validate_hash) == each.hashes.end())
      throw error(errc::invalid_argument,
                  {.what = "the index records no " + request_.validate_hash + " hash to validate",
                   .url = options.where.url});
  }
  return out;
}

MDSTREAM_INLINE bool joined_maker::names_hash() const {
  return !request_.validate_hash.empty() && request_.validate_hash != no_hash;
}

MDSTREAM_INLINE void joined_maker::check_lengths() const {
  const auto name = [this](std::size_t i) {
    return std::to_string(sets_[i].index.samples()) + " samples (" + request_.parts[i].url("") +
           ")";
  };
  for (std::size_t i = 1; i < sets_.size(); ++i)
    if (sets_[i].index.samples() != sets_[0].index.samples())
      throw error(errc::invalid_argument, "joined datasets need as many samples each: one has " +
                                              name(0) + ", another has " + name(i));
}

MDSTREAM_INLINE void joined_maker::settle_columns() {
  if (sets_[0].index.samples() == 0) return;  // refused as any empty dataset
  std::vector<column_layout> all;
  for (const dataset& each : sets_)
    for (const column_layout& column : each.index.layout(0).columns()) all.push_back(column);
  layout_ = sample_layout::of(std::move(all));
  for (const column_layout& each : layout_.columns())
    for (std::size_t i = 0; i < sets_.size(); ++i)
      if (const auto at = sets_[i].index.layout(0).find(each.name)) columns_.push_back({i, *at});
}

MDSTREAM_INLINE std::vector<joined_maker::fragment> joined_maker::fragments(
    std::size_t shard) const {
  const std::uint64_t begin = sets_[0].first[shard], end = sets_[0].first[shard + 1];
  std::vector<fragment> out;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    const std::vector<std::uint64_t>& first = sets_[i].first;
    std::size_t at =
        static_cast<std::size_t>(std::ranges::upper_bound(first, begin) - first.begin()) - 1;
    for (; at + 1 < first.size() && first[at] < end; ++at) {
      fragment each{.dataset = i,
                    .shard = at,
                    .begin = std::max(begin, first[at]) - first[at],
                    .end = std::min(end, first[at + 1]) - first[at]};
      if (each.begin == each.end) continue;
      each.whole = names_hash() || sets_[i].index.zip(at) ||
                   each.end - each.begin == sets_[i].index.shard_samples(at);
      out.push_back(each);
    }
  }
  return out;
}

MDSTREAM_INLINE file_info joined_maker::file_of(const fragment& of) const {
  const dataset_index& index = sets_[of.dataset].index;
  const std::optional<file_info> zip = index.zip(of.shard);
  return zip ? *zip : index.raw(of.shard);
}

MDSTREAM_INLINE std::string joined_maker::url_of(const fragment& of) const {
  return request_.parts[of.dataset].url(file_of(of).name);
}

MDSTREAM_INLINE std::string joined_maker::config() const {
  return json::dump(mds_config(layout_, "", {}, 0), json::key_order::sorted);
}

MDSTREAM_INLINE std::string joined_maker::index_text() const {
  if (sets_[0].index.samples() == 0) return R"({"shards": [], "version": 2})";
  const json::object entry_of_all = mds_config(layout_, "", {std::string(source_digest)}, 0);
  json::array shards;
  for (std::size_t i = 0; i < sets_[0].index.shards(); ++i) {
    std::string identity;
    std::uint64_t bytes = 0;
    for (const fragment& each : fragments(i)) {
      const dataset_index& index = sets_[each.dataset].index;
      const file_info raw = index.raw(each.shard), stored = file_of(each);
      identity += std::to_string(each.dataset) + '/' + stored.name + ' ' +
                  std::to_string(stored.bytes) + ' ' + std::to_string(each.begin) + '-' +
                  std::to_string(each.end);
      for (const file_hash& hash : stored.hashes) identity += ' ' + hash.name + ':' + hash.hex;
      const double share = static_cast<double>(each.end - each.begin) /
                           static_cast<double>(index.shard_samples(each.shard));
      bytes += 1 + static_cast<std::uint64_t>(share * static_cast<double>(raw.bytes));
    }
    const std::string name = hex_digits(fnv1a().add(std::string_view(identity)).value()) +
                             hex_digits(crc32c(as_bytes(identity)));
    json::object entry = entry_of_all;
    entry.emplace_back("raw_data",
                       json::object{{"basename", name + ".mds"},
                                    {"bytes", std::min(bytes, mds_shard_builder::max_bytes)},
                                    {"hashes", json::object{{std::string(source_digest), name}}}});
    entry.emplace_back("samples", std::uint64_t{sets_[0].index.shard_samples(i)});
    entry.emplace_back("zip_data", json::value());
    shards.emplace_back(std::move(entry));
  }
  return json::dump(json::object{{"shards", std::move(shards)}, {"version", 2}},
                    json::key_order::sorted);
}

MDSTREAM_INLINE std::unique_ptr<shard_making> joined_maker::begin(std::uint32_t shard) const {
  return std::make_unique<joined_making>(*this, shard);
}

MDSTREAM_INLINE std::uint64_t joined_making::piece::offset(std::uint64_t i) const {
  return load<std::uint32_t>(offsets.data() + 4 * i);
}

MDSTREAM_INLINE joined_making::joined_making(const joined_maker& of, std::size_t shard)
    : of_(of), samples_(of.sets_[0].index.shard_samples(shard)) {
  for (const joined_maker::fragment& each : of.fragments(shard)) pieces_.push_back({.of = each});
}

MDSTREAM_INLINE object_range joined_making::range_of(const piece& of, std::uint64_t offset,
                                                     std::uint64_t bytes) const {
  const file_info file = of_.file_of(of.of);
  return {.key = std::to_string(of.of.dataset) + '/' + file.name,
          .version = {.bytes = file.bytes},
          .offset = offset,
          .bytes = bytes};
}

MDSTREAM_INLINE std::vector<object_range> joined_making::next() {
  std::vector<object_range> out;
  ++asked_;
  for (const piece& each : pieces_) {
    if (asked_ == 1 && each.of.whole)
      out.push_back(range_of(each, 0, of_.file_of(each.of).bytes));
    else if (asked_ == 1)
      out.push_back(range_of(each, 4 + 4 * each.of.begin, 4 * (each.of.end - each.of.begin + 1)));
    else if (asked_ == 2 && !each.of.whole)
      out.push_back(range_of(each, each.offset(0),
                             each.offset(each.of.end - each.of.begin) - each.offset(0)));
  }
  return out;
}

MDSTREAM_INLINE void joined_making::take(std::vector<part_of_pages> bytes) {
  auto next = bytes.begin();
  for (piece& each : pieces_) {
    if (asked_ == 2 && each.of.whole) continue;
    (asked_ == 1 && !each.of.whole ? each.offsets : each.bytes) = std::move(*next++);
    if (asked_ == 1 && !each.of.whole) check_offsets(each);
  }
}

MDSTREAM_INLINE void joined_making::check(const object_range& asked,
                                          const object_version& now) const {
  throw error(errc::corrupt, "has " + std::to_string(now.bytes) + " bytes, the index says " +
                                 std::to_string(asked.version.bytes));
}

MDSTREAM_INLINE void joined_making::check_offsets(const piece& of) const {
  const dataset_index& index = of_.sets_[of.of.dataset].index;
  const std::uint64_t header = 8 + 4 * std::uint64_t{index.shard_samples(of.of.shard)};
  const std::uint64_t count = of.of.end - of.of.begin;
  for (std::uint64_t i = 0; i < count; ++i)
    if (of.offset(i) >= of.offset(i + 1) || of.offset(i) < header ||
        of.offset(i + 1) > index.raw(of.of.shard).bytes)
      throw error(errc::corrupt, {.what = "offsets " + std::to_string(of.offset(i)) + " to " +
                                          std::to_string(of.offset(i + 1)) + " hold no sample",
                                  .url = of_.url_of(of.of),
                                  .sample = of.of.begin + i,
                                  .byte = 4 + 4 * (of.of.begin + i)});
}

MDSTREAM_INLINE void joined_making::open_whole(piece& of) const {
  const dataset_index& index = of_.sets_[of.of.dataset].index;
  const std::string url = of_.url_of(of.of);
  const bytes_view stored(of.bytes.data(), of.bytes.size());
  const file_info file = of_.file_of(of.of);
  const file_hash* const expected =
      choose_hash(file, of_.request_.validate_hash, of_.request_.hashes);
  if (expected != nullptr) {
    const std::string found = of_.request_.hashes.hex_of(expected->name, stored);
    if (found != expected->hex)
      throw error(errc::corrupt, {.what = "the " + expected->name + " hash is " + found +
                                          ", the index says " + expected->hex,
                                  .url = url});
  }
  if (!index.zip(of.of.shard)) return;
  of.unzipped = room_for_object(index.raw(of.of.shard).bytes, url);
  diagnostics where{.url = url};
  const std::error_code code =
      of_.request_.codecs.open(index.compression(of.of.shard))
          ->decompress(stored, {of.unzipped.data(), of.unzipped.size()}, where);
  if (where.url.empty()) where.url = url;
  if (code) throw error(code, std::move(where));
}

MDSTREAM_INLINE std::vector<bytes_view> joined_making::samples_of(std::size_t dataset) const {
  std::vector<bytes_view> out;
  for (const piece& each : pieces_) {
    if (each.of.dataset != dataset) continue;
    const bytes_view read(each.bytes.data(), each.bytes.size());
    if (!each.of.whole) {
      for (std::uint64_t i = 0; i < each.of.end - each.of.begin; ++i)
        out.push_back(read.subspan(static_cast<std::size_t>(each.offset(i) - each.offset(0)),
                                   static_cast<std::size_t>(each.offset(i + 1) - each.offset(i))));
      continue;
    }
    const dataset_index& index = of_.sets_[dataset].index;
    try {
      const bool zipped = index.zip(each.of.shard).has_value();
      const mds_shard_view shard(
          zipped ? bytes_view(each.unzipped.data(), each.unzipped.size()) : read,
          index.shard_samples(each.of.shard));
      for (std::uint64_t i = each.of.begin; i < each.of.end; ++i) out.push_back(shard[i]);
    } catch (const error& e) {
      diagnostics where = e.where();
      where.url = of_.url_of(each.of);
      throw error(e.code(), std::move(where));
    }
  }
  return out;
}

MDSTREAM_INLINE void joined_making::finish(const shard_taker& take) {
  for (piece& each : pieces_)
    if (each.of.whole) open_whole(each);
  std::vector<std::vector<bytes_view>> samples;
  for (std::size_t i = 0; i < of_.sets_.size(); ++i) samples.push_back(samples_of(i));
  std::vector<bytes_view> values(of_.columns_.size());
  mds_shard_builder made(of_.config());
  made.stream_to(samples_, take);
  for (std::size_t i = 0; i < samples_; ++i) {
    std::uint64_t bytes = 4 * std::uint64_t{of_.layout_.variable_columns()};
    for (std::size_t c = 0; c < values.size(); ++c) {
      const joined_maker::column_place& from = of_.columns_[c];
      values[c] =
          of_.sets_[from.dataset].index.layout(0).locate(samples[from.dataset][i], from.column);
      bytes += values[c].size();
    }
    made.give_pieces();
    std::byte* to = made.add(bytes);
    for (std::size_t c = 0; c < values.size(); ++c) {
      if (of_.layout_[c].size) continue;
      const auto size = static_cast<std::uint32_t>(values[c].size());
      std::memcpy(to, &size, sizeof size);
      to += sizeof size;
    }
    for (const bytes_view value : values) {
      if (!value.empty()) std::memcpy(to, value.data(), value.size());
      to += value.size();
    }
  }
  (void)made.finish();
}

MDSTREAM_INLINE opened_source open_joined(join_request request) {
  auto maker = std::make_shared<const joined_maker>(std::move(request));
  std::string text = maker->index_text();
  const std::uint64_t fingerprint = fnv1a().add(std::string_view(text)).value();
  return {.index = std::move(text), .maker = std::move(maker), .fingerprint = fingerprint};
}

}  // namespace mdstream::inline v0::detail
