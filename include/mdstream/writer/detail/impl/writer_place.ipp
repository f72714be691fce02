#pragma once

#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/prefixed.hpp>
#include <mdstream/version.hpp>
#include <mdstream/writer/detail/writer_place.hpp>
#include <mdstream/writer/merge_index.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string part_directory(std::uint64_t number, std::uint64_t of) {
  char text[64];
  std::snprintf(text, sizeof text, "part-%05llu-of-%05llu", static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(of));
  return text;
}

/// Whether a name in the index of the whole dataset is that of a file of one of `of` parts.
MDSTREAM_INLINE bool is_of_part(std::string_view name, std::uint64_t of) {
  constexpr std::string_view begin = "part-";
  const std::string_view directory = name.substr(0, name.find('/'));
  if (directory.size() == name.size() || !directory.starts_with(begin)) return false;
  const std::string_view digits =
      directory.substr(begin.size(), directory.find('-', begin.size()) - begin.size());
  const auto number = whole_number<std::uint64_t>(digits);
  return number && *number < of && directory == part_directory(*number, of);
}

MDSTREAM_INLINE std::optional<std::string> index_of(const patient_store& store) {
  try {
    return std::string(as_text(read_all(store, index_file_name)));
  } catch (const error& e) {
    if (e.code() == errc::not_found) return std::nullopt;
    throw;
  }
}

MDSTREAM_INLINE opened_store store_of_part(opened_store whole, writer_part part) {
  if (part.of == 0 || part.number >= part.of)
    throw error(errc::invalid_argument, "there is no part " + std::to_string(part.number) + " of " +
                                            std::to_string(part.of) +
                                            ": parts are numbered from 0 on");
  if (part.of == 1) return whole;
  return prefixed_store(std::move(whole), part_directory(part.number, part.of));
}

MDSTREAM_INLINE writer_place::writer_place(opened_store out, const std::string& keep_local,
                                           writer_part part, retry_policy policy,
                                           const shared_retry_budget& budget)
    : whole_(out, policy, budget),
      part_(part),
      store_(store_of_part(std::move(out), part), policy, budget) {
  if (keep_local.empty()) return;
  if (!url_scheme(keep_local).empty())
    throw error(errc::invalid_argument,
                diagnostics{.what = "keep_local is a local directory, no URL", .url = keep_local});
  copy_.emplace(store_of_part(mdstream::store::local(keep_local), part), policy, budget);
  if (plain_url(copy_->url("")) == plain_url(store_.url("")))
    throw error(errc::invalid_argument,
                diagnostics{.what = "keep_local is the directory that the dataset goes to",
                            .url = store_.url("")});
}

MDSTREAM_INLINE void writer_place::require_free(existing_dataset mode) {
  if (part_.of == 1) return;
  if (mode == existing_dataset::resume) return require_index_of_parts();
  if (mode == existing_dataset::replace || mode == existing_dataset::append)
    throw error(errc::invalid_argument,
                diagnostics{.what = "one part cannot replace or append, because other parts may be "
                                    "writing: remove the old dataset before they start, or "
                                    "resume it",
                            .url = whole_.url("")});
  if (mode == existing_dataset::error && exists(whole_, index_file_name))
    throw error(errc::invalid_argument,
                diagnostics{.what = "a dataset is already there; processes that each write a part "
                                    "resume it, but do not replace it",
                            .url = whole_.url("")});
}

MDSTREAM_INLINE void writer_place::require_index_of_parts() {
  const std::optional<std::string> text = index_of(whole_);
  if (!text) return;
  const diagnostics where{.url = whole_.url(index_file_name)};
  const auto index = dataset_index::parse(*text, {.allow_unsafe_types = true, .where = where});
  const std::string own = part_directory(part_.number, part_.of) + '/';
  shards_in_whole_ = 0;
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const std::string name = index.raw(i).name;
    if (name.starts_with(own)) ++*shards_in_whole_;
    if (is_of_part(name, part_.of)) continue;
    throw error(errc::invalid_argument,
                diagnostics{.what = "the dataset there was not written by " +
                                    std::to_string(part_.of) + " parts: its shard " + name +
                                    " would be lost; resume it as it was written, or give "
                                    "another directory",
                            .url = where.url});
  }
}

MDSTREAM_INLINE bool writer_place::whole_has(std::uint64_t shards) const noexcept {
  return part_.of == 1 || shards_in_whole_ == shards;
}

MDSTREAM_INLINE bool writer_place::all_parts_finished() const {
  // The next part first: of parts that take equally long it is the one that is likely missing.
  for (std::uint64_t i = 1; i < part_.of; ++i) {
    const std::string directory = part_directory((part_.number + i) % part_.of, part_.of);
    if (!exists(whole_, directory + '/' + std::string(index_file_name))) return false;
  }
  return true;
}

MDSTREAM_INLINE std::string writer_place::merged_index() const {
  std::vector<index_part> parts;
  for (std::uint64_t i = 0; i < part_.of; ++i) {
    std::string directory = part_directory(i, part_.of);
    const std::string key = directory + '/' + std::string(index_file_name);
    parts.push_back(read_part(whole_, key, std::move(directory)));
  }
  return merge_indexes(std::span<const index_part>(parts));
}

MDSTREAM_INLINE void writer_place::publish_whole() const {
  if (part_.of == 1 || !all_parts_finished()) return;
  std::string published;
  for (std::string text = merged_index(); text != published; text = merged_index()) {
    publish(whole_, index_file_name, as_bytes(text));
    published = std::move(text);
  }
}

}  // namespace mdstream::inline v0::detail
