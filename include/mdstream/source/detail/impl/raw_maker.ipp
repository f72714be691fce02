#pragma once

#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/core/json.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/raw/files.hpp>
#include <mdstream/source/detail/raw_maker.hpp>
#include <mdstream/source/detail/scan.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE raw_maker::raw_maker(raw::source_format format, raw::detail::row_index index,
                                     stream_decoders decoders, any_async_store store,
                                     entry_states states)
    : format_(std::move(format)),
      index_(std::move(index)),
      decoders_(std::move(decoders)),
      store_(std::move(store)),
      states_(std::move(states)),
      places_(index_.places()) {
  check_entries();
  if (!format_.get().takes_whole_objects()) {
    step_ = step_of_all();
    return;
  }
  std::vector<std::string_view> keys;
  for (const raw::detail::indexed_object& each : index_.objects) keys.push_back(each.file.key);
  labels_ = raw::labels_of(keys);
}

MDSTREAM_INLINE void raw_maker::check_entries() const {
  for (const raw::detail::indexed_object& each : index_.objects) {
    if (!each.entries) continue;
    const std::vector<raw::detail::object_entry>& points = each.entries->points;
    // Of a very large object, entry points are as far apart as that.
    const std::uint64_t apart =
        2 * spacing_of(index_.options.shard_bytes.value, each.file.bytes).packed;
    for (const raw::cut& cut : each.cuts) {
      const std::size_t n = each.entries->count_until(cut.offset);
      const raw::detail::object_entry from = n == 0 ? raw::detail::object_entry{} : points[n - 1];
      const std::uint64_t to = n == points.size() ? each.file.bytes : points[n].packed;
      if (cut.offset - from.plain > most_skipped && to - from.packed > apart)
        throw error(errc::unsupported,
                    {.what = "more than 1 GiB of the object is compressed in one piece, of which "
                             "each shard would be decompressed from the beginning: convert the "
                             "source (mdstream convert), compress it as several frames (pzstd), or "
                             "set shard_bytes to the decompressed size, if that is below 4 GiB",
                     .url = store_.url(each.file.key),
                     .byte = from.packed});
    }
  }
}

MDSTREAM_INLINE std::uint64_t raw_maker::step_of_all() const {
  const sample_layout layout = raw::layout_of(index_.options.columns);
  std::uint64_t out = 0;
  for (const raw::detail::indexed_object& each : index_.objects) {
    if (each.cuts.empty()) continue;
    const std::uint64_t step = format_.get().step(each.note, layout);
    if (step == 0 || (out != 0 && step != out)) return 0;
    if (open_decoder(decoders_, each.file.key)) return 0;
    out = step;
  }
  // One stretch of bytes is mapped for a shard.
  const bool one_each = std::ranges::all_of(places_, [&](const raw::detail::shard_place& place) {
    return raw::detail::parts_of(format_, index_, place).size() == 1;
  });
  return one_each ? out : 0;
}

MDSTREAM_INLINE const raw::detail::listed_object& raw_maker::object_of(
    const raw::detail::part_range& part) const {
  const raw::detail::indexed_object& of = index_.objects[part.object];
  return part.beside ? *of.beside : of.file;
}

MDSTREAM_INLINE std::string raw_maker::name_of(
    const raw::detail::shard_place& place,
    const std::vector<raw::detail::part_range>& parts) const {
  std::string text = raw::detail::identity_of(index_, place);
  for (const raw::detail::part_range& part : parts) {
    if (labels_.empty()) break;
    raw::detail::append_json(text, object_of(part));
    text += std::to_string(labels_[part.object]);
  }
  return hex_digits(fnv1a().add(std::string_view(text)).value()) +
         hex_digits(crc32c(as_bytes(text)));
}

MDSTREAM_INLINE std::string raw_maker::index_text(bool in_place) const {
  const sample_layout layout = raw::layout_of(index_.options.columns);
  const json::object config = mds_config(layout, "", {std::string(source_digest)}, 0);
  json::array shards;
  for (const raw::detail::shard_place& place : places_) {
    const std::vector<raw::detail::part_range> parts =
        raw::detail::parts_of(format_, index_, place);
    const raw::cut& cut = index_.objects[place.object].cuts[place.cut];
    std::uint64_t key_bytes = 0;
    for (const raw::detail::part_range& part : parts) key_bytes += object_of(part).key.size();
    const std::string name = name_of(place, parts);
    std::uint64_t bytes = raw::detail::estimated_shard_bytes(layout, cut, key_bytes);
    // In place there is no such file, which could have no more.
    if (in_place) bytes = std::min(bytes, mds_shard_builder::max_bytes);
    json::object entry = config;
    entry.emplace_back("raw_data",
                       json::object{{"basename", name + ".mds"},
                                    {"bytes", bytes},
                                    {"hashes", json::object{{std::string(source_digest), name}}}});
    entry.emplace_back("samples", cut.samples);
    entry.emplace_back("zip_data", json::value());
    shards.emplace_back(std::move(entry));
  }
  return json::dump(json::object{{"shards", std::move(shards)}, {"version", 2}},
                    json::key_order::sorted);
}

MDSTREAM_INLINE std::unique_ptr<shard_making> raw_maker::begin(std::uint32_t shard) const {
  return std::make_unique<raw_making>(*this, places_.at(shard));
}

MDSTREAM_INLINE raw_making::raw_making(const raw_maker& of, const raw::detail::shard_place& place)
    : of_(of),
      object_(of.index_.objects[place.object]),
      cut_(object_.cuts[place.cut]),
      parts_(raw::detail::parts_of(of.format_, of.index_, place)),
      bytes_(parts_.size()) {
  for (const raw::detail::part_range& each : parts_)
    if (each.range.bytes > mds_shard_builder::max_bytes)
      throw error(errc::corrupt, {.what = "the index has a shard of " +
                                          std::to_string(each.range.bytes) + " bytes",
                                  .url = of_.object_of(each).key,
                                  .byte = each.range.offset});
  if (of_.format_.get().takes_whole_objects()) return;
  decoder_ = open_decoder(of_.decoders_, object_.file.key);
  if (!decoder_) return;
  bytes_.front() = room_for_object(cut_.bytes, object_.file.key);
  if (object_.entries) find_entry();
}

MDSTREAM_INLINE void raw_making::find_entry() {
  const std::vector<raw::detail::object_entry>& points = object_.entries->points;
  const std::size_t n = object_.entries->count_until(cut_.offset);
  const std::size_t end = object_.entries->count_until(cut_.offset + cut_.bytes);
  if (&cut_ == &object_.cuts.back())
    packed_until_ = object_.file.bytes;
  else if (end > n)
    packed_until_ = points[end - 1].packed + least_packed_at_once;
  if (points.empty()) return;
  packed_step_ = least_packed_at_once;
  if (n == 0) return;
  entry_ = &points[n - 1];
  plain_at_ = entry_->plain;
  packed_read_ = entry_->packed;
  if (entry_->state.bytes == 0)
    enter({});
  else
    decoder_ = nullptr;  // until the state was read
}

MDSTREAM_INLINE object_range raw_making::range_of_state() const {
  return {.key = of_.states_.prefix + object_.entries->states,
          .version = {.bytes = object_.entries->state_bytes()},
          .offset = entry_->state.offset,
          .bytes = entry_->state.bytes};
}

MDSTREAM_INLINE void raw_making::read_state() {
  const object_range range = range_of_state();
  std::vector<std::byte> state(static_cast<std::size_t>(range.bytes));
  try {
    state.resize(of_.states_.store->read(range.key, range.offset, state));
  } catch (const error& e) {
    if (e.code() != errc::not_found) throw;
    // Somebody cleaned the cache directory: it takes longer, but the object has all bytes.
    entry_ = nullptr;
    plain_at_ = packed_read_ = 0;
    decoder_ = open_decoder(of_.decoders_, object_.file.key);
    return;
  }
  enter(state);
}

MDSTREAM_INLINE void raw_making::enter(bytes_view state) {
  try {
    decoder_ = enter_decoder(of_.decoders_, object_.file.key,
                             {entry_->plain, entry_->packed, {state.begin(), state.end()}});
  } catch (const error& e) {
    fail_packed(e.code(), e.where(), 0);
  }
}

MDSTREAM_INLINE object_range raw_making::next_packed() {
  std::uint64_t bytes = packed_step_;
  if (packed_read_ < packed_until_)
    bytes = std::min(packed_until_ - packed_read_, packed_at_once);
  else
    packed_step_ = std::min(2 * packed_step_, packed_at_once);
  const raw::detail::listed_object& from = object_.file;
  return {.key = from.key,
          .version = {.bytes = from.bytes, .tag = from.tag},
          .offset = packed_read_,
          .bytes = std::min(bytes, from.bytes - packed_read_)};
}

MDSTREAM_INLINE object_range raw_making::range_of(std::size_t part) const {
  const raw::detail::listed_object& from = of_.object_of(parts_[part]);
  return {.key = from.key,
          .version = {.bytes = from.bytes, .tag = from.tag},
          .offset = parts_[part].range.offset,
          .bytes = parts_[part].range.bytes};
}

MDSTREAM_INLINE std::vector<object_range> raw_making::next() {
  std::vector<object_range> out;
  if (entry_ != nullptr && !decoder_) {
    if (!of_.states_.store) return {range_of_state()};
    read_state();
  }
  if (decoder_ && plain_at_ < cut_.offset + cut_.bytes) {
    out.push_back(next_packed());
  } else if (!std::exchange(asked_, true)) {
    for (std::size_t i = decoder_ ? 1 : 0; i < parts_.size(); ++i) out.push_back(range_of(i));
  }
  return out;
}

MDSTREAM_INLINE void raw_making::take(std::vector<part_of_pages> bytes) {
  if (!asked_) {
    const part_of_pages& packed = bytes.front();
    if (!decoder_) return enter({packed.data(), packed.size()});
    packed_read_ += packed.size();
    return decode({packed.data(), packed.size()});
  }
  std::ranges::move(bytes, bytes_.begin() + (decoder_ ? 1 : 0));
}

MDSTREAM_INLINE void raw_making::decode(bytes_view packed) {
  const std::uint64_t end = cut_.offset + cut_.bytes;
  std::vector<std::byte> skipped(std::size_t{256} << 10);
  while (plain_at_ < end) {
    mutable_bytes into(skipped);
    if (plain_at_ < cut_.offset)
      into = into.first(std::min<std::size_t>(into.size(), cut_.offset - plain_at_));
    else
      into = mutable_bytes(bytes_.front().data(), bytes_.front().size())
                 .subspan(static_cast<std::size_t>(plain_at_ - cut_.offset));
    std::size_t made = 0;
    try {
      made = decoder_->decode(packed, into);
    } catch (const error& e) {
      fail_packed(e.code(), e.where(), packed.size());
    }
    plain_at_ += made;
    if (made != 0 || !packed.empty()) continue;
    if (packed_read_ < object_.file.bytes) return;
    fail_packed(errc::corrupt,
                {.what = decoder_->may_end() ? "the object ends before the shard that the index has"
                                             : "the compressed data are cut short"},
                0);
  }
}

MDSTREAM_INLINE void raw_making::fail_packed(std::error_code code, diagnostics where,
                                             std::size_t left) const {
  where.url = of_.store_.url(object_.file.key);
  where.byte = packed_read_ - left;
  name_entry(where);
  throw error(code, std::move(where));
}

MDSTREAM_INLINE void raw_making::check(const object_range& asked, const object_version& now) const {
  // States of entry points have no tag in the index.
  const std::string& tag = asked.version.tag.empty() ? now.tag : asked.version.tag;
  raw::detail::check_unchanged({asked.key, asked.version.bytes, tag},
                               {asked.key, now.bytes, now.tag});
}

MDSTREAM_INLINE void raw_making::name_entry(diagnostics& where) const {
  if (entry_ == nullptr) return;
  where.what += "; it was decompressed from entry point " +
                std::to_string(entry_ - object_.entries->points.data()) +
                " of the row index on, at byte " + std::to_string(entry_->packed);
}

MDSTREAM_INLINE void raw_making::finish(const shard_taker& take) {
  try {
    make(take);
  } catch (const error& e) {
    const error named = with_url(e, of_.store_, object_.file.key);
    const bytes_view plain(bytes_.front().data(), bytes_.front().size());
    if (e.code() != errc::corrupt || entry_ == nullptr ||
        (cut_.crc32c && *cut_.crc32c == crc32c(plain)))
      throw named;
    diagnostics where = named.where();
    name_entry(where);
    throw error(e.code(), std::move(where));
  }
}

MDSTREAM_INLINE void raw_making::make(const shard_taker& take) {
  std::vector<raw::part> parts;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    parts.push_back({of_.object_of(parts_[i]).key,
                     parts_[i].range.offset,
                     {bytes_[i].data(), bytes_[i].size()},
                     of_.labels_.empty() ? 0 : of_.labels_[parts_[i].object]});
  raw::detail::sample_sink made(of_.index_.options, of_.index_.options.columns, object_.file.key);
  made.stream_to(cut_.samples, take);
  raw::detail::transcode_into(of_.format_, cut_,
                              {.parts = parts, .note = object_.note, .extra = cut_.extra}, made);
  (void)made.finish();
}

}  // namespace mdstream::inline v0::detail
