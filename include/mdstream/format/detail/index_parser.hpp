#pragma once

/// Parses index.json straight from the text into columns, with no tree in between.

#include <mdstream/core/json/reader.hpp>
#include <mdstream/format/detail/index_columns.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

class index_parser {
 public:
  index_parser(std::string_view text, const diagnostics& where, bool allow_unsafe,
               index_columns& out)
      : text_(text), in_(text, where), where_(where), allow_unsafe_(allow_unsafe), out_(out) {}

  void run() {
    if (const std::size_t bad = first_invalid_utf8(text_); bad != text_.size())
      in_.fail_at(bad, "the index is not UTF-8");
    bool have_version = false;
    bool have_shards = false;
    in_.begin_object();
    while (const auto key = in_.next_key()) {
      if (*key == "version") {
        check_version();
        have_version = true;
      } else if (*key == "shards") {
        if (have_shards) in_.fail("the index has two lists of shards");
        have_shards = true;
        in_.begin_array();
        while (in_.next_item()) read_shard();
      } else {
        in_.skip();
      }
    }
    in_.finish();
    if (!have_version) fail(errc::corrupt, "the index has no \"version\"", text_.size());
    if (!have_shards) fail(errc::corrupt, "the index has no \"shards\"", text_.size());
    out_.shrink();
  }

 private:
  // The members of a shard that say how it was written; equal texts mean equal configurations.
  enum config_key : std::size_t {
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
    config_keys
  };
  static constexpr std::array<std::string_view, config_keys> config_key_names{
      "column_encodings", "column_names", "column_sizes", "columns",    "compression", "format",
      "hashes",           "newline",      "separator",    "size_limit", "version"};
  using config_texts = std::array<std::string_view, config_keys>;

  void read_shard() {
    shard_at_ = in_.offset();
    config_texts texts{};
    for (file_entry& file : files_) file.present = false;
    std::optional<std::uint64_t> samples;
    in_.begin_object();
    while (const auto key = in_.next_key()) read_member(*key, texts, samples);
    if (!samples) fail_shard("\"samples\" is missing");
    if (*samples > std::numeric_limits<std::uint32_t>::max())
      fail_shard("a shard can not have " + std::to_string(*samples) + " samples");
    if (out_.configs.empty() || texts != last_texts_) {
      last_config_ = intern(texts);
      last_texts_ = texts;
    }
    check_files(*samples);
    out_.append(last_config_, static_cast<std::uint32_t>(*samples), files_);
  }

  void read_member(std::string_view key, config_texts& texts,
                   std::optional<std::uint64_t>& samples) {
    if (key == "samples") {
      samples = in_.unsigned_integer();
    } else if (const auto role = find_role(key)) {
      read_file(files_[static_cast<std::size_t>(*role)]);
    } else {
      for (std::size_t i = 0; i < config_keys; ++i) {
        if (config_key_names[i] != key) continue;
        texts[i] = skip_like(last_texts_[i]);
        return;
      }
      in_.skip();
    }
  }

  static std::optional<file_role> find_role(std::string_view key) noexcept {
    if (key.size() != 8) return std::nullopt;
    for (const file_role role :
         {file_role::raw_data, file_role::zip_data, file_role::raw_meta, file_role::zip_meta})
      if (to_string(role) == key) return role;
    return std::nullopt;
  }

  /// Reads a value and returns its text; quickly if it is the same as `before`.
  std::string_view skip_like(std::string_view before) {
    (void)in_.peek();
    const std::size_t at = in_.offset();
    // A number may go on where the one before ended; all other values say where they end.
    const bool ends_itself = !before.empty() && (before.back() < '0' || before.back() > '9');
    if (!ends_itself || text_.compare(at, before.size(), before) != 0) return in_.skip();
    in_.advance_to(at + before.size());
    return text_.substr(at, before.size());
  }

  void read_file(file_entry& file) {
    file.present = false;
    if (in_.take_null()) return;
    bool name = false;
    bool bytes = false;
    file.digest_count = 0;
    in_.begin_object();
    while (const auto key = in_.next_key()) {
      file.present = true;
      if (*key == "basename") {
        file.name = in_.string();
        name = true;
      } else if (*key == "bytes") {
        file.bytes = in_.unsigned_integer();
        bytes = true;
      } else if (*key == "hashes") {
        read_digests(file);
      } else {
        in_.skip();
      }
    }
    if (!file.present) return;
    if (!name) fail_shard("a file's \"basename\" is missing");
    if (!bytes) fail_shard("a file's \"bytes\" is missing");
    if (const auto reason = unsafe_file_name(file.name))
      fail_shard("the file name \"" + printable(file.name) + "\" " + std::string(*reason));
  }

  void read_digests(file_entry& file) {
    file.digest_count = 0;
    in_.begin_object();
    while (const auto key = in_.next_key()) {
      if (file.digests.size() == file.digest_count) file.digests.emplace_back();
      file_entry::digest& digest = file.digests[file.digest_count];
      digest.name = *key;
      digest.hex = in_.string();
      const std::optional<std::size_t> size = mdstream::digest_bytes(digest.name);
      if (!size) continue;  // nobody can check it
      if (!is_hex(digest.hex) || digest.hex.size() != 2 * *size)
        fail_shard("the " + digest.name + " digest is not " + std::to_string(2 * *size) +
                   " hexadecimal digits");
      ++file.digest_count;
    }
  }

  static bool is_hex(std::string_view text) noexcept {
    return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  }

  void check_files(std::uint64_t samples) {
    const shard_config& config = out_.configs[last_config_];
    const bool mds = config.layout.format() == shard_format::mds;
    const auto& file = [this](file_role role) -> file_entry& {
      return files_[static_cast<std::size_t>(role)];
    };
    if (!file(file_role::raw_data).present) fail_shard("\"raw_data\" is missing");
    if (mds)
      file(file_role::raw_meta).present = file(file_role::zip_meta).present = false;
    else if (!file(file_role::raw_meta).present)
      fail_shard("\"raw_meta\" is missing");
    if (config.compression.empty() && file(file_role::zip_data).present)
      fail_shard("\"zip_data\" is present, but \"compression\" is not");
    if (!mds && file(file_role::zip_data).present != file(file_role::zip_meta).present)
      fail_shard("only one of \"zip_data\" and \"zip_meta\" is present");
    const std::uint64_t bytes = file(file_role::raw_data).bytes;
    if (bytes > std::numeric_limits<std::uint32_t>::max())
      fail_shard("raw data of " + std::to_string(bytes) +
                 " bytes: a shard's offsets reach only to 4 GiB");
    const file_role header = mds ? file_role::raw_data : file_role::raw_meta;
    if (file(header).bytes < 8 + 4 * samples)
      fail_shard(std::to_string(file(header).bytes) + " bytes are too few for the offsets of " +
                 std::to_string(samples) + " samples");
  }

  // --- configurations -------------------------------------------------------------------------

  std::uint32_t intern(const config_texts& texts) {
    std::string joined;
    for (const std::string_view text : texts) joined.append(text).append("\n");
    const auto [at, added] =
        known_.try_emplace(std::move(joined), static_cast<std::uint32_t>(out_.configs.size()));
    if (added) out_.configs.push_back(read_config(texts));
    return at->second;
  }

  shard_config read_config(const config_texts& texts) {
    require(texts, version);
    if (texts[version] != "2")
      fail_shard_as(errc::unsupported, "the shard's version is " + printable(texts[version]) +
                                           "; only version 2 can be read");
    shard_config out;
    const std::string format_name = string_of(texts, format);
    const std::optional<shard_format> found = find_shard_format(format_name);
    if (!found)
      fail_shard_as(errc::unsupported,
                    "\"" + printable(format_name) + "\" is no shard format that can be read");
    out.compression = optional_string_of(texts, compression);
    out.hashes = strings_of(texts, hashes);
    out.size_limit_text = texts[size_limit].empty() ? "null" : std::string(texts[size_limit]);
    if (out.size_limit_text.front() == '-') fail_shard("\"size_limit\" is negative");
    if (*found != shard_format::mds) out.newline = string_of(texts, newline);
    if (*found == shard_format::xsv) out.separator = string_of(texts, separator);
    if (*found == shard_format::csv) out.separator = ",";
    if (*found == shard_format::tsv) out.separator = "\t";
    out.layout = sample_layout(*found, *found == shard_format::json ? read_columns_object(texts)
                                                                    : read_columns(texts, *found));
    return out;
  }

  std::vector<column_layout> read_columns(const config_texts& texts, shard_format format_found) {
    const std::vector<std::string> names = strings_of(texts, column_names);
    const std::vector<std::string> encodings = strings_of(texts, column_encodings);
    const bool mds = format_found == shard_format::mds;
    const std::vector<std::uint64_t> sizes =
        mds ? sizes_of(texts) : std::vector<std::uint64_t>(names.size(), 0);
    if (names.size() != encodings.size() || names.size() != sizes.size())
      fail_shard("\"column_names\", \"column_encodings\" and \"column_sizes\" differ in length");
    std::vector<column_layout> out;
    for (std::size_t i = 0; i < names.size(); ++i)
      out.push_back(make_column(names[i], encodings[i], sizes[i], mds));
    check_columns(out);
    return out;
  }

  std::vector<column_layout> read_columns_object(const config_texts& texts) {
    require(texts, columns);
    std::vector<column_layout> out;
    json::reader in(texts[columns], shard_where());
    in.begin_object();
    while (const auto key = in.next_key()) {
      const std::string name(*key);
      out.push_back(make_column(name, std::string(in.string()), 0, false));
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    check_columns(out);
    return out;
  }

  column_layout make_column(const std::string& name, const std::string& encoding_text,
                            std::uint64_t size, bool mds) {
    const std::optional<encoding> type =
        mds ? find_encoding(encoding_text) : find_cell_encoding(encoding_text);
    if (!type)
      fail_shard_as(errc::unsupported, "column \"" + printable(name) + "\" has the encoding \"" +
                                           printable(encoding_text) + "\", which does not exist");
    if (is_unsafe(*type) && !allow_unsafe_)
      fail_shard_as(errc::unsupported,
                    "column \"" + printable(name) +
                        "\" holds Python pickles; allow unsafe types to read the others");
    column_layout out{name, encoding_text, *type, std::nullopt};
    if (size != 0) out.size = size;
    return out;
  }

  void check_columns(const std::vector<column_layout>& found) {
    if (found.empty()) fail_shard("the shard has no columns");
    for (std::size_t i = 0; i < found.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (found[i].name == found[j].name)
          fail_shard("column \"" + printable(found[i].name) + "\" is there twice");
  }

  void require(const config_texts& texts, config_key key) {
    if (texts[key].empty()) fail_shard("\"" + std::string(config_key_names[key]) + "\" is missing");
  }

  std::string string_of(const config_texts& texts, config_key key) {
    require(texts, key);
    return std::string(json::reader(texts[key], shard_where()).string());
  }

  std::string optional_string_of(const config_texts& texts, config_key key) {
    require(texts, key);
    return texts[key] == "null" ? std::string() : string_of(texts, key);
  }

  std::vector<std::string> strings_of(const config_texts& texts, config_key key) {
    require(texts, key);
    json::reader in(texts[key], shard_where());
    std::vector<std::string> out;
    in.begin_array();
    while (in.next_item()) out.emplace_back(in.string());
    return out;
  }

  /// 0 for columns of variable size.
  std::vector<std::uint64_t> sizes_of(const config_texts& texts) {
    require(texts, column_sizes);
    json::reader in(texts[column_sizes], shard_where());
    std::vector<std::uint64_t> out;
    in.begin_array();
    while (in.next_item()) {
      out.push_back(in.take_null() ? 0 : in.unsigned_integer());
      if (out.back() > std::numeric_limits<std::uint32_t>::max())
        fail_shard("a column of " + std::to_string(out.back()) + " bytes does not fit in a shard");
    }
    return out;
  }

  // --- errors ---------------------------------------------------------------------------------

  void check_version() {
    const std::size_t at = in_.offset();
    const std::string_view text = in_.skip();
    if (text != "2")
      fail(errc::unsupported,
           "the index has version " + printable(text) + "; only version 2 can be read", at);
  }

  /// Data from outside is cut short and freed of control characters before it goes into a message.
  static std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 200)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    return out;
  }

  [[nodiscard]] diagnostics shard_where() const {
    diagnostics where = where_;
    where.shard = out_.shards();
    return where;
  }

  [[noreturn]] void fail(errc code, std::string what, std::size_t byte) const {
    diagnostics where = where_;
    where.what = std::move(what);
    where.byte = byte;
    throw error(code, std::move(where));
  }

  [[noreturn]] void fail_shard(std::string what) const {
    fail_shard_as(errc::corrupt, std::move(what));
  }

  [[noreturn]] void fail_shard_as(errc code, std::string what) const {
    diagnostics where = shard_where();
    where.what = std::move(what);
    where.byte = shard_at_;
    throw error(code, std::move(where));
  }

  std::string_view text_;
  json::reader in_;
  diagnostics where_;
  bool allow_unsafe_;
  index_columns& out_;
  std::size_t shard_at_ = 0;
  file_entries files_;
  config_texts last_texts_;
  std::uint32_t last_config_ = 0;
  std::unordered_map<std::string, std::uint32_t> known_;  // texts to number
};

}  // namespace mdstream::inline v0::detail
