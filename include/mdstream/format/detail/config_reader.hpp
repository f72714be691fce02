#pragma once

/// What a shard's entry in an index says about how the shard was written.

#include <mdstream/format/file_info.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Text from outside, cut short and freed of control characters, for a message.
[[nodiscard]] std::string printable(std::string_view text);

class config_reader {
 public:
  /// The members that say it. Equal texts mean equal configurations.
  enum key : std::size_t {
    column_encodings,
    column_names,
    column_sizes,
    columns,
    compression,
    format,
    hashes,
    newline,
    separator,
    size_limit,
    version,
    key_count
  };

  static constexpr std::array<std::string_view, key_count> key_names{
      "column_encodings", "column_names", "column_sizes", "columns",    "compression", "format",
      "hashes",           "newline",      "separator",    "size_limit", "version"};

  /// The JSON text of each member; empty where it is missing.
  using texts = std::array<std::string_view, key_count>;

  config_reader(const texts& found, diagnostics where, bool allow_unsafe);

  shard_config read();

 private:
  std::vector<column_layout> read_columns(shard_format format_found);

  std::vector<column_layout> read_columns_object();

  column_layout make_column(const std::string& name, const std::string& encoding_text,
                            std::uint64_t size, bool mds);

  /// The size that the index states has to be that of the encoding: a reader of samples may go
  /// by either.
  std::optional<std::uint64_t> checked_size(const std::string& name,
                                            const std::string& encoding_text, const encoding& type,
                                            std::uint64_t stated);

  void check_columns(const std::vector<column_layout>& found);

  void require(key which);

  std::string string_of(key which);

  std::string optional_string_of(key which);

  std::vector<std::string> strings_of(key which);

  /// 0 for columns of variable size.
  std::vector<std::uint64_t> sizes_of();

  [[noreturn]] void fail(std::string what) const { fail_as(errc::corrupt, std::move(what)); }

  [[noreturn]] void fail_as(errc code, std::string what) const;

  const texts& texts_;
  diagnostics where_;
  bool allow_unsafe_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/config_reader.ipp>
#endif
