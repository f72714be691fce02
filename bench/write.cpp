// Writing MDS shards, against what the machine does with the same bytes and what peers do. Files
// stay in the page cache on all sides: disks are not what is measured.

#include <mdstream/store/memory.hpp>
#include <mdstream/writer/writer.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/datasets.hpp"
#include "support/harness.hpp"
#include "support/peer.hpp"

namespace {

namespace mds = mdstream;
using bench::cached_directory;
using bench::memory_policies;
using bench::objects_of;
using bench::policies;
using bench::text_bytes;

using one_column = mds::schema<mds::column<"x", mds::bytes>>;

/// What is written, also left in a file for peers.
std::vector<std::byte> payload_in(const std::string& root) {
  std::vector<std::byte> payload = text_bytes(std::size_t{8} << 20);
  mds::store::local(root).write("payload", payload);
  return payload;
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

void bench_write(const std::string& root, std::size_t size, const std::string& name) {
  const std::string scratch = root + "/write";
  constexpr std::size_t total = std::size_t{256} << 20;
  const std::vector<std::byte> payload = payload_in(root);
  const auto write = [&](unsigned workers) {
    mds::writer<policies<one_column>> out({.out = cached_directory(scratch + "/write"),
                                           .max_workers = workers,
                                           .existing = mds::existing_dataset::replace});
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
  bench::run_case("write", name, "samples/s",
                  bench::with({{"mdstream", [&] { return write(1); }},
                               {"mdstream, calling thread only", [&] { return write(0); }},
                               {"limit:write", plain_write}},
                              bench::peers_of("write", name, root + "/peer")));
  std::filesystem::remove_all(scratch);
}

void bench_write_zstd(const std::string& root) {
  const std::string scratch = root + "/write";
  constexpr std::size_t size = 1024;
  constexpr std::size_t total = std::size_t{256} << 20;
  const std::vector<std::byte> payload = payload_in(root);
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
                                           .existing = mds::existing_dataset::replace});
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
  const std::string name = "write, 1 KiB, zstd";
  bench::run_case("write", name, "samples/s",
                  bench::with({{"mdstream", write}, {"limit:zstd -3", compress}},
                              bench::peers_of("write", name, root + "/peer")),
                  5);
  std::filesystem::remove_all(scratch);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argc > 1 ? argv[1] : "build/bench-data";
  std::filesystem::create_directories(root);
  bench_write(root, 1024, "write, 1 KiB");
  bench_write(root, 64, "write, 64 B");
  bench_write_zstd(root);
}
