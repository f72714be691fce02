#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/format/detail/index_parser.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE index_parser::index_parser(std::string_view text, const diagnostics& where,
                                           bool allow_unsafe, index_columns& out)
    : text_(text), in_(text, where), where_(where), allow_unsafe_(allow_unsafe), out_(out) {}

MDSTREAM_INLINE void index_parser::run() {
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
      while (in_.next_item())
        if (!read_like_last()) read_shard();
    } else {
      in_.skip();
    }
  }
  in_.finish();
  if (!have_version) fail(errc::corrupt, "the index has no \"version\"", text_.size());
  if (!have_shards) fail(errc::corrupt, "the index has no \"shards\"", text_.size());
  out_.shrink();
}

MDSTREAM_INLINE bool index_parser::read_like_last() {
  (void)in_.peek();
  shard_at_ = in_.offset();
  if (out_.runs.empty() || !out_.runs.back().usual) return false;
  const index_run& run = out_.runs.back();
  const std::string digits = padded(run.number + (out_.shards() - run.first));
  shard_template::values found;
  const std::size_t size = like_last_.match(text_.substr(shard_at_), digits, found, out_.digests);
  if (size == 0) return false;
  for (std::size_t r = 0; r < file_roles; ++r) files_[r].bytes = found.bytes[r];
  check_samples(found.samples);
  check_sizes(found.samples);
  out_.append_next(static_cast<std::uint32_t>(found.samples), found.bytes);
  in_.advance_to(shard_at_ + size);
  return true;
}

MDSTREAM_INLINE void index_parser::read_shard() {
  shard_at_ = in_.offset();
  like_last_.clear();
  config_reader::texts texts{};
  for (file_entry& file : files_) file.present = false;
  std::optional<std::uint64_t> samples;
  in_.begin_object();
  while (const auto key = in_.next_key()) read_member(*key, texts, samples);
  if (!samples) fail_shard("\"samples\" is missing");
  check_samples(*samples);
  if (out_.configs.empty() || texts != last_texts_) {
    last_config_ = intern(texts);
    last_texts_ = texts;
  }
  check_files(*samples);
  out_.append(last_config_, static_cast<std::uint32_t>(*samples), files_);
  like_last_.complete(text_, shard_at_, in_.offset());
}

MDSTREAM_INLINE void index_parser::check_samples(std::uint64_t samples) const {
  if (samples > std::numeric_limits<std::uint32_t>::max())
    fail_shard("a shard can not have " + std::to_string(samples) + " samples");
}

MDSTREAM_INLINE void index_parser::read_member(std::string_view key, config_reader::texts& texts,
                                               std::optional<std::uint64_t>& samples) {
  if (key == "samples") {
    if (samples) like_last_.spoil();
    samples = read_number(shard_template::kind::samples, file_role::raw_data);
  } else if (const auto role = find_role(key)) {
    read_file(*role);
  } else {
    for (std::size_t i = 0; i < config_reader::key_count; ++i) {
      if (config_reader::key_names[i] != key) continue;
      texts[i] = skip_like(last_texts_[i]);
      return;
    }
    in_.skip();
  }
}

MDSTREAM_INLINE std::optional<file_role> index_parser::find_role(std::string_view key) noexcept {
  if (key.size() != 8) return std::nullopt;
  for (const file_role role :
       {file_role::raw_data, file_role::raw_meta, file_role::zip_data, file_role::zip_meta})
    if (mdstream::to_string(role) == key) return role;
  return std::nullopt;
}

MDSTREAM_INLINE std::uint64_t index_parser::read_number(shard_template::kind what, file_role role) {
  (void)in_.peek();
  const std::size_t begin = in_.offset();
  const std::uint64_t value = in_.unsigned_integer();
  like_last_.add_hole(what, role, begin, in_.offset());
  return value;
}

MDSTREAM_INLINE void index_parser::read_name(file_entry& file, file_role role) {
  (void)in_.peek();
  const std::size_t begin = in_.offset() + 1;
  file.name = in_.string();
  const std::size_t base = file.name.rfind('/') + 1;  // 0 where there is none
  const std::size_t digits = base + 6;
  const std::size_t end = file.name.find('.', std::min(digits, file.name.size()));
  const bool as_is = in_.offset() - 1 - begin == file.name.size();  // no escapes
  if (as_is && end != std::string::npos && file.name.compare(base, 6, "shard.") == 0)
    like_last_.add_hole(shard_template::kind::shard_number, role, begin + digits, begin + end);
  else
    like_last_.spoil();
}

MDSTREAM_INLINE std::string_view index_parser::skip_like(std::string_view before) {
  (void)in_.peek();
  const std::size_t at = in_.offset();
  // A number may go on where the one before ended; all other values say where they end.
  const bool ends_itself = !before.empty() && (before.back() < '0' || before.back() > '9');
  if (!ends_itself || text_.compare(at, before.size(), before) != 0) return in_.skip();
  in_.advance_to(at + before.size());
  return text_.substr(at, before.size());
}

MDSTREAM_INLINE void index_parser::read_file(file_role role) {
  file_entry& file = files_[static_cast<std::size_t>(role)];
  if (file.present) like_last_.spoil();
  file.present = false;
  if (in_.take_null()) return;
  bool name = false;
  bool bytes = false;
  file.digest_count = 0;
  in_.begin_object();
  while (const auto key = in_.next_key()) {
    file.present = true;
    if (*key == "basename") {
      read_name(file, role);
      name = true;
    } else if (*key == "bytes") {
      file.bytes = read_number(shard_template::kind::bytes, role);
      bytes = true;
    } else if (*key == "hashes") {
      if (file.digest_count != 0) like_last_.spoil();
      read_digests(file, role);
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

MDSTREAM_INLINE void index_parser::read_digests(file_entry& file, file_role role) {
  file.digest_count = 0;
  in_.begin_object();
  while (const auto key = in_.next_key()) {
    if (file.digests.size() == file.digest_count) file.digests.emplace_back();
    file_entry::digest& digest = file.digests[file.digest_count];
    digest.name = *key;
    (void)in_.peek();
    const std::size_t begin = in_.offset() + 1;
    digest.hex = in_.string();
    const std::size_t end = in_.offset() - 1;
    const std::optional<std::size_t> size = mdstream::digest_bytes(digest.name);
    if (!size) continue;  // nobody can check it
    if (!is_hex(digest.hex) || digest.hex.size() != 2 * *size)
      fail_shard("the " + digest.name + " digest is not " + std::to_string(2 * *size) +
                 " hexadecimal digits");
    if (end - begin == digest.hex.size())
      like_last_.add_hole(shard_template::kind::digest, role, begin, end);
    else
      like_last_.spoil();
    ++file.digest_count;
  }
}

MDSTREAM_INLINE bool index_parser::is_hex(std::string_view text) noexcept {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

MDSTREAM_INLINE void index_parser::check_files(std::uint64_t samples) {
  const shard_config& config = out_.configs[last_config_];
  const bool mds = config.layout.format() == shard_format::mds;
  const auto& file = [this](file_role role) -> file_entry& {
    return files_[static_cast<std::size_t>(role)];
  };
  if (!file(file_role::raw_data).present) fail_shard("\"raw_data\" is missing");
  if (mds) {
    if (file(file_role::raw_meta).present || file(file_role::zip_meta).present) like_last_.spoil();
    file(file_role::raw_meta).present = file(file_role::zip_meta).present = false;
  } else if (!file(file_role::raw_meta).present) {
    fail_shard("\"raw_meta\" is missing");
  }
  if (config.compression.empty() && file(file_role::zip_data).present)
    fail_shard("\"zip_data\" is present, but \"compression\" is not");
  if (!mds && file(file_role::zip_data).present != file(file_role::zip_meta).present)
    fail_shard("only one of \"zip_data\" and \"zip_meta\" is present");
  check_sizes(samples);
}

MDSTREAM_INLINE void index_parser::check_sizes(std::uint64_t samples) const {
  const bool mds = out_.configs[last_config_].layout.format() == shard_format::mds;
  const auto file = [this](file_role role) -> const file_entry& {
    return files_[static_cast<std::size_t>(role)];
  };
  const std::uint64_t bytes = file(file_role::raw_data).bytes;
  if (bytes > std::numeric_limits<std::uint32_t>::max())
    fail_shard("raw data of " + std::to_string(bytes) +
               " bytes: a shard's offsets reach only to 4 GiB");
  const file_role header = mds ? file_role::raw_data : file_role::raw_meta;
  if (file(header).bytes < 8 + 4 * samples)
    fail_shard(std::to_string(file(header).bytes) + " bytes are too few for the offsets of " +
               std::to_string(samples) + " samples");
}

MDSTREAM_INLINE std::uint32_t index_parser::intern(const config_reader::texts& texts) {
  std::string joined;
  for (const std::string_view text : texts) joined.append(text).append("\n");
  const auto [at, added] =
      known_.try_emplace(std::move(joined), static_cast<std::uint32_t>(out_.configs.size()));
  if (added) out_.configs.push_back(config_reader(texts, shard_where(), allow_unsafe_).read());
  return at->second;
}

MDSTREAM_INLINE std::string index_parser::padded(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return digits.size() < 5 ? std::string(5 - digits.size(), '0').append(digits) : digits;
}

MDSTREAM_INLINE void index_parser::check_version() {
  const std::size_t at = in_.offset();
  const std::string_view text = in_.skip();
  if (text != "2")
    fail(errc::unsupported,
         "the index has version " + printable(text) + "; only version 2 can be read", at);
}

MDSTREAM_INLINE diagnostics index_parser::shard_where() const {
  diagnostics where = where_;
  where.shard = out_.shards();
  where.byte = shard_at_;
  return where;
}

MDSTREAM_INLINE void index_parser::fail(errc code, std::string what, std::size_t byte) const {
  diagnostics where = where_;
  where.what = std::move(what);
  where.byte = byte;
  throw error(code, std::move(where));
}

MDSTREAM_INLINE void index_parser::fail_shard(std::string what) const {
  diagnostics where = shard_where();
  where.what = std::move(what);
  throw error(errc::corrupt, std::move(where));
}

}  // namespace mdstream::inline v0::detail
