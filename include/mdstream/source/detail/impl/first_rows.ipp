#pragma once

#include <mdstream/format/mds_shard.hpp>
#include <mdstream/raw/detail/sample_sink.hpp>
#include <mdstream/raw/files.hpp>
#include <mdstream/raw/tokens.hpp>
#include <mdstream/source/detail/scan.hpp>
#include <mdstream/source/first_rows.hpp>
#include <mdstream/source/list_source.hpp>
#include <mdstream/source/raw_rows.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE first_rows_run::first_rows_run(const any_async_store& store,
                                               const mdstream::detail::stream_decoders& decoders,
                                               source_format format,
                                               std::vector<listed_object> listing,
                                               const row_taker& use, std::stop_token stop)
    : store_(store),
      decoders_(decoders),
      format_(std::move(format)),
      builder_(format_, std::move(listing)),
      use_(use),
      stop_(std::move(stop)) {}

MDSTREAM_INLINE void first_rows_run::run() {
  if (format_.get().takes_whole_objects()) return read_files();
  for (std::size_t i = 0; i < builder_.objects().size() && more_; ++i) {
    indexed_object object = builder_.objects()[i];
    hold(object.file);
    if (object.beside) hold(*object.beside);
    try {
      const bool is_scanned =
          object.beside || format_.settings().format == tokens::name || format_.get().reads_tail();
      is_scanned ? read_scanned(object) : read_streamed(object);
    } catch (const error& e) {
      throw mdstream::detail::with_url(e, store_, object.file.key);
    }
  }
}

MDSTREAM_INLINE void first_rows_run::hold(listed_object& file) const {
  std::vector<listed_object> one{std::move(file)};
  find_versions(store_, one, 1, stop_);
  if (one.empty()) throw error(errc::not_found, "the .idx of a Megatron file is gone");
  file = std::move(one.front());
}

MDSTREAM_INLINE void first_rows_run::read_files() {
  std::vector<std::string_view> keys;
  for (const indexed_object& each : builder_.objects()) keys.push_back(each.file.key);
  if (format_.settings().columns.empty())
    format_ = format_.with_columns(*format_.get().columns_of_files(keys));
  const auto labels = labels_of(keys);
  for (std::size_t i = 0; i < keys.size() && more_; ++i) {
    listed_object file = builder_.objects()[i].file;
    hold(file);
    mdstream::detail::plain_bytes bytes(store_, file, nullptr, file.bytes, stop_);
    emit({file.key, 0, bytes.at(0, file.bytes).bytes, labels[i]}, {}, {});
  }
}

MDSTREAM_INLINE void first_rows_run::read_scanned(const indexed_object& object) {
  const mdstream::detail::stretch_of all{&format_, &object};
  scan_record found = mdstream::detail::scan_stretch(
      store_, decoders_, all, {.infers = format_.settings().columns.empty()}, stop_);
  if (format_.settings().columns.empty())
    format_ = format_.with_columns(found.columns.columns(format_.settings()));
  row_index index{format_.settings(), {object}};
  index.objects[0].note = std::move(found.found.note);
  index.objects[0].cuts = std::move(found.found.cuts);
  mdstream::detail::raw_rows rows(format_, std::move(index), store_, decoders_, 1);
  for (std::uint64_t i = 0; i < rows.size() && more_; ++i)
    more_ = use_(rows.layout(), rows.at(i, stop_).bytes);
}

MDSTREAM_INLINE void first_rows_run::read_streamed(const indexed_object& object) {
  const listed_object& file = object.file;
  mdstream::detail::plain_bytes bytes(store_, file,
                                      mdstream::detail::open_decoder(decoders_, file.key),
                                      mdstream::detail::plain_bytes::no_end, stop_);
  std::optional<std::uint64_t> object_bytes;
  if (!bytes.is_compressed()) object_bytes = file.bytes;
  if (format_.settings().columns.empty())
    format_ =
        format_.with_columns(mdstream::detail::first_columns(format_, file.key, object_bytes, bytes,
                                                             object_cutter::window_bytes)
                                 .columns(format_.settings()));
  object_cutter cutter(format_, file.key, object_bytes);
  const std::uint64_t most = format_.settings().max_row_bytes.value + object_cutter::window_bytes;
  std::size_t done = 0;
  std::uint64_t end = 0;  // of what was shown
  const auto show = [&](const cut& each, std::string_view note) {
    if (!more_) return;
    emit({file.key, each.offset, bytes.at(each.offset, each.bytes).bytes}, note, each.extra);
    end = each.offset + each.bytes;
  };
  while (const auto range = cutter.next()) {
    // A sample may have begun before the bytes that the cutter wants next.
    bytes.keep_from(range->offset - end > most ? range->offset : end);
    const auto piece = bytes.at(range->offset, range->bytes);
    cutter.feed(piece.bytes, piece.last);
    for (; done + 1 < cutter.cuts().size(); ++done) show(cutter.cuts()[done], cutter.note());
    if (!more_) return;
  }
  const object_cuts found = cutter.finish();
  for (; done < found.cuts.size(); ++done) show(found.cuts[done], found.note);
}

MDSTREAM_INLINE void first_rows_run::emit(const part& from, std::string_view note,
                                          const std::vector<std::uint64_t>& extra) {
  const std::vector<column>& columns = format_.settings().columns;
  sample_sink out(format_.settings(), columns, std::string(from.key), from.bytes.size());
  format_.get().transcode({{&from, 1}, note, extra}, out);
  const sample_layout layout = layout_of(columns);
  const std::uint64_t samples = out.samples();
  const mds_shard_view shard(out.finish(), samples);
  for (std::uint64_t i = 0; i < samples && more_; ++i) more_ = use_(layout, shard[i]);
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE void for_each_first_row(const any_async_store& store,
                                        const mdstream::detail::stream_decoders& decoders,
                                        source_format format,
                                        std::vector<detail::listed_object> listing,
                                        const row_taker& use, std::stop_token stop) {
  detail::first_rows_run(store, decoders, std::move(format), std::move(listing), use,
                         std::move(stop))
      .run();
}

}  // namespace mdstream::inline v0::raw
