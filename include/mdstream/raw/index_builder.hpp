#pragma once

/// Makes a row index of a listing: says what has to be read, takes what was found in it.

#include <mdstream/core/error.hpp>
#include <mdstream/raw/column_inference.hpp>
#include <mdstream/raw/files.hpp>
#include <mdstream/raw/format.hpp>
#include <mdstream/raw/keys.hpp>
#include <mdstream/raw/object_cutter.hpp>
#include <mdstream/raw/row_index.hpp>
#include <mdstream/raw/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw {

/// Collects the cuts of a source's objects, in any order.
///
///     index_builder builder(format, listing);
///     for (std::size_t i = 0; i < builder.objects().size(); ++i)
///       if (const listed_object* scanned = builder.to_scan(i)) {
///         column_inference columns = ...;      // by infer_columns, where builder.infers()
///         builder.add(i, cuts_of(*scanned), columns);  // by an object_cutter
///       }
///     row_index index = builder.finish();
class index_builder {
 public:
  /// The listing may hold keys that are no data, and has any order. Throws errc::not_found where
  /// there is no data.
  index_builder(source_format format, std::vector<listed_object> listing)
      : format_(std::move(format)) {
    std::sort(listing.begin(), listing.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    const auto patterns = format_.settings().files.empty()
                              ? std::vector<std::string>{}
                              : expand_braces(format_.settings().files);
    const bool takes_files = format_.get().takes_whole_objects();
    for (listed_object& each : listing) {
      if (!is_data(each.key, patterns)) {
        if (each.key.ends_with(".idx")) beside_.push_back(std::move(each));
        continue;
      }
      if (each.key.ends_with(".idx") && format_.settings().format == tokens::name) {
        beside_.push_back(std::move(each));
        continue;
      }
      if (takes_files && each.bytes == 0) {
        if (!format_.settings().skip_bad)
          throw error(errc::corrupt, diagnostics{.what = "the file is empty", .url = each.key});
        ++skipped_;
        continue;
      }
      objects_.push_back({.file = std::move(each)});
    }
    if (objects_.empty())
      throw error(errc::not_found,
                  "no object of the source is data" +
                      (format_.settings().files.empty()
                           ? std::string()
                           : ": none matches \"" + format_.settings().files + '"'));
    if (format_.settings().format == tokens::name) pair_with_indexes();
    if (takes_files) cut_files();
  }

  [[nodiscard]] const std::vector<indexed_object>& objects() const noexcept { return objects_; }

  /// The object whose bytes tell the cuts of object `i`, or null where nothing has to be read. The
  /// cutter's `object_bytes` are those of `objects()[i]`.
  [[nodiscard]] const listed_object* to_scan(std::size_t i) const {
    if (format_.get().takes_whole_objects()) return nullptr;
    return objects_[i].beside ? &*objects_[i].beside : &objects_[i].file;
  }

  /// Whether columns have to be inferred from the objects' first rows.
  [[nodiscard]] bool infers() const {
    return format_.settings().columns.empty() && !format_.get().takes_whole_objects();
  }

  /// Takes what was found in object `i`.
  void add(std::size_t i, object_cuts found, const column_inference& columns) {
    objects_[i].note = std::move(found.note);
    objects_[i].cuts = std::move(found.cuts);
    columns_.merge(columns);
  }

  /// Objects that were left out, where the options allow it.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

  /// The index. Precondition: all objects that have to be scanned were added.
  [[nodiscard]] row_index finish() {
    row_index out{format_.settings(), std::move(objects_)};
    if (format_.get().takes_whole_objects() && out.options.columns.empty()) {
      std::vector<std::string_view> keys;
      for (const indexed_object& each : out.objects) keys.push_back(each.file.key);
      out.options.columns = *format_.get().columns_of_files(keys);
    } else if (out.options.columns.empty()) {
      out.options.columns = columns_.columns(out.options);
    }
    (void)layout_of(out.options.columns);
    return out;
  }

 private:
  void pair_with_indexes() {
    for (indexed_object& each : objects_) {
      if (!each.file.key.ends_with(".bin")) continue;
      const std::string wanted = each.file.key.substr(0, each.file.key.size() - 4) + ".idx";
      const auto found = std::lower_bound(
          beside_.begin(), beside_.end(), wanted,
          [](const listed_object& one, const std::string& key) { return one.key < key; });
      if (found != beside_.end() && found->key == wanted) each.beside = *found;
    }
  }

  /// A cut belongs to the object that it begins with, and lies in the concatenation of all.
  void cut_files() {
    const std::uint64_t shard_bytes = format_.settings().shard_bytes.value;
    std::uint64_t at = 0;
    cut* open = nullptr;
    for (indexed_object& each : objects_) {
      if (open == nullptr || at / shard_bytes != open->offset / shard_bytes) {
        each.cuts.push_back({.offset = at});
        open = &each.cuts.back();
      }
      if (__builtin_add_overflow(at, each.file.bytes, &at))
        throw error(errc::unsupported, "the files have more bytes than 64 bits count");
      ++open->samples;
      open->bytes = at - open->offset;
    }
  }

  source_format format_;
  std::vector<indexed_object> objects_;
  std::vector<listed_object> beside_;
  column_inference columns_;
  std::uint64_t skipped_ = 0;
};

/// A range of an object that a shard is made of.
struct part_range {
  std::size_t object = 0;
  bool beside = false;  ///< of the second object
  byte_range range{};

  friend bool operator==(const part_range&, const part_range&) = default;
};

/// What has to be read for a shard, in the order in which `transcode` wants it. Throws
/// errc::corrupt where the index tells ranges that its objects do not have.
[[nodiscard]] inline std::vector<part_range> parts_of(const source_format& format,
                                                      const row_index& index,
                                                      const shard_place& place) {
  const indexed_object& object = index.objects.at(place.object);
  const cut& each = object.cuts.at(place.cut);
  std::vector<part_range> out;
  const auto refuse = [&](const char* what) {
    throw error(errc::corrupt,
                diagnostics{.what = what, .url = object.file.key, .byte = each.offset});
  };
  if (format.get().takes_whole_objects()) {
    if (each.samples > index.objects.size() - place.object)
      refuse("the index has a shard of more files than there are");
    for (std::size_t i = 0; i < each.samples; ++i)
      out.push_back({place.object + i, false, {0, index.objects[place.object + i].file.bytes}});
    return out;
  }
  out.push_back({place.object, false, {each.offset, each.bytes}});
  const bool is_compressed = object.file.key.ends_with(".gz") || object.file.key.ends_with(".zst");
  if (!is_compressed &&
      (each.bytes > object.file.bytes || each.offset > object.file.bytes - each.bytes))
    refuse("the index has a shard that reaches beyond its object");
  if (object.beside && !each.extra.empty())
    for (const auto& [begin, bytes] : megatron_ranges(object.note, each.extra)) {
      if (begin > object.beside->bytes || bytes > object.beside->bytes - begin)
        refuse("the index has a shard that reaches beyond its object");
      out.push_back({place.object, true, {begin, bytes}});
    }
  return out;
}

}  // namespace mdstream::inline v0::raw
