#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/detail/row_shard.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/version.hpp>
#include <mdstream/writer/detail/stored_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

[[noreturn]] MDSTREAM_INLINE void fail_incomplete(const char* what) {
  throw error(errc::corrupt, what);
}

/// The members of `of` that `in` lacks or has with another value.
MDSTREAM_INLINE json::object different_members(const json::object& of, const json::value& in) {
  json::object out;
  for (const json::member& each : of) {
    const json::value* const other = in.find(each.first);
    if (other == nullptr || !(*other == each.second)) out.push_back(each);
  }
  return out;
}

/// For messages: what a file says may be of any length, and hold any character.
MDSTREAM_INLINE std::string quoted_options(const json::object& options) {
  constexpr std::size_t longest = 512;
  std::string out = json::dump(options, json::key_order::sorted);
  if (out.size() > longest) out.replace(longest, std::string::npos, "...");
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

[[noreturn]] MDSTREAM_INLINE void fail_options(const json::object& theirs, const json::object& ours,
                                               diagnostics where) {
  where.what = "a writer can not resume with other options: the shard has " +
               quoted_options(theirs) + ", this writer has " + quoted_options(ours);
  throw error(errc::schema_mismatch, std::move(where));
}

/// Throws errc::corrupt unless `found` is what a writer embeds, and errc::schema_mismatch if it is
/// what one of other options embeds.
MDSTREAM_INLINE void require_same_options(std::string_view found, const json::object& config) {
  if (found == json::dump(config, json::key_order::sorted)) return;
  const json::value options = json::parse(found);
  if (options.type() != json::kind::object) fail_incomplete("the shard has no options");
  const json::object theirs = different_members(options.as<json::object>(), config);
  const json::object ours = different_members(config, options);
  if (theirs.empty() && ours.empty()) fail_incomplete("the shard's options are damaged");
  fail_options(theirs, ours, {});
}

MDSTREAM_INLINE void check_entry(std::string_view entry, const json::object& config,
                                 const diagnostics& where) {
  const json::value found = json::parse(entry, where);
  const json::object ours = different_members(config, found);
  if (ours.empty()) return;
  json::object theirs;
  for (const json::member& each : ours)
    if (const json::value* const other = found.find(each.first))
      theirs.emplace_back(each.first, *other);
  fail_options(theirs, ours, where);
}

MDSTREAM_INLINE std::uint64_t check_stored_mds(bytes_view shard, const json::object& config,
                                               const sample_layout& layout) {
  if (shard.size() < 8) fail_incomplete("the shard has no header");
  const std::uint64_t samples = load<std::uint32_t>(shard.data());
  const mds_shard_view view(shard, samples);
  const std::uint64_t header = 4 + 4 * (samples + 1);
  const std::uint64_t first = view.offset(0);
  if (view.offset(samples) != shard.size() || first < header || first > shard.size())
    fail_incomplete("the shard is cut short");
  require_same_options(as_text(shard.subspan(static_cast<std::size_t>(header),
                                             static_cast<std::size_t>(first - header))),
                       config);
  for (std::uint64_t i = 0; i < samples; ++i) layout.check(view[i]);
  return samples;
}

MDSTREAM_INLINE std::uint64_t check_stored_rows(bytes_view data, bytes_view meta,
                                                std::string_view head, const json::object& config) {
  if (meta.size() < 8) fail_incomplete("the meta file has no header");
  const std::uint64_t samples = load<std::uint32_t>(meta.data());
  const row_shard_view view(data, meta, samples);
  const auto header = static_cast<std::size_t>(4 + 4 * (samples + 1));
  if (load<std::uint32_t>(meta.data() + header - 4) != data.size() ||
      !as_text(data).starts_with(head))
    fail_incomplete("the rows are cut short");
  require_same_options(as_text(meta.subspan(header)), config);
  for (std::uint64_t i = 0; i < samples; ++i) (void)view[i];
  return samples;
}

MDSTREAM_INLINE std::vector<std::byte> decompress_stored(const opened_codec& codec,
                                                         bytes_view zip) {
  const auto decoder = codec.open_stream();
  if (decoder == nullptr)
    throw error(errc::unsupported,
                "a writer can not resume shards compressed by " + std::string(codec.extension()) +
                    ", which do not tell how large they are: use zstd or gz, or existing = "
                    "replace");
  std::vector<std::byte> out;
  std::size_t size = 0;
  while (true) {
    if (size == out.size()) {
      if (size > mds_shard_builder::max_bytes)
        fail_incomplete("the shard is larger than any can be");
      out.resize(std::max<std::size_t>(std::size_t{1} << 16, 2 * size));
    }
    const std::size_t made = decoder->decode(zip, mutable_bytes(out).subspan(size));
    size += made;
    if (zip.empty() && size < out.size()) break;
  }
  if (!decoder->may_end()) fail_incomplete("the compressed shard is cut short");
  out.resize(size);
  return out;
}

}  // namespace mdstream::inline v0::detail
