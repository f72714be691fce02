// Shuffled samples of shards that memory does not hold: a loader, beside the ways to read them by
// hand. Every turn is a process in a control group with little memory, and begins with no page of
// the shards there.

#include <mdstream/cache/detail/page_requests.hpp>
#include <mdstream/cache/detail/read_soon.hpp>
#include <mdstream/mdstream.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/disk_files.hpp"
#include "support/harness.hpp"
#include "support/memory_group.hpp"

namespace mds = mdstream;
using namespace mds::literals;

namespace {

constexpr std::uint64_t memory = 96 << 20, dataset = 512 << 20;

template <std::size_t Bytes>
using policies = mds::policies<mds::schema<mds::column<"x", mds::ndarray<std::uint8_t, Bytes>>>,
                               mds::shuffle::py1e, mds::collate::dense>;

template <std::size_t Bytes>
void write_dataset(const std::string& where) {
  if (std::filesystem::exists(where + "/index.json")) return;
  mds::writer<policies<Bytes>> out({.out = where});
  std::mt19937_64 random(1);
  std::vector<std::byte> sample(Bytes);
  for (std::size_t i = 0; i < dataset / Bytes; ++i) {
    for (std::size_t at = 0; at < Bytes; at += 8) mds::store_to(sample.data() + at, random());
    out.write(sample);
  }
  out.finish();
}

std::vector<std::string> shards_of(const std::string& where) {
  std::vector<std::string> out;
  for (const auto& each : std::filesystem::directory_iterator(where))
    if (each.path().extension() == ".mds") out.push_back(each.path().native());
  return out;
}

/// What a process has read.
struct reading {
  double samples = 0, seconds = 0, read = 0;
};

/// Calls `next`, which reads a batch and returns its samples, or 0 where there is none left: for a
/// second that does not count, and three that do.
template <class Next>
reading measure(const Next& next) {
  using clock = std::chrono::steady_clock;
  const auto blocks = [] {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_inblock);
  };
  for (const auto end = clock::now() + std::chrono::seconds(1); clock::now() < end;) next();
  reading out;
  const double before = blocks();
  const auto begin = clock::now();
  while (clock::now() < begin + std::chrono::seconds(3)) out.samples += static_cast<double>(next());
  out.seconds = std::chrono::duration<double>(clock::now() - begin).count();
  out.read = (blocks() - before) * 512;
  return out;
}

template <std::size_t Bytes>
reading read_by_loader(const std::string& where, std::size_t batch_size) {
  mds::loader<policies<Bytes>> loader({.local = where, .batch_size = batch_size});
  auto epoch = loader.epoch();
  typename mds::loader<policies<Bytes>>::batch_type batch;
  return measure([&] {
    while (!epoch.next(batch)) epoch = loader.epoch();
    return batch.size();
  });
}

enum class way { mapped, mapped_soon, by_pread };

/// The same by hand: every sample is copied into one batch.
template <std::size_t Bytes>
reading read_by_hand(const std::string& where, std::size_t batch_size, way how) {
  struct place {
    int fd;
    mds::bytes_view bytes;
    off_t offset;
  };
  std::vector<place> samples;
  std::vector<mds::detail::file_mapping> mappings;
  for (const std::string& file : shards_of(where)) {
    const int fd = ::open(file.c_str(), O_RDONLY);
    const mds::detail::file_mapping& mapping = mappings.emplace_back(
        mds::detail::file_mapping::of(fd, std::filesystem::file_size(file), file));
    const mds::mds_shard_view shard(mapping.bytes(),
                                    mds::load<std::uint32_t>(mapping.bytes().data()), Bytes);
    if (how == way::mapped_soon) mds::detail::read_randomly(mapping.bytes(), true);
    for (std::uint64_t i = 0; i < shard.size(); ++i)
      samples.push_back({fd, shard[i], shard[i].data() - mapping.bytes().data()});
  }
  std::mt19937_64 random(7);
  std::vector<place> batch(batch_size), later(batch_size);
  mds::detail::page_requests requests(support::page_bytes(), mds::detail::most_read_soon);
  std::vector<mds::bytes_view> soon;
  const auto draw = [&] {
    soon.clear();
    for (place& each : later) {
      each = samples[random() % samples.size()];
      soon.push_back(each.bytes);
    }
    if (how == way::mapped_soon) mds::detail::read_soon(requests.of(soon));
  };
  std::vector<std::byte> into(batch_size * Bytes);
  draw();
  return measure([&] {
    std::swap(batch, later);
    draw();
    for (std::size_t i = 0; i < batch_size; ++i) {
      std::byte* const to = into.data() + i * Bytes;
      if (how != way::by_pread)
        std::memcpy(to, batch[i].bytes.data(), Bytes);
      else if (::pread(batch[i].fd, to, Bytes, batch[i].offset) != static_cast<ssize_t>(Bytes))
        throw std::runtime_error("a shard is too short");
    }
    return batch_size;
  });
}

/// KiB that the kernel reads ahead of the disk that a directory is on; "?" where it does not say.
std::string read_ahead_of(const std::string& where) {
  struct stat about{};
  if (::stat(where.c_str(), &about) != 0) return "?";
  const std::string disk = "/sys/dev/block/" + std::to_string(major(about.st_dev)) + ':' +
                           std::to_string(minor(about.st_dev));
  std::string out = "?";
  for (const char* const file : {"/../queue/read_ahead_kb", "/queue/read_ahead_kb"})
    std::ifstream(disk + file) >> out;
  return out;
}

template <std::size_t Bytes>
void pressure(const bench::memory_group& group, const std::string& root, const std::string& size,
              std::size_t batch_size) {
  const std::string where = root + "/pressure-" + std::to_string(Bytes);
  const std::string name =
      size + " in 96 MiB of memory, read-ahead " + read_ahead_of(root) + " KiB";
  if (!bench::is_wanted(name)) return;
  write_dataset<Bytes>(where);
  std::map<std::string, double> read;  // KiB a sample, of the last turn
  std::vector<bench::contender> contenders;
  const auto add = [&](const std::string& who, std::function<reading()> work) {
    contenders.push_back(bench::contender::measured(who, [&, who, work] {
      for (const std::string& file : shards_of(where))
        if (support::drop_pages(file) != 0)
          throw std::runtime_error("pages of " + file + " stay in memory: it is not on a disk");
      const reading got = group.run(work);
      read[who] = got.read / got.samples / 1024;
      return bench::turn{.units = got.samples, .seconds = got.seconds};
    }));
  };
  add("mdstream", [&] { return read_by_loader<Bytes>(where, batch_size); });
  add("limit:mmap", [&] { return read_by_hand<Bytes>(where, batch_size, way::mapped); });
  add("limit:mmap, asked for",
      [&] { return read_by_hand<Bytes>(where, batch_size, way::mapped_soon); });
  add("limit:pread", [&] { return read_by_hand<Bytes>(where, batch_size, way::by_pread); });
  bench::run_case("pressure", name, "samples/s", contenders, 3);
  for (const bench::contender& each : contenders)
    std::printf(
        "{\"bench\":\"pressure\",\"case\":\"read from the disk, %s\",\"who\":\"%s\","
        "\"value\":%.4g,\"unit\":\"KiB a sample\"}\n",
        name.c_str(), each.who.c_str(), read[each.who]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argc > 1 ? argv[1] : "build/bench-data";
  std::filesystem::create_directories(root);
  const bench::memory_group group(memory);
  if (!group) {
    std::fprintf(stderr,
                 "bench_pressure: it may not create a control group with a limit of memory, so "
                 "nothing is measured: start it as root\n");
    return 0;
  }
  try {
    pressure<4096>(group, root, "4 KiB", 32);
    pressure<65'536>(group, root, "64 KiB", 32);
    pressure<1'048'576>(group, root, "1 MiB", 8);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_pressure: %s\n", e.what());
    return 1;
  }
}
