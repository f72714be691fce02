#include <mdstream/cache/detail/read_soon.hpp>

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/store/detail/file.hpp>

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/disk_files.hpp"
#include "support/seed.hpp"

// What the kernel reads of a mapped file on a disk, page by page.

namespace read_soon_test {

namespace mds = mdstream;

/// A file of 16 MiB on a disk, mapped, of which no page is in memory.
struct cold_file {
  static constexpr std::size_t bytes = std::size_t{16} << 20;

  std::unique_ptr<scratch_directory::scratch> dir = support::disk_directory();
  std::string path = *dir / "file";
  mds::detail::file_mapping mapping{};

  cold_file() {
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
    REQUIRE(support::drop_pages(path) == 0);
    const mds::detail::unique_fd fd = mds::detail::open_file(path, O_RDONLY);
    mapping = mds::detail::file_mapping::of(fd.get(), bytes, path);
  }
};

/// A file system may have blocks of several pages, which it reads whole.
constexpr std::size_t block = 16;

}  // namespace read_soon_test

TEST_CASE("pages that are asked for are read from the disk, and others stay there", "[kernel]") {
  using namespace read_soon_test;
  std::mt19937_64 random(support::test_seed());
  const cold_file file;
  const std::size_t page = support::page_bytes(), pages = cold_file::bytes / page;
  std::vector<mds::bytes_view> samples;
  std::vector<bool> asked(pages), near(pages);
  const auto ask = [&](std::size_t begin, std::size_t bytes) {
    samples.push_back(file.mapping.bytes().subspan(begin, bytes));
    for (std::size_t i = begin / page; i <= (begin + bytes - 1) / page; ++i) {
      asked[i] = true;
      for (std::size_t k = i - std::min(i, block); k < std::min(i + block, pages); ++k)
        near[k] = true;
    }
  };
  for (int i = 0; i < 12; ++i) ask(random() % (cold_file::bytes - 20'000), 1 + random() % 20'000);
  ask(cold_file::bytes / 2, std::size_t{3} << 20);  // more than the kernel reads for one request
  mds::detail::page_requests requests(page, mds::detail::most_read_soon);
  mds::detail::read_soon(requests.of(samples));
  std::vector<bool> got;
  while (true) {  // until the disk has them
    got = support::resident_pages(file.path);
    std::size_t missing = 0;
    for (std::size_t i = 0; i < pages; ++i) missing += asked[i] && !got[i] ? 1 : 0;
    if (missing == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::size_t others = 0;
  for (std::size_t i = 0; i < pages; ++i) others += got[i] && !near[i] ? 1 : 0;
  CHECK(others == 0);
}

TEST_CASE("of a mapping that is read at random places only what is touched is read", "[kernel]") {
  using namespace read_soon_test;
  const cold_file file;
  mds::detail::read_randomly(file.mapping.bytes(), true);
  const std::uint64_t before = mds::detail::bytes_from_disk();
  const mds::bytes_view sample = file.mapping.bytes().subspan(cold_file::bytes / 2, 1);
  mds::detail::read_mapped([&] { mds::detail::touch_pages(sample); });
  CHECK(support::resident(file.path) >= 1);
  CHECK(support::resident(file.path) <= block);
  const std::uint64_t read = mds::detail::bytes_from_disk() - before;
  CHECK(read >= support::page_bytes());
  CHECK(read <= 2 * block * support::page_bytes());  // a directory's block, too
}
