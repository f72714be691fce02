#include <mdstream/cache/detail/shard_fetch.hpp>

#include <mdstream/cache/detail/shard_cache.hpp>
#include <mdstream/cache/detail/shard_seal.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/metered.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cache/fault_store.hpp"
#include "cache/fixture.hpp"
#include "store/forwarding.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace shard_fetch_test {

using namespace cache_test;
using fault_store::fault;
using mds::errc;
using support::expect_error;
using faulty = fault_store::store;

/// A cache over a remote that fails, with `attempts` for each shard.
struct setting {
  explicit setting(const dataset& data, unsigned attempts = 3, const std::string& hash = "xxh64",
                   bool keep_zip = false)
      : stream(stream_of(data, root.path(), remote)) {
    data.put(remote);
    stream.download_retry = attempts;
    stream.validate_hash = hash;
    stream.keep_zip = keep_zip;
  }
  void open() { shards.emplace(threads, options_of(root.path()), std::vector{stream}); }

  faulty remote;
  scratch root;
  mds::runtime threads{2};
  mds::cache_stream stream;
  std::optional<cache> shards;
};

TEST_CASE("a fault of any kind at any attempt is tried again and never served", "[cache]") {
  const bool zipped = GENERATE(false, true);
  const fault what = GENERATE(fault::error, fault::throw_other, fault::short_read,
                              fault::wrong_byte, fault::longer);
  const std::string hash = GENERATE("xxh64", "");  // by default what the index has is checked
  const dataset data({.shards = 3, .zipped = zipped});
  for (std::uint64_t first = 0; first < 3; ++first) {
    setting fixture(data, 3, hash);
    fixture.remote.script(first, what);
    fixture.open();
    for (std::uint32_t i = 0; i < 3; ++i)
      CHECK(data.is_right(i, fixture.shards->acquire(i).bytes()));
    CHECK(fixture.remote.reads() == 4);
    const mds::cache_counters counted = fixture.shards->counters();
    CHECK(counted.attempts_failed + counted.requests_repeated == 1);
  }
}

TEST_CASE("the same of a store that hands bytes out as they come", "[cache]") {
  const fault what = GENERATE(fault::none, fault::error, fault::throw_other, fault::short_read,
                              fault::wrong_byte, fault::longer, fault::broken_off);
  const dataset data({.shards = 1});
  setting fixture(data);
  fixture.remote.script(0, what);
  auto stream =
      stream_of(data, fixture.root.path(), fault_store::streaming(fixture.threads, fixture.remote));
  stream.download_retry = 3;
  stream.validate_hash = "xxh64";
  cache shards(fixture.threads, options_of(fixture.root.path()), {stream});
  CHECK(data.is_right(0, shards.acquire(0).bytes()));
  CHECK(fixture.remote.reads() == (what == fault::none ? 1 : 2));
  CHECK(files_in(fixture.root.path()) == std::vector{dataset::name(0, false)});
}

TEST_CASE("a shard of 32 MiB comes in ranges of 8 MiB, a smaller one by one request", "[cache]") {
  constexpr std::size_t mib = std::size_t{1} << 20;
  const std::size_t bytes = GENERATE(32 * mib - 8, 32 * mib, 33 * mib);
  const dataset data({.shards = 1, .bytes = bytes});
  const scratch root;
  mds::runtime threads(2);
  const mds::store::memory objects;
  data.put(objects);
  const mds::metered remote(mds::blocking<mds::store::memory>(threads, objects));
  cache shards(threads, options_of(root.path()), {stream_of(data, root.path(), remote)});
  CHECK(data.is_right(0, shards.acquire(0).bytes()));
  const std::size_t ranges = (bytes + 8 * mib - 1) / (8 * mib);
  CHECK(remote.metrics().calls == (bytes < 32 * mib ? 1 : 1 + ranges));  // its version comes first
}

TEST_CASE("a store that sends more of a shard than it was asked for is refused", "[cache]") {
  const bool zipped = GENERATE(false, true);
  const dataset data({.shards = 1, .zipped = zipped});
  setting fixture(data);
  auto stream =
      stream_of(data, fixture.root.path(), fault_store::generous(fixture.threads, fixture.remote));
  stream.download_retry = 3;
  cache shards(fixture.threads, options_of(fixture.root.path()), {stream});
  expect_error([&] { (void)shards.acquire(0); }, errc::corrupt,
               {dataset::name(0, zipped), "more bytes than were asked for"});
  CHECK(fixture.remote.reads() == 3);
  CHECK(files_in(fixture.root.path()).empty());
}

/// One shard of 25 ranges of 4 KiB, fetched by itself from a store that hands bytes out as they
/// come.
struct streamed_setting {
  static constexpr std::uint64_t ranges = 25;

  explicit streamed_setting(unsigned pool, bool ranged = true) : threads(pool, 2) {
    data.put(remote);
    rules.ranged_from = ranged ? 4096 : ~std::uint64_t{0};
    fs::create_directories(root / "tmp");
  }

  /// The failure, if there is one; else what came is right.
  std::error_code run() {
    std::promise<std::error_code> end;
    mds::detail::shard_fetch::start(
        threads,
        {.remote = &from,
         .rules = &rules,
         .codecs = mds::detail::codec_set::of<codecs>(),
         .hashes = mds::detail::hash_set::of<hashes>(),
         .files = files,
         .maker = maker,
         .directory = root.path(),
         .temporary_name = [this] { return root / "tmp/" + std::to_string(made++); },
         .on_failed_attempt = [this] { ++failed; }},
        stop.get_token(), where,
        [&](std::error_code code, std::optional<mds::detail::fetched_shard> got) {
          if (!code) is_right = std::ranges::equal(got->raw.view(), expected);
          got.reset();
          end.set_value(code);
        });
    const std::error_code code = end.get_future().get();
    INFO(where.what);
    CHECK((code || is_right));
    CHECK(fs::is_empty(root / "tmp"));
    return code;
  }

  const dataset data{{.shards = 1, .bytes = ranges * 4096 - 100}};
  std::vector<std::byte> expected = data.raw(0);
  mds::detail::shard_file files{
      .raw_name = dataset::name(0, false),
      .raw_bytes = expected.size(),
      .raw_digest = {"xxh64", mds::hash_of<mds::hash::xxh64>("xxh64", expected)}};
  scratch root;
  mds::detail::fetch_rules rules{.validate_hash = "xxh64",
                                 .retry = {.attempts = 3, .pause = 20us},
                                 .range_bytes = 4096,
                                 .requests = {.attempts = 2, .pause = 20us}};
  const mds::detail::shard_maker* maker = nullptr;
  faulty remote;
  std::atomic<int> made{0}, failed{0};
  bool is_right = false;
  mds::diagnostics where;
  std::stop_source stop;
  mds::runtime threads;
  const mds::any_async_store from{fault_store::streaming(threads, remote)};
};

TEST_CASE("a range that fails is read again, a shard that is wrong is fetched again", "[cache]") {
  const unsigned pool = GENERATE(1U, 4U);
  const std::uint64_t at = GENERATE(0U, 9U, 24U);
  const fault what = GENERATE(fault::none, fault::error, fault::throw_other, fault::short_read,
                              fault::broken_off, fault::wrong_byte);
  streamed_setting fixture(pool);
  fixture.remote.script(at, what);
  CHECK_FALSE(fixture.run());
  const std::uint64_t again = what == fault::none         ? 0
                              : what == fault::wrong_byte ? streamed_setting::ranges
                                                          : 1;
  CHECK(fixture.remote.reads() == streamed_setting::ranges + again);
  CHECK(fixture.failed == (what == fault::wrong_byte ? 1 : 0));
}

TEST_CASE("ranges that fail more often than they may end an attempt, and attempts the fetch",
          "[cache]") {
  const unsigned pool = GENERATE(1U, 4U);
  streamed_setting fixture(pool);
  SECTION("the store is well again") {
    // Eight ranges are under way: of twelve failures two are of one range.
    for (std::uint64_t i = 0; i < 12; ++i) fixture.remote.script(i, fault::error);
    fixture.rules.retry.attempts = 12;
    CHECK_FALSE(fixture.run());
    CHECK(fixture.failed > 0);
  }
  SECTION("the store stays as it is") {
    for (std::uint64_t i = 0; i < 1000; ++i) fixture.remote.script(i, fault::error);
    CHECK(fixture.run() == errc::unavailable);
    CHECK(fixture.failed == 3);
    CHECK(fixture.where.what == "503 slow down");
  }
  SECTION("it refuses one range") {
    fixture.remote.script(13, fault::refuse);
    CHECK(fixture.run() == errc::permission_denied);
    CHECK(fixture.failed == 1);
  }
  SECTION("the object is longer") {
    fixture.remote.write(dataset::name(0, false), std::vector<std::byte>(200'000));
    CHECK(fixture.run() == errc::corrupt);
    CHECK(fixture.where.what.find("more bytes than") != std::string::npos);
    CHECK(fixture.remote.reads() == 0);
  }
}

TEST_CASE("a fetch that is cancelled between its ranges leaves nothing", "[cache]") {
  const unsigned pool = GENERATE(1U, 4U);
  const int at = GENERATE(1, 8, 25);
  streamed_setting fixture(pool);
  std::atomic<int> reads{0};
  fixture.remote.control().before = [&](std::string_view) {
    if (++reads == at) fixture.stop.request_stop();
  };
  const std::error_code code = fixture.run();
  // The last range may have come when the stop is seen.
  CHECK((code == errc::canceled || (at == 25 && !code)));
  CHECK(fixture.failed == 0);
}

TEST_CASE("an empty shard is a file like others", "[cache]") {
  const bool zipped = GENERATE(false, true);
  streamed_setting fixture(1);
  fixture.rules.validate_hash.clear();
  fixture.expected.clear();
  fixture.files = {.raw_name = "empty"};
  fixture.remote.write("empty", {});
  if (zipped) {
    const std::vector<std::byte> zip = mds::codec::zstd().compress({});
    fixture.remote.write("empty.zstd", zip);
    fixture.files.zip_name = "empty.zstd";
    fixture.files.zip_bytes = zip.size();
    fixture.files.compression = "zstd";
  }
  CHECK_FALSE(fixture.run());
  CHECK(fixture.failed == 0);
  CHECK(fixture.remote.reads() == 1);
}

/// Makes every open file of that directory the one at `path`.
void replace_open_files(const std::string& directory, const char* path, int flags) {
  const mds::detail::unique_fd by = mds::detail::open_file(path, flags);
  for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(each.path(), gone).native().starts_with(directory + '/'))
      REQUIRE(::dup2(by.get(), std::stoi(each.path().filename().native())) >= 0);
  }
}

TEST_CASE("a local file that cannot be written to is an error with its path", "[cache]") {
  const bool ranged = GENERATE(false, true);
  const bool full = GENERATE(false, true);
  streamed_setting fixture(1, ranged);
  bool done = false;
  fixture.remote.control().before = [&](std::string_view) {
    if (std::exchange(done, true)) return;
    const std::string made = fixture.root / "tmp";
    full ? replace_open_files(made, "/dev/full", O_WRONLY)
         : replace_open_files(made, "/dev/null", O_RDONLY);
  };
  const std::error_code code = fixture.run();
  CHECK(fixture.failed == 1);
  if (full) {  // which another attempt would meet again
    CHECK(code == errc::no_space);
    CHECK(fixture.made == 1);
    CHECK(fixture.where.url == (fixture.root / "tmp/0"));
    CHECK(fixture.where.what.find("cannot write") != std::string::npos);
  } else {
    CHECK_FALSE(code);
    CHECK(fixture.made == 2);
  }
}

/// Makes `shard` of nothing, and gives it in pieces of 10,000 bytes behind a header of 100.
struct piecewise : mds::detail::shard_maker {
  struct making : mds::detail::shard_making {
    explicit making(const piecewise& maker) : of(maker) {}
    std::vector<mds::detail::object_range> next() override { return {}; }
    void take(std::vector<mds::detail::part_of_pages>) override {}
    void check(const mds::detail::object_range&, const mds::object_version&) const override {}
    void finish(const mds::detail::shard_taker& take) override {
      const mds::bytes_view all(of.shard);
      int piece = 0;
      for (std::size_t at = 100; at < all.size(); at += 10'000) {
        of.before(piece++);
        take(at, all.subspan(at, std::min(std::size_t{10'000}, all.size() - at)));
      }
      of.before(piece++);
      take(0, all.first(100));
      of.before(piece++);
    }
    const piecewise& of;
  };

  explicit piecewise(std::vector<std::byte> bytes) : shard(std::move(bytes)) {}
  [[nodiscard]] std::unique_ptr<mds::detail::shard_making> begin(std::uint32_t) const override {
    return std::make_unique<making>(*this);
  }
  [[nodiscard]] std::uint64_t step() const override { return 0; }

  std::vector<std::byte> shard;
  std::function<void(int piece)> before = [](int) {};
};

/// A fetch of a shard that is made.
struct making_setting : streamed_setting {
  making_setting() : streamed_setting(1), pieces(expected) {
    maker = &pieces;
    const auto end = mds::detail::seal_of(expected.size(), mds::detail::crc32c(pieces.shard));
    expected.insert(expected.end(), end.begin(), end.end());
  }
  static constexpr int header = 11, seal = 12;  // after pieces 0 to 10
  piecewise pieces;
};

TEST_CASE("a shard that is made is written while it is made, whatever was thought of its size",
          "[cache]") {
  making_setting fixture;
  fixture.files.raw_bytes = GENERATE(0U, 1U, 50'000U, 102'300U, 102'316U, 1'000'000U);
  CHECK_FALSE(fixture.run());
  CHECK(fixture.failed == 0);
}

TEST_CASE("a shard that cannot be written in the middle of its making leaves nothing", "[cache]") {
  const int at = GENERATE(0, 5, making_setting::header, making_setting::seal);
  making_setting fixture;
  bool done = false;
  const std::string made = fixture.root / "tmp";
  const auto once_at = [&](const std::function<void()>& fail) {
    fixture.pieces.before = [&, fail](int piece) {
      if (piece == at && !std::exchange(done, true)) fail();
    };
  };
  SECTION("the disk is full, which another attempt would meet again") {
    once_at([&] { replace_open_files(made, "/dev/full", O_WRONLY); });
    CHECK(fixture.run() == errc::no_space);
    CHECK(fixture.made == 1);
    CHECK(fixture.where.url == fixture.root / "tmp/0");
    CHECK(fixture.where.what.find("cannot write") != std::string::npos);
  }
  SECTION("the file can no longer be written: it is made anew") {
    once_at([&] { replace_open_files(made, "/dev/null", O_RDONLY); });
    CHECK_FALSE(fixture.run());
    CHECK(fixture.made == 2);
  }
  SECTION("what the shard is made of is refused") {
    once_at([] {
      throw mds::error(errc::corrupt, mds::diagnostics{.what = "row 7", .is_final = true});
    });
    CHECK(fixture.run() == errc::corrupt);
    CHECK(fixture.made == 1);
    CHECK(fixture.where.what == "row 7");
  }
  CHECK(fixture.failed == 1);
  CHECK(done);
}

/// Whether what lies at `at` is mapped from a temporary file.
bool is_of_temporary_file(const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0, end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> first >> dash >> end;
    if (first <= address && address < end) return line.find("/.mdstream/tmp/") != std::string::npos;
  }
  return false;
}

TEST_CASE("a shard that its codec gives in several blocks is whole", "[cache]") {
  const dataset data({.shards = 1, .bytes = 1'000'000, .zipped = true});
  setting fixture(data);  // whose hashes are those of the compressed bytes
  fixture.open();
  CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
}

/// zstd as a codec without blocks, which looks where it is to decompress to.
struct whole_zstd {
  static inline std::atomic<int> into_files = 0;

  static bool serves(std::string_view name) { return mds::codec::zstd::serves(name); }
  static whole_zstd open(std::string_view text) { return {mds::codec::zstd::open(text)}; }
  [[nodiscard]] std::string_view extension() const { return zstd.extension(); }
  [[nodiscard]] std::vector<std::byte> compress(mds::bytes_view raw) const {
    return zstd.compress(raw);
  }
  [[nodiscard]] std::error_code decompress(mds::bytes_view zip, mds::mutable_bytes raw,
                                           mds::diagnostics& where) const {
    into_files += is_of_temporary_file(raw.data()) ? 1 : 0;
    return zstd.decompress(zip, raw, where);
  }

  mds::codec::zstd zstd;
};
static_assert(!mds::block_codec<whole_zstd>);

TEST_CASE("a codec without blocks decompresses into the file's own memory", "[cache]") {
  const bool damaged = GENERATE(false, true);
  const bool hashed = GENERATE(false, true);
  const dataset data({.shards = 3, .zipped = true});
  setting fixture(data, 3, hashed ? "xxh64" : "");
  if (damaged) fixture.remote.script(1, fault::short_read);
  mds::detail::shard_cache shards(
      fixture.threads, options_of(fixture.root.path()), {fixture.stream},
      mds::detail::codec_set::of<mds::any_codec<mds::codec::none, whole_zstd>>(),
      mds::detail::hash_set::of<hashes>());
  const int before = whole_zstd::into_files;
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(data.is_right(i, shards.acquire(i).bytes()));
  CHECK(whole_zstd::into_files == before + 3);
  CHECK(fixture.remote.reads() == (damaged ? 4 : 3));
  CHECK(fs::is_empty(fixture.root / ".mdstream/tmp"));
}

TEST_CASE("attempts are bounded, and nothing of a failed shard is left", "[cache]") {
  const bool zipped = GENERATE(false, true);
  const dataset data({.shards = 2, .zipped = zipped});
  setting fixture(data, 3);
  for (std::uint64_t i = 0; i < 3; ++i) fixture.remote.script(i, fault::wrong_byte);
  fixture.open();
  expect_error([&] { (void)fixture.shards->acquire(1); }, errc::corrupt,
               {"xxh64", "the index says", "\"test\"", "shard 1", "shard.00001.mds"});
  CHECK(fixture.remote.reads() == 3);
  CHECK(files_in(fixture.root.path()).empty());
  CHECK(fs::is_empty(fixture.root / ".mdstream/tmp"));
  CHECK(*fixture.shards->usage() == bytes_in(fixture.root.path()));
  CHECK(data.is_right(1, fixture.shards->acquire(1).bytes()));  // the store is well again
}

TEST_CASE("without a hash to check, compressed shards are still checked by their codec",
          "[cache]") {
  const dataset data({.shards = 1, .zipped = true, .hashed = false});
  setting fixture(data, 1, "");
  fixture.remote.script(0, fault::short_read);
  fixture.open();
  expect_error([&] { (void)fixture.shards->acquire(0); }, errc::corrupt, {"the index says"});
  CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
}

TEST_CASE("without a hash, a compressed shard that is damaged or of another size is seen",
          "[cache]") {
  const dataset data({.shards = 1, .zipped = true, .hashed = false});
  const std::string name = dataset::name(0, true);
  const std::vector<std::byte> right = data.zip(0);
  // As long as the index says, by a frame that decompressors skip.
  const auto of_right_size = [&](const std::vector<std::byte>& content) {
    std::vector<std::byte> zip = mds::codec::zstd::open("zstd:1").compress(content);
    REQUIRE(zip.size() + 8 <= right.size());
    const auto left = static_cast<std::uint32_t>(right.size() - zip.size() - 8);
    for (const std::uint32_t word : {std::uint32_t{0x184D2A50}, left})
      for (int i = 0; i < 4; ++i) zip.push_back(static_cast<std::byte>(word >> (8 * i)));
    zip.resize(right.size());
    return zip;
  };
  const std::vector<std::byte> raw = data.raw(0);
  std::vector<std::byte> no_frame = right, half = right;
  no_frame[0] ^= std::byte{1};
  std::fill(half.begin() + static_cast<std::ptrdiff_t>(half.size() / 2), half.end(), std::byte{});
  const std::vector<std::vector<std::byte>> wrong{
      no_frame, of_right_size({raw.begin(), raw.end() - 16}),        // shorter
      of_right_size(std::vector<std::byte>(raw.size() + 16)),        // longer
      of_right_size(std::vector<std::byte>(std::size_t{64} << 20)),  // far longer
      of_right_size({})};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    INFO(i);
    setting fixture(data, 3, "");
    fixture.remote.write(name, wrong[i]);
    fixture.open();
    const std::uint64_t before = fixture.remote.reads();
    expect_error([&] { (void)fixture.shards->acquire(0); }, errc::corrupt, {"shard 0", name});
    CHECK(fixture.remote.reads() == before + 3);
    CHECK(files_in(fixture.root.path()).empty());
    fixture.remote.write(name, right);
    CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
  }
}

TEST_CASE("what another attempt would meet again is not tried again", "[cache]") {
  const dataset data({.shards = 2});
  setting fixture(data, 5);
  fixture.remote.script(0, fault::refuse);
  fixture.remote.remove(dataset::name(1, false));
  fixture.open();
  expect_error([&] { (void)fixture.shards->acquire(0); }, errc::permission_denied, {"403"});
  expect_error([&] { (void)fixture.shards->acquire(1); }, errc::not_found, {"shard.00001.mds"});
  CHECK(fixture.remote.reads() == 2);
}

TEST_CASE("a hash that the index does not record is an error", "[cache]") {
  const dataset data({.shards = 1, .hashed = false});
  setting fixture(data);
  fixture.open();
  expect_error([&] { (void)fixture.shards->acquire(0); }, errc::invalid_argument,
               {"records no xxh64", "shard 0"});
  CHECK(fixture.remote.reads() == 0);
  fixture.stream.validate_hash = "sha1";
  expect_error([&] { fixture.open(); }, errc::unsupported, {"sha1"});
}

TEST_CASE("with no hash in the index, or none wanted, sizes are checked alone", "[cache]") {
  const bool hashed = GENERATE(false, true);
  const dataset data({.shards = 1, .hashed = hashed});
  setting fixture(data, 1, hashed ? std::string(mds::detail::no_hash) : "");
  fixture.remote.script(0, fault::wrong_byte);
  fixture.open();
  CHECK_FALSE(data.is_right(0, fixture.shards->acquire(0).bytes()));
}

TEST_CASE("a shard that was replaced on the remote is said to differ", "[cache]") {
  const dataset data({.shards = 1});
  setting fixture(data, 2, "");
  fixture.open();
  fixture.remote.write(dataset::name(0, false), mds::as_bytes(std::string(5000, 'x')));
  expect_error([&] { (void)fixture.shards->acquire(0); }, errc::corrupt,
               {"more bytes than the 4096"});
  fixture.remote.write(dataset::name(0, false), mds::as_bytes(std::string(17, 'x')));
  expect_error([&] { (void)fixture.shards->acquire(0); }, errc::corrupt,
               {"17 bytes, the index says 4096"});
}

/// Every range fails twice, and none comes before all have: `expected` failures.
struct failing_twice : store_test::forwarding<mds::blocking<mds::store::memory>> {
  mds::runtime* threads;
  int expected;
  struct seen {
    std::mutex mutex{};
    std::map<std::pair<std::string, std::uint64_t>, int> reads{};
    int failed = 0;
  };
  std::shared_ptr<seen> state = std::make_shared<seen>();

  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    bool all = false;
    {
      const std::lock_guard lock(state->mutex);
      int& reads = state->reads[{key, offset}];
      if (reads < 2) {
        ++reads;
        ++state->failed;
        return threads->post([done = std::move(done)]() mutable { done(errc::unavailable, 0); });
      }
      all = state->failed == expected;
    }
    if (all) {
      return inner.async_read(std::move(key), offset, into, std::move(stop), where,
                              std::move(done));
    }
    threads->after(1ms, stop,
                   [self = *this, key = std::move(key), offset, into, stop, &where,
                    done = std::move(done)](std::error_code canceled) mutable {
                     if (canceled) return done(canceled, 0);
                     self.async_read(std::move(key), offset, into, std::move(stop), where,
                                     std::move(done));
                   });
  }
};

TEST_CASE("the budget is enough for all ranges under way to fail twice", "[cache]") {
  constexpr std::size_t objects = 8, ranges = 8;
  mds::runtime threads(2);
  const mds::store::memory memory;
  const std::vector<std::byte> bytes(ranges * 100, std::byte{7});
  const failing_twice store{{{threads, memory}}, &threads, static_cast<int>(objects * ranges * 2)};
  const mds::detail::fetch_rules rules;
  std::vector<std::vector<std::byte>> into(objects, std::vector<std::byte>(bytes.size()));
  std::vector<mds::diagnostics> where(objects);
  std::vector<std::promise<std::error_code>> ends(objects);
  for (std::size_t i = 0; i < objects; ++i) {
    memory.write(std::to_string(i), bytes);
    mds::detail::async_read_ranges(
        threads, store, std::to_string(i), {.bytes = bytes.size()}, into[i],
        {.range_bytes = 100, .retry = {.attempts = 4, .pause = 10us}, .budget = rules.budget}, {},
        where[i], [&ends, i](std::error_code code) { ends[i].set_value(code); });
  }
  for (std::size_t i = 0; i < objects; ++i) {
    const std::error_code code = ends[i].get_future().get();
    INFO(where[i].what);
    CHECK_FALSE(code);
    CHECK(into[i] == bytes);
  }
}

TEST_CASE("a store that is out of order for a while is waited for, whatever download_retry says",
          "[cache]") {
  const bool zipped = GENERATE(false, true);
  const dataset data({.shards = 1, .zipped = zipped});
  setting fixture(data, 1);
  // Pauses may triple each time: together they stay far below the minute after which it warns
  // again.
  for (std::uint64_t i = 0; i < 8; ++i) fixture.remote.script(i, fault::error);
  std::mutex mutex;
  std::vector<std::string> warnings;
  auto options = options_of(fixture.root.path());
  options.retry_pause = 20us;
  options.warn = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    warnings.push_back(text);
  };
  fixture.stream.patience = 1h;
  fixture.shards.emplace(fixture.threads, options, std::vector{fixture.stream});
  const auto began = std::chrono::steady_clock::now();
  CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
  CHECK(fixture.remote.reads() == 9);
  CHECK(fixture.shards->counters().requests_repeated == 8);
  CHECK(fixture.shards->counters().attempts_failed == 0);
  // At once, and not eight times: once more in each minute that this takes.
  const auto minutes =
      std::chrono::duration_cast<std::chrono::minutes>(std::chrono::steady_clock::now() - began);
  REQUIRE_FALSE(warnings.empty());
  CHECK(warnings.size() <= 1 + static_cast<std::size_t>(minutes.count()));
  CHECK(warnings[0].find("503 slow down (stream \"test\"") != std::string::npos);
  CHECK(warnings[0].find("up to 3600 s") != std::string::npos);
}

TEST_CASE("a store that stays out of order is an error when the patience is spent, and once",
          "[cache]") {
  const bool streams = GENERATE(false, true);
  const dataset data({.shards = 1});
  setting fixture(data, 5);
  for (std::uint64_t i = 0; i < 100'000; ++i) fixture.remote.script(i, fault::error);
  auto options = options_of(fixture.root.path());
  options.retry_pause = 1ms;
  mds::cache_stream stream = fixture.stream;
  if (streams) stream.remote = fault_store::streaming(fixture.threads, fixture.remote);
  stream.patience = 30ms;
  stream.download_retry = 5;
  cache shards(fixture.threads, options, {stream});
  expect_error([&] { (void)shards.acquire(0); }, errc::unavailable,
               {"503 slow down", "times within"});
  CHECK(shards.counters().attempts_failed == 1);
  CHECK(shards.counters().requests_repeated > 0);
}

TEST_CASE("without patience a transient error is an attempt", "[cache]") {
  const dataset data({.shards = 1});
  setting fixture(data, 3);
  fixture.stream.patience = 0s;
  for (std::uint64_t i = 0; i < 3; ++i) fixture.remote.script(i, fault::error);
  fixture.open();
  expect_error([&] { (void)fixture.shards->acquire(0); }, errc::unavailable, {"503 slow down"});
  CHECK(fixture.remote.reads() == 3);
}

TEST_CASE("a request can be cancelled while its store is waited for", "[cache]") {
  const dataset data({.shards = 1});
  setting fixture(data);
  for (std::uint64_t i = 0; i < 100; ++i) fixture.remote.script(i, fault::error);
  auto options = options_of(fixture.root.path());
  options.retry_pause = 1h;
  std::stop_source stop;
  options.warn = [&](const std::string&) { stop.request_stop(); };
  fixture.shards.emplace(fixture.threads, options, std::vector{fixture.stream});
  mds::diagnostics where;
  std::promise<std::error_code> end;
  fixture.shards->async_acquire(
      0, stop.get_token(), where,
      [&](std::error_code code, mds::detail::shard_ref) { end.set_value(code); });
  CHECK(end.get_future().get() == errc::canceled);
}

/// Hands out a few bytes of an object at a time, with pauses; the first `hanging` streams stop in
/// the middle and hang until they are stopped.
struct slow_line : store_test::forwarding<mds::blocking<mds::store::memory>> {
  mds::runtime* threads;
  mds::store::memory from;
  std::chrono::milliseconds pause;
  struct seen {
    std::atomic<int> hanging{0}, streams{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  std::shared_ptr<seen> state = std::make_shared<seen>();

  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    inner.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  void async_stream(std::string key, const std::optional<mds::object_version>&,
                    std::uint64_t offset, std::uint64_t count, mds::byte_taker take,
                    std::stop_token stop, mds::diagnostics&,
                    mds::store_handler<mds::object_version> done) const {
    ++state->streams;
    std::vector<std::byte> all(static_cast<std::size_t>(count));
    all.resize(from.read(key, offset, all));
    go_on(state->hanging-- > 0, std::move(all), 0, std::move(take), std::move(stop),
          std::move(done));
  }

  void go_on(bool hangs, std::vector<std::byte> all, std::size_t at, mds::byte_taker take,
             std::stop_token stop, mds::store_handler<mds::object_version> done) const {
    if (at == all.size()) return done({}, {});
    const bool stays = hangs && at >= all.size() / 2;
    threads->after(stays ? std::chrono::nanoseconds(1h) : pause, stop,
                   [self = *this, hangs, all = std::move(all), at, take = std::move(take), stop,
                    done = std::move(done)](std::error_code canceled) mutable {
                     if (canceled) return done(canceled, {});
                     const std::size_t n = std::min<std::size_t>(400, all.size() - at);
                     take({}, mds::bytes_view(all).subspan(at, n));
                     self.state->bytes += n;
                     self.go_on(hangs, std::move(all), at + n, std::move(take), std::move(stop),
                                std::move(done));
                   });
  }
};

TEST_CASE("a slow download goes on as long as bytes come, and one that hangs goes on behind them",
          "[cache]") {
  const int hanging = GENERATE(0, 1);
  const dataset data({.shards = 1, .bytes = 16'000});
  mds::runtime threads(2);
  const scratch root;
  const mds::store::memory memory;
  data.put(memory);
  const slow_line line{{{threads, memory}}, &threads, memory, 150ms};
  line.state->hanging = hanging;
  auto stream = stream_of(data, root.path(), line);
  stream.validate_hash = "xxh64";
  stream.download_retry = 1;
  stream.download_timeout = 3s;  // half of what it takes
  cache shards(threads, options_of(root.path()), {stream});
  CHECK(data.is_right(0, shards.acquire(0).bytes()));
  CHECK(line.state->bytes == data.size_of(0));  // none came twice
  CHECK(line.state->streams == 1 + hanging);
}

TEST_CASE("which files are kept", "[cache]") {
  const bool keep = GENERATE(false, true);
  const dataset data({.shards = 1, .zipped = true});
  const std::string raw = dataset::name(0, false), zip = dataset::name(0, true);
  setting fixture(data, 2, "xxh64", keep);
  const std::vector<std::string> kept =
      keep ? std::vector<std::string>{raw, zip} : std::vector<std::string>{raw};

  SECTION("nothing was there") {
    fixture.open();
    (void)fixture.shards->acquire(0);
    CHECK(files_in(fixture.root.path()) == kept);
    CHECK(fixture.remote.reads() == 1);
  }
  SECTION("the compressed file was there") {
    write_file(fixture.root / zip, data.zip(0));
    fixture.open();
    CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
    CHECK(files_in(fixture.root.path()) == kept);
    CHECK(fixture.remote.reads() == 0);
  }
  SECTION("a damaged compressed file was there") {
    std::vector<std::byte> bytes = data.zip(0);
    bytes[bytes.size() / 2] ^= std::byte{1};
    write_file(fixture.root / zip, bytes);
    fixture.open();
    CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
    CHECK(files_in(fixture.root.path()) == kept);
    CHECK(fixture.remote.reads() == 1);
  }
  SECTION("a compressed file that is too short was there") {
    write_file(fixture.root / zip, mds::as_bytes("short"));
    fixture.open();
    CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
    CHECK(fixture.remote.reads() == 1);
  }
  SECTION("both were there") {
    write_file(fixture.root / zip, data.zip(0));
    write_file(fixture.root / raw, data.raw(0));
    fixture.open();
    CHECK(files_in(fixture.root.path()) == kept);
    CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
  }
  SECTION("a raw file that is too short was there") {
    write_file(fixture.root / raw, mds::as_bytes("short"));
    fixture.open();
    CHECK(data.is_right(0, fixture.shards->acquire(0).bytes()));
  }
  CHECK(*fixture.shards->usage() == bytes_in(fixture.root.path()));
}

TEST_CASE("without a remote nothing is deleted, whatever is wrong with it", "[cache]") {
  const dataset data({.shards = 3, .zipped = true});
  const scratch root;
  mds::runtime threads(1);
  const auto name = [&](std::uint32_t i, bool zipped) { return root / dataset::name(i, zipped); };
  auto stream = stream_of(data, root.path(), std::nullopt);
  stream.validate_hash = "xxh64";
  write_file(name(0, true), data.zip(0));
  std::vector<std::byte> damaged = data.zip(1);
  damaged.back() ^= std::byte{1};
  write_file(name(1, true), damaged);
  write_file(name(2, false), mds::as_bytes("short"));
  {
    cache shards(threads, options_of(root.path(), 1), {stream});  // no limit applies
    CHECK(data.is_right(0, shards.acquire(0).bytes()));
    expect_error([&] { (void)shards.acquire(1); }, errc::corrupt, {"xxh64", "shard 1"});
    expect_error([&] { (void)shards.acquire(2); }, errc::corrupt, {"5 bytes, the index says"});
    CHECK_FALSE(shards.usage().has_value());
  }
  CHECK(read_file(name(0, true)) == data.zip(0));
  CHECK(read_file(name(1, true)) == damaged);
  CHECK(fs::file_size(name(2, false)) == 5);
  CHECK_FALSE(fs::exists(root / ".mdstream"));

  fs::remove(name(0, true));
  fs::remove(name(0, false));
  cache shards(threads, options_of(root.path()), {stream});
  expect_error([&] { (void)shards.acquire(0); }, errc::not_found, {"no remote", "shard 0"});
}

}  // namespace shard_fetch_test
