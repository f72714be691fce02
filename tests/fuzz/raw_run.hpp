#pragma once

// Foreign files: whatever their bytes, they are cut into the same shards however they are fed, and
// shards are made of the cuts or refused.

#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/raw/detail/transcode.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/refusal.hpp"

namespace fuzz {

namespace mds = mdstream;
namespace raw = mdstream::raw;

/// A few bytes can stand for any number of equal rows, which take their time and are no finding.
inline constexpr std::uint64_t most_rows = 1'000;

/// Cuts what `scanned` tells of an object of so many bytes, in windows that grow where it cannot go
/// on.
inline raw::detail::object_cuts cut_by(raw::detail::object_cutter cutter, std::string_view scanned,
                                       std::size_t window) {
  std::uint64_t before = ~std::uint64_t{0};
  std::size_t count = window;
  while (const auto wanted = cutter.next()) {
    count = wanted->offset == before ? 2 * count : window;
    before = wanted->offset;
    const std::string_view rest =
        wanted->offset < scanned.size() ? scanned.substr(wanted->offset) : std::string_view{};
    cutter.feed(mds::as_bytes(rest.substr(0, count)), count >= rest.size());
  }
  return cutter.finish();
}

/// `Formats`: the list that has the format.
template <class Formats>
void run(raw::options about, std::string_view object, std::string_view beside = {}) {
  about.shard_bytes = 100;
  about.max_row_bytes = 1 << 16;
  const raw::source_format format = Formats::open(about);
  const std::string_view scanned = beside.empty() ? object : beside;
  try {
    const raw::detail::object_cutter whole(format, "x", object.size());
    const auto cut_all = [&](std::size_t window) {
      return cut_by(raw::detail::object_cutter(format, "x", object.size()), scanned, window);
    };
    const raw::detail::object_cuts cuts = cut_all(1 << 20);
    require(cut_all(13) == cuts);
    if (format.get().look_behind() != 0) {
      std::vector<raw::detail::object_cuts> parts;
      for (std::uint64_t k = 0; k < raw::detail::stretches(format, object.size()); ++k)
        parts.push_back(cut_by({format, "x", object.size(), 100 * k, 100 * (k + 1)}, object, 17));
      require(raw::detail::join_stretches(parts) == cuts);
    }
    raw::detail::row_index index{about, {}};
    if (about.columns.empty()) {
      const auto columns =
          raw::detail::infer_columns(format, "x", {0, mds::as_bytes(scanned), true, object.size()});
      index.options.columns = columns.columns(about);
    }
    index.objects.push_back(
        {.file = {"x", object.size(), "t"}, .note = cuts.note, .cuts = cuts.cuts});
    if (!beside.empty())
      index.objects[0].beside = raw::detail::listed_object{"y", beside.size(), "t"};
    require(raw::detail::row_index::parse(index.dump()) == index);
    for (const raw::detail::shard_place& place : index.places()) {
      std::vector<raw::part> parts;
      for (const raw::detail::part_range& each : raw::detail::parts_of(format, index, place))
        parts.push_back(
            {"x", each.range.offset,
             mds::as_bytes(
                 (each.beside ? beside : object).substr(each.range.offset, each.range.bytes))});
      raw::cut cut = index.objects[0].cuts[place.cut];
      const raw::cut_source from{.parts = parts, .note = cuts.note, .extra = cut.extra};
      const std::uint64_t rows = cut.samples;
      if (rows > most_rows) continue;
      if (about.skip_bad)
        cut.samples = raw::detail::readable_samples(format, index.options.columns, from);
      const raw::detail::transcoded made =
          raw::detail::transcode(format, index.options.columns, cut, from);
      require(made.samples + made.skipped == rows);
    }
  } catch (const mds::error& e) {
    require(!e.where().what.empty());
  }
}

}  // namespace fuzz
