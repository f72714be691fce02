#pragma once

#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/raw/files.hpp>
#include <mdstream/source/detail/scan.hpp>
#include <mdstream/source/raw_rows.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <string_view>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE raw_rows::raw_rows(raw::source_format format,
                                   std::shared_ptr<const raw::detail::row_index> index,
                                   any_async_store store, stream_decoders decoders,
                                   std::size_t shards_in_memory)
    : format_(std::move(format)),
      index_(std::move(index)),
      layout_(raw::layout_of(index_->options.columns)),
      store_(std::move(store)),
      decoders_(std::move(decoders)),
      shards_in_memory_(std::max<std::size_t>(shards_in_memory, 1)),
      places_(index_->places()) {
  std::vector<std::string_view> keys;
  for (const raw::detail::indexed_object& each : index_->objects) keys.push_back(each.file.key);
  if (format_.get().takes_whole_objects()) labels_ = raw::labels_of(keys);
  begins_.push_back(0);
  for (const raw::detail::shard_place& each : places_)
    begins_.push_back(begins_.back() + index_->objects[each.object].cuts[each.cut].samples);
}

MDSTREAM_INLINE raw_rows::row raw_rows::at(std::uint64_t number, const std::stop_token& stop) {
  if (number >= size())
    throw error(errc::out_of_range,
                "row " + std::to_string(number) + " is asked for of " + std::to_string(size()));
  const auto shard = static_cast<std::size_t>(
      std::upper_bound(begins_.begin(), begins_.end(), number) - begins_.begin() - 1);
  std::shared_ptr<const raw::detail::transcoded> held = held_shard(shard, stop);
  const mds_shard_view view(held->shard, held->samples);
  const bytes_view bytes = view[number - begins_[shard]];
  return {std::move(held), bytes};
}

MDSTREAM_INLINE raw::detail::transcoded raw_rows::shard(std::size_t number,
                                                        const std::stop_token& stop) {
  const raw::detail::shard_place& place = places_.at(number);
  const raw::detail::indexed_object& object = index_->objects[place.object];
  const raw::cut& cut = object.cuts[place.cut];
  try {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<raw::part> parts;
    for (const raw::detail::part_range& each : raw::detail::parts_of(format_, *index_, place)) {
      const raw::detail::indexed_object& of = index_->objects[each.object];
      const raw::detail::listed_object& from = each.beside ? *of.beside : of.file;
      bytes.push_back(read(from, each.range, stop));
      parts.push_back(
          {from.key, each.range.offset, bytes.back(), labels_.empty() ? 0 : labels_[each.object]});
    }
    return raw::detail::transcode(format_, index_->options.columns, cut,
                                  {.parts = parts, .note = object.note, .extra = cut.extra});
  } catch (const error& e) {
    throw with_url(e, store_, object.file.key);
  }
}

MDSTREAM_INLINE std::shared_ptr<const raw::detail::transcoded> raw_rows::held_shard(
    std::size_t number, const std::stop_token& stop) {
  for (const auto& [which, shard] : held_)
    if (which == number) return shard;
  if (held_.size() == shards_in_memory_) held_.pop_front();
  held_.emplace_back(number, std::make_shared<const raw::detail::transcoded>(shard(number, stop)));
  return held_.back().second;
}

MDSTREAM_INLINE std::vector<std::byte> raw_rows::read(const raw::detail::listed_object& from,
                                                      const raw::byte_range& range,
                                                      const std::stop_token& stop) {
  if (range.bytes > mds_shard_builder::max_bytes)
    throw error(errc::corrupt,
                {.what = "the index has a shard of " + std::to_string(range.bytes) + " bytes",
                 .url = from.key,
                 .byte = range.offset});
  auto decoder = format_.get().takes_whole_objects() ? nullptr : open_decoder(decoders_, from.key);
  try {
    if (decoder) return read_packed(from, std::move(decoder), range, stop);
    const pages room = room_for_object(range.bytes, store_.url(from.key));
    const mutable_bytes into(room.data(), room.size());
    if (!into.empty() && read_range(from, range.offset, into, stop) != into.size())
      throw error(errc::corrupt, {.what = "the object became shorter while it was read",
                                  .url = store_.url(from.key)});
    return {into.begin(), into.end()};
  } catch (const error& e) {
    if (e.code() == errc::corrupt) tell_change(from, stop);
    throw;
  }
}

MDSTREAM_INLINE std::size_t raw_rows::read_range(const raw::detail::listed_object& from,
                                                 std::uint64_t offset, mutable_bytes into,
                                                 const std::stop_token& stop) const {
  return wait_for<std::size_t>([&](diagnostics& where, auto done) {
    store_.async_read_version(from.key, {.bytes = from.bytes, .tag = from.tag}, offset, into, stop,
                              where, std::move(done));
  });
}

MDSTREAM_INLINE std::vector<std::byte> raw_rows::read_packed(
    const raw::detail::listed_object& from, std::unique_ptr<stream_decoder> decoder,
    const raw::byte_range& range, const std::stop_token& stop) {
  if (!packed_ || packed_key_ != from.key || packed_end_ > range.offset) {
    packed_.emplace(store_, from, std::move(decoder), plain_bytes::no_end, stop);
    packed_key_ = from.key;
  }
  packed_end_ = plain_bytes::no_end;  // after a failure it is of no use
  const plain_bytes::piece piece = packed_->at(range.offset, range.bytes);
  if (piece.bytes.size() < range.bytes)
    throw error(errc::corrupt, {.what = "the index has a shard that reaches beyond its object",
                                .url = from.key,
                                .byte = range.offset});
  packed_end_ = range.offset + range.bytes;
  return {piece.bytes.begin(), piece.bytes.end()};
}

MDSTREAM_INLINE void raw_rows::tell_change(const raw::detail::listed_object& from,
                                           const std::stop_token& stop) const {
  const auto now = wait_for<object_version>([&](diagnostics& where, auto done) {
    store_.async_version(from.key, stop, where, std::move(done));
  });
  raw::detail::check_unchanged(from, {from.key, now.bytes, now.tag});
}

}  // namespace mdstream::inline v0::detail
