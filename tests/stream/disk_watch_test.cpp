#include <mdstream/mdstream.hpp>
#include <mdstream/stream/detail/batch_engine.hpp>
#include <mdstream/stream/detail/disk_watch.hpp>
#include <mdstream/stream/detail/policy_batches.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/disk_files.hpp"

// What a loader reads of shards on a disk, page by page, where memory is said to hold less than all
// of them.

namespace disk_watch_test {

namespace mds = mdstream;

constexpr std::size_t sample_bytes = 16'384, samples = 2'048, batch_size = 16;

/// Samples of one size, and of many.
struct fixed {
  using policies =
      mds::policies<mds::schema<mds::column<"x", mds::ndarray<std::uint8_t, sample_bytes>>>,
                    mds::collate::none>;
  static std::size_t size_of(std::int64_t) { return sample_bytes; }
};
struct varying {
  using policies = mds::policies<mds::schema<mds::column<"x", mds::bytes>>, mds::collate::none>;
  static std::size_t size_of(std::int64_t id) {
    return sample_bytes - static_cast<std::size_t>(id % 99);
  }
};

template <class Kind>
std::vector<std::byte> sample(std::int64_t id) {
  return std::vector<std::byte>(Kind::size_of(id), static_cast<std::byte>(id * 7));
}

/// Bytes of files that memory is said to hold.
std::atomic<std::uint64_t> memory{0};

/// 2,048 samples in shards of 4 MiB on a disk.
template <class Kind>
class shards {
 public:
  using policies = typename Kind::policies;
  using batches = mds::detail::policy_batches<policies>;

  shards() {
    mds::writer<policies> out({.out = *dir_ / "data", .size_limit = mds::byte_size(4 << 20)});
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(samples); ++i)
      out.write(sample<Kind>(i));
    out.finish();
    for (const auto& each : std::filesystem::directory_iterator(*dir_ / "data"))
      if (each.path().extension() == ".mds") files_.push_back(each.path().native());
    CHECK(drop() == 0);
  }

  /// Drops the pages of all shards, whoever has mapped them here. Returns how many stay.
  std::size_t drop() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      std::uintptr_t begin = 0, end = 0;
      char dash = 0;
      if (line.find(dir_->path()) == line.npos) continue;
      std::istringstream(line) >> std::hex >> begin >> dash >> end;
      ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
    std::size_t out = 0;
    for (const std::string& file : files_) out += support::drop_pages(file);
    return out;
  }

  /// Reads all shards into memory.
  void warm() const {
    for (const std::string& file : files_) {
      std::ostringstream bytes;
      bytes << std::ifstream(file, std::ios::binary).rdbuf();
    }
  }

  [[nodiscard]] std::size_t resident() const {
    std::size_t out = 0;
    for (const std::string& file : files_) out += support::resident(file);
    return out * support::page_bytes();
  }

  /// How many mappings the kernel has been told to be read at random places, of how many.
  [[nodiscard]] std::pair<std::size_t, std::size_t> random_mappings() const {
    std::pair<std::size_t, std::size_t> out;
    std::ifstream maps("/proc/self/smaps");
    bool ours = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.find('-') < line.find(' ')) ours = line.find(dir_->path()) != line.npos;
      if (!ours || !line.starts_with("VmFlags:")) continue;
      ++out.second;
      if (line.find(" rr") != line.npos) ++out.first;
    }
    return out;
  }

  /// A loader, but for where it learns how much memory there is.
  [[nodiscard]] std::unique_ptr<mds::detail::batch_engine, mds::detail::ends_anywhere> open(
      mds::byte_size prefetch_limit = 0) const {
    return std::unique_ptr<mds::detail::batch_engine, mds::detail::ends_anywhere>(
        mds::detail::open_engine(
            {.local = *dir_ / "data",
             .batch_size = batch_size,
             .prefetch_limit = prefetch_limit,
             .threads = 2},
            {.corpus = mds::detail::corpus_policies::of<policies>(),
             .shuffler = [](const std::string& name) -> mds::detail::erased_shuffler {
               return mds::detail::shuffler_of<typename policies::shuffler>(name);
             },
             .builder = std::make_unique<batches>(typename policies::transform{}),
             .observer = nullptr,
             .memory = [] { return memory.load(); }})
            .release());
  }

  /// Takes a batch, whose bytes have to be right. Returns the ids; none at the end of the epoch.
  static std::vector<std::int64_t> take(mds::detail::batch_engine& from, std::uint64_t ticket) {
    if (!from.next(ticket)) return {};
    const typename batches::batch_type got(std::move(batches::parts_of(from.batch())));
    std::vector<std::int64_t> ids(got.ids().begin(), got.ids().end());
    bool right = true;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::vector<std::byte> expected = sample<Kind>(ids[i]);
      const mds::bytes_view bytes = got.sample(i).bytes();  // with its size, where that varies
      right = right && std::ranges::equal(bytes.last(expected.size()), expected);
    }
    CHECK(right);
    return ids;
  }

 private:
  std::unique_ptr<scratch_directory::scratch> dir_ = support::disk_directory();
  std::vector<std::string> files_;
};

/// The first epoch of a loader of such shards, where memory is said to hold so many bytes of them.
template <class Kind>
struct first_epoch {
  explicit first_epoch(std::uint64_t bytes) {
    memory = bytes;
    loader = data.open();
    ticket = loader->begin_epoch();
  }

  std::vector<std::int64_t> take() { return data.take(*loader, ticket); }

  /// Takes the first batches, with no page in memory before each, nor after. The seventeenth is one
  /// that counts for sixteen: what was read around its samples is more than memory holds.
  void take_from_disk() {
    for (int i = 0; i < 17; ++i) {
      REQUIRE(take().size() == batch_size);
      while (data.drop() > 0)  // what the kernel still reads ahead
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  shards<Kind> data{};
  decltype(data.open()) loader{};
  std::uint64_t ticket = 0;
};

}  // namespace disk_watch_test

TEMPLATE_TEST_CASE("a batch that memory does not hold is read before it is asked for", "",
                   disk_watch_test::fixed, disk_watch_test::varying) {
  using namespace disk_watch_test;
  first_epoch<TestType> epoch(2 << 20);
  epoch.take_from_disk();
  REQUIRE(epoch.data.random_mappings().first == 0);
  std::size_t taken = 0;
  for (; taken < 6; ++taken) {
    REQUIRE(epoch.take().size() == batch_size);
    // With it those of the next one were asked for, and are there some time.
    while (epoch.data.resident() < (taken + 2) * batch_size * (sample_bytes - 99))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto [random, mappings] = epoch.data.random_mappings();
  CHECK(random > mappings / 2);  // these batches need most of them
  // Seven batches of samples that begin and end within pages, and what says where they are.
  CHECK(epoch.data.resident() <=
        7 * batch_size * (sample_bytes + 2 * support::page_bytes()) + (1 << 20));
  CHECK(epoch.data.resident() < samples * sample_bytes / 4);
}

TEMPLATE_TEST_CASE("the same where batches are prefetched, to the end of two epochs", "",
                   disk_watch_test::fixed, disk_watch_test::varying) {
  using namespace disk_watch_test;
  shards<TestType> data;
  memory = 2 << 20;
  const auto loader = data.open(1 << 20);
  std::size_t random = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::set<std::int64_t> seen;
    const std::uint64_t ticket = loader->begin_epoch();
    while (true) {
      const std::vector<std::int64_t> ids = data.take(*loader, ticket);
      if (ids.empty()) break;
      seen.insert(ids.begin(), ids.end());
      if (seen.size() <= 8 * batch_size) random = std::max(random, data.random_mappings().first);
      if (seen.size() % (4 * batch_size) == 0) data.drop();  // as a kernel that lacks memory
    }
    CHECK(seen.size() == samples);
  }
  CHECK(random > 0);
}

TEST_CASE("once memory holds the shards they are no longer asked for") {
  using namespace disk_watch_test;
  first_epoch<fixed> epoch(2 << 20);
  epoch.take_from_disk();
  REQUIRE(epoch.take().size() == batch_size);
  CHECK(epoch.data.random_mappings().first > 0);
  epoch.data.warm();
  while (!epoch.take().empty()) {
  }
  CHECK(epoch.data.random_mappings().first == 0);
}

TEST_CASE("where memory is enough for all shards the kernel reads as it likes") {
  using namespace disk_watch_test;
  first_epoch<fixed> epoch(1 << 30);
  while (!epoch.take().empty()) CHECK(epoch.data.random_mappings().first == 0);
  CHECK(epoch.data.random_mappings().second > 0);
}

TEST_CASE("batches of more than a quarter of the memory are left to the kernel") {
  using namespace disk_watch_test;
  first_epoch<fixed> epoch(4 * batch_size * sample_bytes - 1);
  epoch.take_from_disk();
  for (int i = 0; i < 4; ++i) {
    REQUIRE(epoch.take().size() == batch_size);
    CHECK(epoch.data.random_mappings().first == 0);
  }
}
