#pragma once

/// Parses index.json straight from the text into columns, with no tree in between.

#include <mdstream/core/json/reader.hpp>
#include <mdstream/format/detail/config_reader.hpp>
#include <mdstream/format/detail/index_columns.hpp>
#include <mdstream/format/detail/shard_template.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace mdstream::inline v0::detail {

class index_parser {
 public:
  index_parser(std::string_view text, const diagnostics& where, bool allow_unsafe,
               index_columns& out);

  void run();

 private:
  /// Reads an entry that differs from the last in numbers and digests only; false if it does not.
  bool read_like_last();

  void read_shard();

  void check_samples(std::uint64_t samples) const;

  void read_member(std::string_view key, config_reader::texts& texts,
                   std::optional<std::uint64_t>& samples);

  static std::optional<file_role> find_role(std::string_view key) noexcept;

  std::uint64_t read_number(shard_template::kind what, file_role role);

  void read_name(file_entry& file, file_role role);

  /// Reads a value and returns its text; quickly if it is the same as `before`.
  std::string_view skip_like(std::string_view before);

  void read_file(file_role role);

  void read_digests(file_entry& file, file_role role);

  static bool is_hex(std::string_view text) noexcept;

  void check_files(std::uint64_t samples);

  void check_sizes(std::uint64_t samples) const;

  // --- configurations -------------------------------------------------------------------------

  std::uint32_t intern(const config_reader::texts& texts);

  static std::string padded(std::uint64_t number);

  // --- errors ---------------------------------------------------------------------------------

  void check_version();

  [[nodiscard]] diagnostics shard_where() const;

  [[noreturn]] void fail(errc code, std::string what, std::size_t byte) const;

  [[noreturn]] void fail_shard(std::string what) const;

  std::string_view text_;
  json::reader in_;
  diagnostics where_;
  bool allow_unsafe_;
  index_columns& out_;
  std::size_t shard_at_ = 0;
  shard_template like_last_;
  file_entries files_;
  config_reader::texts last_texts_;
  std::uint32_t last_config_ = 0;
  std::unordered_map<std::string, std::uint32_t> known_;  // texts to number
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/index_parser.ipp>
#endif
