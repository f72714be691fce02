// What libFuzzer calls: the target that MDSTREAM_FUZZ_TARGET names. One program for all, since each
// would link everything. With MDSTREAM_FUZZ_INPUTS it writes the target's inputs into that
// directory, and does no more.

#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/codec/full.hpp>

#include <zlib.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/refusal.hpp"
#include "fuzz/targets.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

const fuzz::target& chosen() {
  const char* const name = std::getenv("MDSTREAM_FUZZ_TARGET");
  for (const fuzz::target& each : fuzz::targets)
    if (name != nullptr && std::string_view(name) == each.name) return each;
  std::fprintf(stderr, "fuzz: MDSTREAM_FUZZ_TARGET names none of these:");
  for (const fuzz::target& each : fuzz::targets) std::fprintf(stderr, " %s", each.name);
  std::fprintf(stderr, "\n");
  std::_Exit(2);
}

/// Gives each header of an archive the checksum of what it says, as a changed one would be refused
/// by that alone.
void repair_tar(std::uint8_t* data, std::size_t size) {
  constexpr std::size_t block = 512;
  for (std::size_t at = 0; at + block <= size;) {
    std::uint8_t* const head = data + at;
    at += block;
    if (std::all_of(head, head + block, [](std::uint8_t b) { return b == 0; })) continue;
    std::fill_n(head + 148, 8, std::uint8_t{' '});
    std::snprintf(reinterpret_cast<char*>(head + 148), 7, "%06o",
                  std::accumulate(head, head + block, 0U));
    const std::string text(reinterpret_cast<const char*>(head + 124), 12);
    const std::size_t bytes = std::strtoull(text.c_str(), nullptr, 8);
    if (bytes > size) return;
    at += (bytes + block - 1) / block * block;
  }
}

/// A blind change, which adds no more than `most` bytes.
void change(std::string& text, std::size_t most) {
  const std::size_t size = text.size();
  text.resize(size + std::max<std::size_t>(most, 1));
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
}

void append_part(std::string& out, std::string_view part) {
  const auto size = static_cast<std::uint32_t>(part.size());
  out.append(reinterpret_cast<const char*>(&size), 4).append(part);
}

/// Changes the meta file or the data of rows. Then the offsets ascend to the data's end, or one of
/// them is wrong by one.
std::string change_rows(std::string_view input, std::size_t most, std::minstd_rand& draw) {
  std::string meta(fuzz::take_part(input)), rows(input), out;
  change(draw() % 2 == 0 ? meta : rows, most);
  if (meta.size() >= 8) {
    const std::size_t room = meta.size() / 4 - 1;
    std::size_t count = mdstream::load<std::uint32_t>(mdstream::as_bytes(meta).data());
    if (count >= room) count = draw() % room;
    std::vector<std::uint32_t> offsets(count + 1);
    std::memcpy(offsets.data(), meta.data() + 4, 4 * offsets.size());
    const auto end = static_cast<std::uint32_t>(rows.size());
    for (std::uint32_t& each : offsets) each = std::min(each, end);
    std::sort(offsets.begin(), offsets.end());
    offsets.back() = end;
    if (draw() % 4 == 0) offsets[draw() % offsets.size()] += draw() % 2 == 0 ? 1U : ~0U;
    const auto number = static_cast<std::uint32_t>(count);
    std::memcpy(meta.data(), &number, 4);
    std::memcpy(meta.data() + 4, offsets.data(), 4 * offsets.size());
  }
  append_part(out, meta);
  return out + rows;
}

/// Changes what was compressed, and compresses it again as several members or frames.
void change_packed(std::string& packed, std::string_view codec, std::size_t most,
                   std::minstd_rand& draw) {
  bool unpacked = false;
  fuzz::allow_refusal([&] {
    const auto opened = mdstream::detail::codec_set::of<mdstream::full_codec>().open(codec);
    const auto decoder = opened->open_stream();
    if (decoder == nullptr) return;
    std::string plain(std::size_t{1} << 16, '\0');
    mdstream::bytes_view in = mdstream::as_bytes(packed);
    plain.resize(decoder->decode(in, std::as_writable_bytes(std::span(plain))));
    unpacked = true;
    change(plain, most);
    packed.clear();
    while (!plain.empty()) {
      const std::size_t piece = draw() % 2 == 0 ? plain.size() : 1 + draw() % plain.size();
      packed += mdstream::as_text(opened->compress(mdstream::as_bytes(plain).first(piece)));
      plain.erase(0, piece);
    }
  });
  if (!unpacked) change(packed, most);
}

/// `codec`, `entries`: the line and the state in front of compressed bytes stay.
std::string change_compressed(std::string_view input, bool has_state, std::size_t most,
                              std::minstd_rand& draw) {
  const std::string_view name = fuzz::take_line(input);
  std::string out = std::string(name) + '\n';
  if (has_state) append_part(out, fuzz::take_part(input));
  std::string packed(input);
  change_packed(packed, name == ".gz" ? "gz" : name == ".zst" ? "zstd" : name, most, draw);
  return out + packed;
}

std::string big_endian(std::size_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
  return out;
}

/// Changes the rows of an image before they are compressed; their checksum is in the stream.
void change_pixels(std::string& packed, std::size_t most, std::minstd_rand& draw) {
  const auto bytes = [](std::string& text) { return reinterpret_cast<Bytef*>(text.data()); };
  std::string rows(std::size_t{1} << 16, '\0');
  uLongf size = rows.size();
  if (::uncompress(bytes(rows), &size, bytes(packed), packed.size()) != Z_OK)
    return change(packed, most);
  rows.resize(size);
  change(rows, most);
  packed.resize(size = ::compressBound(rows.size()));
  ::compress2(bytes(packed), &size, bytes(rows), rows.size(), static_cast<int>(draw() % 10));
  packed.resize(size);
}

/// Changes one chunk of a PNG file. Then all have the length and the checksum of what they hold.
std::string change_png(std::string_view input, std::size_t most, std::minstd_rand& draw) {
  std::string out(input.substr(0, 8));
  std::vector<std::string> chunks;  // type, data
  for (input.remove_prefix(out.size()); input.size() >= 12;) {
    std::size_t size = 0;
    for (const char each : input.substr(0, 4)) size = size << 8 | static_cast<unsigned char>(each);
    size = std::min(size, input.size() - 12);
    chunks.emplace_back(input.substr(4, 4 + size));
    input.remove_prefix(12 + size);
  }
  if (chunks.empty()) chunks.emplace_back("IHDR");
  std::string& changed = chunks[draw() % chunks.size()];
  if (changed.starts_with("IDAT") && draw() % 4 != 0) {
    std::string packed = changed.substr(4);
    change_pixels(packed, most, draw);
    changed.replace(4, changed.npos, packed);
  } else {
    change(changed, most);
    changed.resize(std::max<std::size_t>(changed.size(), 4));
  }
  for (const std::string& each : chunks) {
    const auto* const data = reinterpret_cast<const Bytef*>(each.data());
    out += big_endian(each.size() - 4) + each + big_endian(::crc32_z(0, data, each.size()));
  }
  return out;
}

}  // namespace

/// A blind change, or three times in four one after which offsets and checksums are right where an
/// input would be refused for these alone.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  static const fuzz::target& target = chosen();
  const bool packed = target.run == &fuzz::codec || target.run == &fuzz::entries;
  std::minstd_rand draw(seed);
  const bool image = target.run == &fuzz::png;
  if (draw() % 4 != 0 && (packed || image || target.run == &fuzz::row_shard)) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t more = most - std::min(most, size);
    const std::string changed =
        packed  ? change_compressed(input, target.run == &fuzz::entries, more, draw)
        : image ? change_png(input, more, draw)
                : change_rows(input, more, draw);
    return changed.copy(reinterpret_cast<char*>(data), most);
  }
  size = LLVMFuzzerMutate(data, size, most);
  if (target.run == &fuzz::raw_tar && seed % 4 != 0) repair_tar(data, size);
  return size;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const directory = std::getenv("MDSTREAM_FUZZ_INPUTS");
  if (directory == nullptr) return 0;
  int number = 0;
  for (const std::string& input : fuzz::inputs_of(chosen().name)) {
    const std::string path = std::string(directory) + '/' + std::to_string(number++);
    if (std::ofstream(path, std::ios::binary) << input) continue;
    std::fprintf(stderr, "fuzz: cannot write %s\n", path.c_str());
    std::_Exit(2);
  }
  std::_Exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::target& target = chosen();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
