#pragma once

/// What a user says about a source of foreign files.

#include <mdstream/core/sizes.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw {

/// A column of the samples, and where its value is found in a row.
///
///     const mds::raw::column url{.name = "url", .encoding = "str", .pointer = "/meta/url"};
struct column {
  std::string name{};      ///< of the column; of JSON's member, too, without `pointer`
  std::string encoding{};  ///< an encoding of MDS: "str", "int", "ndarray:int32"
  /// JSON only: the place of the value as a JSON pointer (RFC 6901), such as `/meta/url`.
  /// Empty: the member of the column's name.
  std::string pointer{};

  friend bool operator==(const column&, const column&) = default;
};

/// The column that a text as `name=encoding` or `name=encoding@/json/pointer` means. Throws
/// errc::invalid_argument for any other text and for an encoding that MDS does not have.
///
///     const mds::raw::column url = mds::raw::parse_column("url=str@/meta/url");
[[nodiscard]] column parse_column(std::string_view text);

/// The text that `parse_column` takes.
[[nodiscard]] std::string to_string(const column& each);

/// The layout of samples with these columns. Throws as `sample_layout::mds` does.
[[nodiscard]] sample_layout layout_of(const std::vector<column>& columns);

/// How foreign files are read. What a format does not know it ignores, except where its page in
/// docs/raw.md says otherwise.
///
///     using policies = mds::policies<mds::raw::plain_formats>;
///     mds::stream_options logs{.remote = "s3://bucket/logs",
///                              .local = "/nvme/cache",
///                              .raw = {.format = "jsonl", .files = "en/*.json"}};
///     mds::dataset<policies> data({.streams = {logs}});
struct options {
  /// "jsonl", "text", "csv", "parquet", "webdataset", "files", "images", "tokens", or the name of
  /// your own. Empty: the names of the files decide.
  std::string format{};
  std::string files{};            ///< a pattern for keys below the URL: `en/*.json.gz`; empty: all
  std::vector<column> columns{};  ///< of the samples; empty: inferred from the rows
  /// JSON text of the value that stands for null and for what is missing: `""`, `0`. Not set: a
  /// column without a value is an error.
  std::optional<std::string> null_value{};
  byte_size shard_bytes = 64_MiB;     ///< decompressed bytes of a virtual shard
  byte_size max_row_bytes = 256_MiB;  ///< of a row; a larger one is an error
  bool skip_bad = false;              ///< rows that cannot be read are left out and counted

  std::string delimiter = ",";  ///< csv: one character
  std::string unit = "line";    ///< text: "line" or "paragraph"; whole files are format "files"
  std::uint64_t window = 0;     ///< tokens: tokens in a sample; 0: a sample is a document
  std::uint64_t stride = 0;     ///< tokens: from one sample to the next; 0: as `window`
  std::string dtype{};          ///< tokens: of files without a header: "uint16"
  std::optional<std::uint64_t> document_token{};  ///< tokens: the id between documents
  bool document_token_last = false;  ///< tokens: it ends its document; else it begins it
};

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/options.ipp>
#endif
