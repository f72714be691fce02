#pragma once

// Entry points of compressed streams: from each on, the rest is as from the beginning.

#include <mdstream/codec/detail/stream_decoder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace codec_entries {

namespace mds = mdstream;

/// Bytes that compress as texts do, with stretches that do not and some that do far better.
inline std::string random_text(std::mt19937& random, std::size_t size) {
  std::vector<std::string> words;
  for (int i = 0; i < 300; ++i) {
    words.emplace_back(1 + random() % 9, static_cast<char>('a' + random() % 26));
    words.back().back() = static_cast<char>(random());
  }
  std::string out;
  while (out.size() < size) {
    const auto kind = random() % 400;
    if (kind == 0) out.append(random() % 20'000, 'x');
    if (kind == 1)
      for (std::size_t i = random() % 20'000; i > 0; --i) out += static_cast<char>(random());
    out += words[random() % words.size()];
  }
  out.resize(size);
  return out;
}

/// Decompresses, with pieces of any sizes. `each`: after each call.
template <class Each>
std::string decoded(mds::detail::stream_decoder& decoder, std::string_view packed,
                    std::mt19937& random, Each&& each) {
  const std::size_t most_in = random() % 2 == 0 ? 50 : 100'000;
  const std::size_t most_out = random() % 2 == 0 ? 300 : 300'000;
  std::string out;
  std::vector<std::byte> room(most_out);
  while (true) {
    mds::bytes_view in =
        mds::as_bytes(packed).first(std::min<std::size_t>(packed.size(), 1 + random() % most_in));
    const std::size_t given = in.size();
    const std::size_t made =
        decoder.decode(in, mds::mutable_bytes(room).first(1 + random() % most_out));
    packed.remove_prefix(given - in.size());
    out += mds::as_text(mds::bytes_view(room).first(made));
    each();
    if (packed.empty() && made == 0) break;
  }
  return out;
}

inline std::string decoded(mds::detail::stream_decoder& decoder, std::string_view packed,
                           std::mt19937& random) {
  return decoded(decoder, packed, random, [] {});
}

/// The entry points that a stream has, which is checked against `plain`.
inline std::vector<mds::detail::entry_point> entries_of(
    const mds::detail::stream_decoder_choice& codec, std::string_view packed,
    std::string_view plain, const mds::detail::entry_spacing& spacing, std::mt19937& random) {
  const auto decoder = codec.open();
  decoder->note_entries(spacing);
  std::vector<mds::detail::entry_point> out;
  const std::string made = decoded(*decoder, packed, random, [&] {
    for (auto& each : decoder->take_entries()) out.push_back(std::move(each));
  });
  REQUIRE(made == plain);
  REQUIRE(decoder->may_end());
  return out;
}

/// From each entry point on comes the rest, and entry points are as far apart as they should be.
inline void check_entries(const mds::detail::stream_decoder_choice& codec, std::string_view packed,
                          std::string_view plain,
                          const std::vector<mds::detail::entry_point>& entries,
                          const mds::detail::entry_spacing& spacing, std::mt19937& random) {
  std::uint64_t plain_before = 0, packed_before = 0;
  for (const mds::detail::entry_point& each : entries) {
    CAPTURE(each.plain, each.packed, each.state.size());
    REQUIRE(each.plain > plain_before);
    REQUIRE(each.plain < plain.size());
    REQUIRE(each.packed >= packed_before + spacing.packed);
    REQUIRE(each.packed < packed.size());
    REQUIRE(each.state.size() < 40'000);
    plain_before = each.plain;
    packed_before = each.packed;
    const auto decoder = codec.enter(each);
    REQUIRE(decoded(*decoder, packed.substr(each.packed), random) == plain.substr(each.plain));
    REQUIRE(decoder->may_end());
  }
}

}  // namespace codec_entries
