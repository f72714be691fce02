// Sources that are larger than tests usually are, and archives that lie about what they hold.

#include <mdstream/mdstream.hpp>
#include <mdstream/raw/detail/index_builder.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "source/sources.hpp"

using namespace source_test;

namespace large_test {

using dataset = mds::dataset<plain_policies>;

mds::dataset_options options(const indexed_source& at, const scratch& cache,
                             const raw::options& about) {
  return {.streams = {{.remote = at.files.path(), .local = cache.path(), .raw = about}},
          .warn = [](const std::string&) {},
          .threads = 2};
}

TEST_CASE("a million small files are indexed without a look at them") {
  constexpr std::uint64_t count = 1'000'000;
  std::vector<raw::detail::listed_object> listing;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string digits = std::to_string(i);
    listing.push_back({.key = "d/" + std::string(7 - digits.size(), '0') + digits + ".bin",
                       .bytes = 1 + i % 1000,
                       .tag = digits});
  }
  raw::options about{.format = "files"};
  about.shard_bytes = 1 << 20;
  const raw::source_format format = raw_test::format_of(about);
  raw::detail::index_builder builder(format, std::move(listing));
  std::size_t scanned = 0;
  for (std::size_t i = 0; i < count; ++i) scanned += builder.to_scan(i) != nullptr ? 1 : 0;
  CHECK(scanned == 0);
  const raw::detail::row_index index = builder.finish();
  REQUIRE(index.samples() == count);
  REQUIRE(index == raw::detail::row_index::parse(index.dump()));

  std::uint64_t files = 0, bytes = 0;
  bool in_order = true;
  for (std::size_t i = 0; i < index.objects.size(); ++i)
    for (std::size_t k = 0; k < index.objects[i].cuts.size(); ++k)
      for (const raw::detail::part_range& each : parts_of(format, index, {i, k})) {
        in_order &= each.object == files++;
        bytes += each.range.bytes;
      }
  CHECK(in_order);
  CHECK(files == count);
  CHECK(bytes == count / 1000 * (1000 * 1001 / 2));
}

TEST_CASE("a file of 500 GB of tokens is indexed and read without a look at the rest") {
  constexpr std::uint64_t tokens = 250'000'000'000;
  const indexed_source at;
  const scratch cache;
  const std::string path = at.files.path() + "/a.bin";
  const std::vector<std::uint16_t> last{11, 22, 33, 44};
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  const bool is_sparse =
      ::ftruncate(file, 2 * tokens - 8) == 0 && ::pwrite(file, last.data(), 8, 2 * tokens - 8) == 8;
  ::close(file);
  REQUIRE(is_sparse);

  mds::dataset_options given =
      options(at, cache, {.format = "tokens", .window = 4, .stride = 4, .dtype = "uint16"});
  given.streams[0].local.clear();  // so that it is read where it lies
  const dataset data(given);
  REQUIRE(data.size() == tokens / 4);
  CHECK(mds::as_text(data[data.size() - 1].bytes()) ==
        mds::as_text(std::as_bytes(std::span(last))));
  CHECK(mds::as_text(data[data.size() / 2].bytes()) == std::string_view("\0\0\0\0\0\0\0\0", 8));
}

TEST_CASE("a column that changes its type in row 10,000,000 is named by its byte") {
  constexpr std::uint64_t rows = 10'000'000;
  const indexed_source at;
  const scratch cache;
  std::string lines;
  for (std::uint64_t i = 0; i < rows; ++i) lines += "{\"n\":" + std::to_string(i % 10) + "}\n";
  const std::uint64_t at_byte = lines.size();
  at.put("a.jsonl", lines + "{\"n\":\"x\"}\n");
  lines = {};
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 1 << 20;
  const dataset data(options(at, cache, about));
  REQUIRE(data.size() == rows + 1);
  CHECK(data[rows / 2].get<std::int64_t>("n") == 0);
  support::expect_error([&] { (void)data[rows]; }, mds::errc::corrupt,
                        {"a.jsonl", "column \"n\"", "byte " + std::to_string(at_byte + 5)});
}

TEST_CASE("compressed objects that lie or hold far more than they seem to are named") {
  const auto fails = [](const std::string& key, const std::string& bytes, mds::errc code,
                        std::string_view part) {
    CAPTURE(key);
    const indexed_source at;
    at.put(key, bytes);
    support::expect_error([&] { (void)at.build({.format = "jsonl"}); }, code, {key, part});
  };
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "{\"n\":" + std::to_string(i) + "}\n";

  const std::string good = packed(lines, ".gz");
  for (const std::size_t from_end : {8U, 4U}) {  // the CRC-32, the size
    std::string bad = good;
    bad[bad.size() - from_end] ^= 1;
    fails("a.jsonl.gz", bad, mds::errc::corrupt, "gz");
  }
  // a member of 16 MiB without the end of a line, 64 times
  const std::string blank = packed(std::string(16 << 20, ' '), ".gz");
  std::string bomb;
  for (int i = 0; i < 64; ++i) bomb += blank;
  REQUIRE(bomb.size() < 8 << 20);
  fails("bomb.jsonl.gz", bomb, mds::errc::unsupported, "max_row_bytes");

  // a frame that asks for a window of 2 GiB
  const std::string window("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9);
  fails("window.jsonl.zst", window, mds::errc::unsupported, "window");
}

}  // namespace large_test
