#pragma once

// TFRecord as a format of one's own: u64 length, its CRC, the bytes, their CRC, and so on to the
// end. The CRCs are CRC-32C, rotated and moved so that CRCs of CRCs are no trouble.

#include <mdstream/raw/format.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// A sample is a record, as the column `record: bytes`.
struct tfrecord {
  static constexpr std::string_view name = "tfrecord";
  static constexpr std::uint64_t head = 12, tail = 4;

  static std::uint32_t masked_crc(mdstream::bytes_view bytes) {
    static const auto table = [] {
      std::array<std::uint32_t, 256> out{};
      for (std::uint32_t i = 0; i < 256; ++i) {
        out[i] = i;
        for (int bit = 0; bit < 8; ++bit) out[i] = (out[i] >> 1) ^ (out[i] & 1U) * 0x82f63b78U;
      }
      return out;
    }();
    std::uint32_t crc = 0xffffffffU;
    for (const std::byte each : bytes)
      crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint32_t>(each)) & 0xffU];
    return std::rotr(~crc, 15) + 0xa282ead8U;
  }

  /// Bytes of the record that `in` begins with, all in all. `byte`: where errors say that it is.
  static std::uint64_t record_bytes(mdstream::bytes_view in, std::uint64_t byte) {
    const auto length = mdstream::load<std::uint64_t>(in.data());
    if (masked_crc(in.first(8)) != mdstream::load<std::uint32_t>(in.data() + 8))
      throw mdstream::error(
          mdstream::errc::corrupt,
          mdstream::diagnostics{.what = "no TFRecord begins here: the length's checksum differs",
                                .byte = byte});
    return head + length + tail;
  }

  /// Tells where records lie. What lies between their heads need not be there.
  std::uint64_t cut(const mdstream::raw::window& in, mdstream::raw::cut_sink& out) {
    std::uint64_t at = 0;
    while (in.bytes.size() >= at + head) {
      const std::uint64_t begin = in.offset + at;
      const std::uint64_t size =
          record_bytes(in.bytes.subspan(static_cast<std::size_t>(at)), begin);
      if (!out.sample(begin, begin + size)) break;
      at += size;
    }
    return at;
  }

  /// Makes samples of a cut's records.
  void transcode(const mdstream::raw::cut_source& in, mdstream::raw::sample_sink& out) const {
    for (mdstream::bytes_view rest = in.bytes(); !rest.empty();) {
      const auto size = static_cast<std::size_t>(record_bytes(rest, in.at(rest)));
      out.row(in.at(rest), [&] {
        const mdstream::bytes_view data = rest.subspan(head, size - head - tail);
        if (masked_crc(data) != mdstream::load<std::uint32_t>(rest.data() + size - tail))
          throw mdstream::error(mdstream::errc::corrupt, "the record's checksum differs");
        out.add({{"record", data}});
      });
      rest = rest.subspan(size);
    }
  }

  /// Says which columns there are, so that nobody has to name them.
  void infer(const mdstream::raw::window& in, mdstream::raw::column_inference& out) const {
    if (in.bytes.size() < head) return;
    out.add_row();
    out.add("record", "bytes");
  }
};
