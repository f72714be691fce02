#pragma once

/// Where and how writers write.

#include <mdstream/core/sizes.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/format/sample_layout.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/store.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0 {

/// A place for a dataset: a path or URL that the policies' store opens, or any store as a value.
class store_target {
 public:
  store_target() = default;
  store_target(std::string url) : place_(std::move(url)) {}
  store_target(std::string_view url) : place_(std::string(url)) {}
  store_target(const char* url) : place_(std::string(url)) {}
  template <class S>
    requires(!std::same_as<std::remove_cvref_t<S>, store_target>) &&
            object_store<std::remove_cvref_t<S>>
  store_target(S&& store) : place_(std::in_place_type<opened_store>, std::forward<S>(store)) {}

  /// Opens the store. Throws errc::invalid_argument for an empty URL, or where `by_url` is null.
  [[nodiscard]] opened_store open(detail::opens_alone by_url) &&;

 private:
  std::variant<std::string, opened_store> place_;
};

/// What a writer does with a dataset that already exists.
enum class existing_dataset {
  error,    ///< the writer throws, and nothing is changed
  replace,  ///< deletes its index first, then its shards
  append,   ///< adds new shards; columns have to be the same
  /// Goes on where a writer was killed: keeps its complete shards, see `kept_samples`. Make sure
  /// that the earlier process has ended. Cost: each shard that no index has yet is read once.
  resume,
};

/// One part of a dataset that several processes write: this process's number and how many there
/// are, such as rank and number of ranks. The default is the whole dataset.
struct writer_part {
  std::uint64_t number = 0;  ///< from 0 on
  std::uint64_t of = 1;      ///< how many parts there are
};

/// What a writer has stored so far, shards that it kept included. Whatever is not yet in a stored
/// shard is not counted.
struct writer_progress {
  std::uint64_t samples = 0;
  std::uint64_t shards = 0;
  std::uint64_t raw_bytes = 0;     ///< of the shards' files before compression
  std::uint64_t stored_bytes = 0;  ///< of the files in the store
};

/// Gets the progress after each stored shard. From any thread, one call at a time. What it throws,
/// the writer throws as the failure of that shard.
using progress_function = std::function<void(const writer_progress&)>;

/// Options of a writer; names and defaults are those of Python's MDSWriter. Its `exist_ok` is one
/// choice of `existing`.
struct writer_options {
  /// The directory of the dataset. For a split, `<root>/<split>`.
  store_target out{};
  /// Names and encodings, in any order. Only if the policies' schema is `dynamic_schema`.
  std::vector<column_spec> columns{};
  /// "zstd", "zstd:7", ...; empty: shards are not compressed.
  std::string compression{};
  /// Names of hashes for the index, sorted: {"sha1", "xxh64"}. The default, unlike Python's, is one
  /// that costs little: without a hash, readers can only check sizes.
  std::vector<std::string> hashes{"xxh64"};
  /// Most bytes of an uncompressed shard; 0: no limit. A larger sample gets a shard of its own.
  byte_size size_limit{std::uint64_t{1} << 26};
  /// Threads that hash, compress and store finished shards during the next one; 0: the calling
  /// thread does. Each has a shard in memory. The output does not depend on the number.
  unsigned max_workers = 2;
  /// What happens to a dataset that exists: `error`, `replace`, `append` or `resume`.
  existing_dataset existing = existing_dataset::error;
  /// This process's part, where several write one dataset. Each part goes into a directory of its
  /// own below `out`. The writer that finishes last also writes the index of the whole dataset,
  /// part after part. `existing` has to be `error` or `resume`. The default is the whole dataset.
  writer_part part{};
  /// A local directory that gets a copy of all that is written, such as the cache of later runs;
  /// empty: no copy. Of a part, its shards and index. With `resume`, shards without an index there,
  /// which a killed writer left, are replaced.
  std::string keep_local{};
  /// If set, called after each stored shard.
  progress_function progress{};
  /// How long a store may be unavailable. A request that fails with a transient error is retried,
  /// with growing pauses or the pause that the store asks for, for this long. 0: no retries.
  std::chrono::milliseconds patience = default_patience;
  /// Gets the first failure at once, from any thread, and then one message a minute.
  warning_function warn = &warn_on_stderr;
};

/// Options of a row_writer; names and defaults are those of Python's JSONWriter and XSVWriter.
/// Members without a comment are as in `writer_options`.
struct row_writer_options {
  store_target out{};
  shard_format format = shard_format::json;  ///< json, csv, tsv or xsv
  /// Names and cell types: "str", "int", "float".
  std::vector<column_spec> columns{};
  /// What ends a row. In JSONL it has to be white space of JSON.
  std::string newline = "\n";
  /// What is between the fields of a row. For xsv only: csv has ",", tsv a tab.
  std::string separator{};
  std::string compression{};
  std::vector<std::string> hashes{"xxh64"};
  /// Bytes of rows that a shard may have; 0: no limit. Neither XSV's first line nor meta files
  /// count.
  byte_size size_limit{std::uint64_t{1} << 26};
  unsigned max_workers = 2;
  existing_dataset existing = existing_dataset::error;
  writer_part part{};
  std::string keep_local{};
  progress_function progress{};
  std::chrono::milliseconds patience = default_patience;
  warning_function warn = &warn_on_stderr;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/writer/detail/impl/options.ipp>
#endif
