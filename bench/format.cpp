// Reading MDS shards, codecs, and parsing the index, against what the machine and the codecs' own
// programs do with the same bytes.

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/codec/full.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/writer/writer.hpp>

#include <fcntl.h>
#include <snappy.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/datasets.hpp"
#include "support/harness.hpp"

namespace {

namespace mds = mdstream;
namespace fs = std::filesystem;
using bench::memory_policies;
using bench::objects_of;
using bench::text_bytes;

using wide_rows =
    mds::schema<mds::column<"a", mds::ndarray<std::uint64_t, 96>>,
                mds::column<"b", mds::ndarray<std::uint64_t, 31>>, mds::column<"id", mds::int_>>;
using small_rows =
    mds::schema<mds::column<"a", mds::ndarray<std::uint64_t, 7>>, mds::column<"id", mds::int_>>;

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

/// Decompression of 64 MiB of text, beside the codec's own program where it has one.
template <class Codec>
void bench_decompress(const std::string& root, const std::string& name,
                      const std::string& program) {
  const std::vector<std::byte> raw = text_bytes(std::size_t{64} << 20);
  const Codec codec;
  const std::vector<std::byte> zip = codec.compress(raw);
  std::vector<std::byte> back(raw.size());
  std::vector<bench::contender> contenders{{"mdstream", [&] {
                                              mds::diagnostics where;
                                              if (codec.decompress(zip, back, where)) std::abort();
                                              return std::uint64_t{raw.size()};
                                            }}};
  const mds::store::local files(root);
  const std::string file = "compressed." + name;
  files.write(file, zip);
  if (!program.empty() && is_installed(program))
    contenders.push_back(
        {"limit:" + program + " -d", [&] {
           if (std::system((program + " -dc <" + root + "/" + file + " >/dev/null").c_str()) != 0)
             std::abort();
           return std::uint64_t{raw.size()};
         }});
  if (name == "zstd")
    contenders.push_back({"limit:libzstd", [&] {
                            if (ZSTD_decompress(back.data(), back.size(), zip.data(), zip.size()) !=
                                raw.size())
                              std::abort();
                            return std::uint64_t{raw.size()};
                          }});
  if (name == "snappy")
    contenders.push_back({"limit:libsnappy", [&] {
                            if (!snappy::RawUncompress(reinterpret_cast<const char*>(zip.data()),
                                                       zip.size(),
                                                       reinterpret_cast<char*>(back.data())))
                              std::abort();
                            return std::uint64_t{raw.size()};
                          }});
  bench::run_case("format", "decompress, 64 MiB, " + name, "bytes/s", std::move(contenders), 5);
  files.remove(file);
}

volatile std::uint64_t sink = 0;

std::uint64_t sum(mds::unaligned_view<std::uint64_t> words) {
  return std::accumulate(words.begin(), words.end(), std::uint64_t{0});
}

template <class Schema, std::size_t Words>
void bench_read(const std::string& name) {
  constexpr std::size_t size = Schema::smallest_sample;
  constexpr std::size_t samples = (std::size_t{128} << 20) / size;
  const mds::store::memory memory;
  mds::writer<memory_policies<Schema>> out({.out = memory});
  std::vector<std::uint64_t> words(200);
  std::iota(words.begin(), words.end(), 1U);
  for (std::size_t i = 0; i < samples; ++i) {
    const std::span<const std::uint64_t> all(words);
    if constexpr (Schema::size == 3)
      out.write(all.subspan(i % 50, 96), all.subspan(i % 50, 31), i);
    else
      out.write(all.subspan(i % 50, Words), i);
  }
  out.finish();
  const auto shards = objects_of(memory);
  const auto read = [&] {
    std::uint64_t total = 0;
    for (const auto& bytes : shards) {
      const mds::mds_shard_view shard(bytes, mds::load<std::uint32_t>(bytes.data()));
      for (std::uint64_t i = 0; i < shard.size(); ++i) {
        const mds::bytes_view sample = shard[i];
        total += sum(Schema::template get<"a">(sample));
        if constexpr (Schema::size == 3) total += sum(Schema::template get<"b">(sample));
        total += static_cast<std::uint64_t>(Schema::template get<"id">(sample));
      }
    }
    sink = total;
    return std::uint64_t{samples};
  };
  const auto walk = [&] {
    std::uint64_t total = 0;
    for (const auto& bytes : shards) {
      const std::size_t begin = mds::load<std::uint32_t>(bytes.data() + 4);
      total += sum(mds::unaligned_view<std::uint64_t>(mds::bytes_view(bytes).subspan(begin)));
    }
    sink = total;
    return std::uint64_t{samples};
  };
  bench::run_case("format", name, "samples/s", {{"mdstream", read}, {"limit:walk", walk}});
}

/// Gives the text of an index in pieces.
template <class Sink>
void write_index(std::size_t shards, Sink write) {
  write("{\"shards\": [");
  const std::string head =
      R"({"column_encodings": ["bytes", "int"], "column_names": ["tokens", "x"], "column_sizes": )"
      R"([null, 8], "compression": "zstd:3", "format": "mds", "hashes": ["xxh64"], "raw_data": )";
  const auto file = [](const std::string& name, std::size_t bytes, std::uint64_t digest) {
    return R"({"basename": ")" + name + R"(", "bytes": )" + std::to_string(bytes) +
           R"(, "hashes": {"xxh64": ")" +
           mds::detail::to_hex(mds::as_bytes({reinterpret_cast<char*>(&digest), 8})) + "\"}}";
  };
  for (std::size_t i = 0; i < shards; ++i) {
    const std::string name = mds::shard_file_name(i, mds::shard_format::mds, false, "");
    write((i == 0 ? "" : ", ") + head + file(name, 67'108'864 - i % 1000, i * 2654435761U) +
          ", \"samples\": " + std::to_string(1000 + i % 7) +
          ", \"size_limit\": 67108864, \"version\": 2, \"zip_data\": " +
          file(name + ".zstd", 33'554'432 - i % 999, i * 40503U) + "}");
  }
  write("], \"version\": 2}");
}

void print_value(const char* name, double value, const char* unit) {
  std::printf(
      "{\"bench\":\"format\",\"case\":\"%s\",\"who\":\"mdstream\",\"value\":%.3g,\"unit\":\"%s\"}"
      "\n",
      name, value, unit);
}

void bench_index() {
  constexpr std::size_t shards = 1'000'000;
  std::string text;
  write_index(shards, [&text](const std::string& piece) { text += piece; });
  std::size_t memory = 0;
  const auto parse = [&] {
    const auto index = mds::dataset_index::parse(text);
    memory = index.memory();
    return std::uint64_t{index.shards()};
  };
  const auto walk = [&] {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i + 8 <= text.size(); i += 8)
      total += mds::load<std::uint64_t>(mds::as_bytes(text).data() + i);
    sink = total;
    return std::uint64_t{shards};
  };
  bench::run_case("format", "parse index, 1e6 shards", "shards/s",
                  {{"mdstream", parse}, {"limit:walk", walk}}, 5);
  print_value("index in memory, 1e6 shards", static_cast<double>(memory) / shards, "bytes/shard");
}

/// An index of ten million shards is parsed from its file with a limit of 1 GiB on all memory that
/// is not that file.
void bench_large_index(const std::string& root) {
  constexpr std::size_t shards = 10'000'000;
  const std::string path = root + "/large-index.json";
  {
    std::ofstream out(path, std::ios::binary);
    write_index(shards, [&out](const std::string& text) { out << text; });
  }
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
    setrlimit(RLIMIT_DATA, &limit);
    const mds::detail::unique_fd fd(::open(path.c_str(), O_RDONLY));
    const auto text = mds::detail::file_mapping::of(fd.get(), fs::file_size(path), path);
    const auto begin = std::chrono::steady_clock::now();
    const auto index = mds::dataset_index::parse(mds::as_text(text.bytes()));
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    print_value("parse index, 1e7 shards, below 1 GiB", static_cast<double>(shards) / wall.count(),
                "shards/s");
    print_value("index in memory, 1e7 shards",
                static_cast<double>(index.memory()) / static_cast<double>(index.shards()),
                "bytes/shard");
    std::fflush(stdout);
    _exit(index.shards() == shards ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  fs::remove(path);
  if (status != 0) throw std::runtime_error("an index of 1e7 shards does not fit into 1 GiB");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argc > 1 ? argv[1] : "build/bench-data";
  fs::create_directories(root);
  bench_decompress<mds::codec::zstd>(root, "zstd", "zstd");
  bench_decompress<mds::codec::gz>(root, "gz", "gzip");
  bench_decompress<mds::codec::bz2>(root, "bz2", "bzip2");
  bench_decompress<mds::codec::br>(root, "br", "brotli");
  bench_decompress<mds::codec::snappy>(root, "snappy", "");
  bench_read<wide_rows, 96>("read every column, 1 KiB");
  bench_read<small_rows, 7>("read every column, 64 B");
  bench_index();
  bench_large_index(root);
}
