#pragma once

// Members of gzip files as zlib writes them with any settings.

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace gz_members {

/// A member by zlib, with these settings, flushed now and then.
inline std::string member(std::string_view plain, int level, int strategy, int memory,
                          std::mt19937& random) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, memory, strategy) == Z_OK);
  std::string out(
      deflateBound(&stream, static_cast<uLong>(plain.size())) + plain.size() / 10 + 20'000, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool flushes = random() % 2 == 0;
  while (!plain.empty()) {
    const std::size_t count = std::min<std::size_t>(plain.size(), 1 + random() % 60'000);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    stream.avail_in = static_cast<uInt>(count);
    constexpr int kinds[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_PARTIAL_FLUSH, Z_BLOCK};
    REQUIRE(deflate(&stream, flushes ? kinds[random() % 5] : Z_NO_FLUSH) == Z_OK);
    REQUIRE(stream.avail_in == 0);
    plain.remove_prefix(count);
  }
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string member(std::string_view plain, std::mt19937& random) {
  constexpr int strategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
  const int level = static_cast<int>(random() % 10), strategy = strategies[random() % 5];
  const int memory = 1 + static_cast<int>(random() % 9);
  CAPTURE(level, strategy, memory);
  return member(plain, level, strategy, memory, random);
}

}  // namespace gz_members
