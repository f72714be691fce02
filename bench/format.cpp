// Writing and reading MDS shards, codecs, and parsing the index, against what the machine does with
// the same bytes. Files stay in the page cache on both sides: disks are not what is measured.

#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/writer/writer.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace {

namespace mds = mdstream;
namespace fs = std::filesystem;

/// A directory whose index is not flushed to the disk.
class cached_directory {
 public:
  explicit cached_directory(const std::string& root) : files_(root) {}
  std::uint64_t size(std::string_view key) const { return files_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mds::mutable_bytes into) const {
    return files_.read(key, at, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const { files_.write(key, bytes); }
  std::vector<mds::object_info> list(std::string_view prefix) const { return files_.list(prefix); }
  void remove(std::string_view key) const { files_.remove(key); }
  std::string url(std::string_view key) const { return files_.url(key); }

 private:
  mds::store::local files_;
};

template <class Schema>
struct policies {
  using schema = Schema;
  using store = cached_directory;
  using codec = mds::any_codec<mds::codec::none, mds::codec::zstd>;
  using hash = mds::any_xxhash;
};

template <class Schema>
struct memory_policies : policies<Schema> {
  using store = mds::store::memory;
};

using one_column = mds::schema<mds::column<"x", mds::bytes>>;
using wide_rows =
    mds::schema<mds::column<"a", mds::ndarray<std::uint64_t, 96>>,
                mds::column<"b", mds::ndarray<std::uint64_t, 31>>, mds::column<"id", mds::int_>>;
using small_rows =
    mds::schema<mds::column<"a", mds::ndarray<std::uint64_t, 7>>, mds::column<"id", mds::int_>>;

const std::string scratch = (fs::temp_directory_path() / "mdstream-bench-format").string();

/// Text of few words: what compresses about as English does.
std::vector<std::byte> text_bytes(std::size_t size) {
  std::mt19937 random(1);
  std::string out;
  while (out.size() < size)
    out += "word" + std::to_string(random() % 997) + (random() % 9 ? " " : ".\n");
  const auto bytes = mds::as_bytes(out).first(size);
  return {bytes.begin(), bytes.end()};
}

/// Writes `total` bytes as samples of `size` bytes, cut from `payload` at changing places.
template <class Writer>
std::uint64_t write_samples(Writer& out, mds::bytes_view payload, std::size_t size,
                            std::size_t total) {
  std::size_t at = 0;
  for (std::size_t written = 0; written < total; written += size) {
    out.write(payload.subspan(at, size));
    at = (at + size) % (payload.size() - size);
  }
  out.finish();
  return total / size;
}

std::vector<std::vector<std::byte>> objects_of(const mds::store::memory& store) {
  std::vector<std::vector<std::byte>> out;
  for (const auto& each : store.list("shard.")) out.push_back(mds::read_all(store, each.key));
  return out;
}

void bench_write(std::size_t size, const std::string& name) {
  constexpr std::size_t total = std::size_t{256} << 20;
  const std::vector<std::byte> payload = text_bytes(std::size_t{8} << 20);
  const auto write = [&](unsigned workers) {
    mds::writer<policies<one_column>> out(
        {.out = cached_directory(scratch + "/write"), .max_workers = workers, .exist_ok = true});
    return write_samples(out, payload, size, total);
  };
  const mds::store::memory memory;
  {
    mds::writer<memory_policies<one_column>> out({.out = memory});
    write_samples(out, payload, size, total);
  }
  const auto shards = objects_of(memory);
  const auto plain_write = [&] {
    const cached_directory out(scratch + "/plain");
    for (std::size_t i = 0; i < shards.size(); ++i)
      out.write("shard." + std::to_string(i), shards[i]);
    return std::uint64_t{total / size};
  };
  bench::run_case("format", name, "samples/s",
                  {{"mdstream", [&] { return write(1); }},
                   {"mdstream, calling thread only", [&] { return write(0); }},
                   {"limit:write", plain_write}});
}

void bench_write_zstd() {
  constexpr std::size_t size = 1024;
  constexpr std::size_t total = std::size_t{256} << 20;
  const std::vector<std::byte> payload = text_bytes(std::size_t{8} << 20);
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  const mds::store::memory memory;
  {
    mds::writer<memory_policies<one_column>> out(
        {.out = memory, .size_limit = std::uint64_t{8} << 20});
    write_samples(out, payload, size, total);
  }
  const auto shards = objects_of(memory);
  const auto write = [&] {
    mds::writer<policies<one_column>> out({.out = cached_directory(scratch + "/zstd"),
                                           .compression = "zstd",
                                           .size_limit = std::uint64_t{8} << 20,
                                           .max_workers = threads,
                                           .exist_ok = true});
    return write_samples(out, payload, size, total);
  };
  const auto compress = [&] {
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        std::vector<std::byte> out(ZSTD_compressBound(shards[0].size()));
        for (std::size_t i = next++; i < shards.size(); i = next++)
          if (ZSTD_isError(
                  ZSTD_compress(out.data(), out.size(), shards[i].data(), shards[i].size(), 3)))
            std::abort();
      });
    for (std::thread& worker : workers) worker.join();
    return std::uint64_t{total / size};
  };
  bench::run_case("format", "write, 1 KiB, zstd", "samples/s",
                  {{"mdstream", write}, {"limit:zstd -3", compress}}, 5);
}

void bench_decompress() {
  const std::vector<std::byte> raw = text_bytes(std::size_t{64} << 20);
  const mds::codec::zstd codec;
  const std::vector<std::byte> zip = codec.compress(raw);
  std::vector<std::byte> back(raw.size());
  const auto library = [&] {
    mds::diagnostics where;
    if (codec.decompress(zip, back, where)) std::abort();
    return std::uint64_t{raw.size()};
  };
  const auto direct = [&] {
    if (ZSTD_decompress(back.data(), back.size(), zip.data(), zip.size()) != raw.size())
      std::abort();
    return std::uint64_t{raw.size()};
  };
  bench::run_case("format", "decompress, 64 MiB, zstd", "bytes/s",
                  {{"mdstream", library}, {"limit:zstd", direct}});
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

std::string large_index(std::size_t shards) {
  std::string text = "{\"shards\": [";
  const std::string head =
      R"({"column_encodings": ["bytes", "int"], "column_names": ["tokens", "x"], "column_sizes": )"
      R"([null, 8], "compression": "zstd:3", "format": "mds", "hashes": ["xxh64"], "raw_data": )";
  const auto file = [](const std::string& name, std::size_t bytes, std::uint64_t digest) {
    return R"({"basename": ")" + name + R"(", "bytes": )" + std::to_string(bytes) +
           R"(, "hashes": {"xxh64": ")" +
           mds::to_hex(mds::as_bytes({reinterpret_cast<char*>(&digest), 8})) + "\"}}";
  };
  for (std::size_t i = 0; i < shards; ++i) {
    const std::string name = mds::shard_file_name(i, mds::shard_format::mds, false, "");
    text += (i == 0 ? "" : ", ") + head + file(name, 67'108'864 - i % 1000, i * 2654435761U) +
            ", \"samples\": " + std::to_string(1000 + i % 7) +
            ", \"size_limit\": 67108864, \"version\": 2, \"zip_data\": " +
            file(name + ".zstd", 33'554'432 - i % 999, i * 40503U) + "}";
  }
  return text + "], \"version\": 2}";
}

void bench_index() {
  constexpr std::size_t shards = 1'000'000;
  const std::string text = large_index(shards);
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
  std::printf(
      "{\"bench\":\"format\",\"case\":\"index in memory, 1e6 shards\",\"who\":\"mdstream\","
      "\"value\":%.3g,\"unit\":\"bytes/shard\"}\n",
      static_cast<double>(memory) / shards);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const auto wanted = [&](const std::string& name) { return only.empty() || name == only; };
  if (wanted("write")) {
    bench_write(1024, "write, 1 KiB");
    bench_write(64, "write, 64 B");
  }
  if (wanted("zstd")) bench_write_zstd();
  if (wanted("decompress")) bench_decompress();
  if (wanted("read")) {
    bench_read<wide_rows, 96>("read every column, 1 KiB");
    bench_read<small_rows, 7>("read every column, 64 B");
  }
  if (wanted("index")) bench_index();
  fs::remove_all(scratch);
}
