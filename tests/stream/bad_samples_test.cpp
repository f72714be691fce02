#include <mdstream/collate/dense.hpp>
#include <mdstream/collate/none.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/writer/row_writer.hpp>

#include <algorithm>
#include <asio/use_future.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

// Samples that no batch can be made of: an error that names them, or others in their place.

namespace mds = mdstream;
using namespace mds::literals;

namespace bad_samples_test {

using scratch_directory::scratch;
using ids_list = std::vector<std::int64_t>;
using bad_ids = std::set<std::int64_t>;
using numbers = mds::schema<mds::column<"id", mds::int_>>;

/// A decoder that cannot read some samples, after it drew random numbers.
struct decode {
  using output = mds::schema<mds::column<"id", mds::int_>, mds::column<"noise", std::uint64_t>>;
  bad_ids bad;
  void operator()(const mds::sample_view<numbers>& in, mds::sample_writer<output>& out,
                  mds::sample_generator& random) const {
    const std::uint64_t noise = random();
    const auto id = in.get<"id">();
    if (bad.contains(id)) throw std::runtime_error("not a picture: " + std::to_string(id));
    out.write(id, noise);
  }
};

struct counting_decode : decode {
  std::atomic<std::uint64_t>* tried = nullptr;
  void operator()(const mds::sample_view<numbers>& in, mds::sample_writer<output>& out,
                  mds::sample_generator& random) const {
    ++*tried;
    decode::operator()(in, out, random);
  }
};

using policies = mds::policies<numbers, mds::collate::dense, decode>;
using loader = mds::loader<policies>;

struct seen {
  std::int64_t id = 0;
  std::uint64_t noise = 0;
  friend bool operator==(const seen&, const seen&) = default;
};

/// 12 shards of 10 samples.
struct pictures {
  scratch dir;
  pictures() { support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(12, 10)); }
  [[nodiscard]] mds::loader_options options(mds::world world = {}) const {
    return {.remote = dir / "data",
            .local = dir / "cache",
            .global_batch_size = 16,
            .num_canonical_nodes = 2,
            .world = world,
            .on_bad_sample = mds::bad_samples::substitute,
            .warn = [](const std::string&) {}};
  }
};

/// What the samples of an epoch's batches are, from batch `first` on.
std::vector<std::vector<seen>> rest_of(loader& from) {
  std::vector<std::vector<seen>> out;
  for (const auto& batch : from.epoch()) {
    auto& all = out.emplace_back();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      CHECK(batch.get<"id">().values()[i] == batch.ids()[i]);
      all.push_back({batch.ids()[i], batch.get<"noise">().values()[i]});
    }
  }
  return out;
}

/// What is read for a sample of a shard of ten.
std::int64_t instead_of(std::int64_t id, const bad_ids& bad) {
  while (bad.contains(id)) id = id - id % 10 + (id + 1) % 10;
  return id;
}

using texts =
    mds::policies<mds::schema<mds::column<"id", mds::int_>, mds::column<"text", mds::str>>>;

/// 4 shards of 10 texts, read in order without a transform.
struct four_shards {
  scratch dir;
  four_shards() {
    mds::writer<texts> out({.out = dir / "data"});
    for (std::int64_t i = 0; i < 40; ++i) {
      out.write(i, "good");
      if (i % 10 == 9) out.end_shard();
    }
    out.finish();
  }
  [[nodiscard]] std::string bytes_of(const std::string& file) const {
    std::ifstream in(dir / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Whether the cache has these shards as the remote has them: they were fetched once more.
  [[nodiscard]] bool are_whole(std::initializer_list<const char*> shards) const {
    return std::ranges::all_of(shards, [&](const std::string shard) {
      return bytes_of("cache/" + shard) == bytes_of("data/" + shard);
    });
  }
  /// Makes a sample of a shard's file say that its text is longer than the sample.
  void damage(const std::string& file, std::size_t sample) const {
    const std::string bytes = bytes_of(file);
    std::size_t at = bytes.find("good");
    for (; sample != 0; --sample) at = bytes.find("good", at + 1);
    std::fstream shard(dir / file, std::ios::in | std::ios::out | std::ios::binary);
    shard.seekp(static_cast<std::streamoff>(at - 12));
    shard.put('\x7f');
  }
  [[nodiscard]] mds::loader_options options(std::uint64_t batch_size) const {
    return {.remote = dir / "data",
            .local = dir / "cache",
            .batch_size = batch_size,
            .shuffle = false,
            .world = mds::world{},
            .on_bad_sample = mds::bad_samples::substitute,
            .validate_hash = "none",
            .warn = [](const std::string&) {}};
  }
  /// Reads all, of which these are bad.
  void read(std::uint64_t batch_size, const bad_ids& bad,
            mds::bad_shards shards = mds::bad_shards::error, mds::byte_size limit = {}) const {
    auto given = options(batch_size);
    given.on_bad_shard = shards;
    given.cache_limit = limit;
    mds::loader<texts> one(given);
    std::int64_t id = 0;
    for (const auto& batch : one.epoch())
      for (std::size_t i = 0; i < batch.size(); ++i, ++id) {
        CHECK(batch.ids()[i] == instead_of(id, bad));
        CHECK(batch.get<"id">().values()[i] == batch.ids()[i]);
        CHECK(batch.get<"text">()[i] == "good");
      }
    CHECK(id == 40);
    CHECK(one.bad_samples().first == ids_list(bad.begin(), bad.end()));
    CHECK(mds::parse_state(one.state()).substituted.empty());
  }
};

/// A directory whose shards cannot be read while `closed`, and which counts how often the first is
/// fetched.
struct gated {
  mds::store::local directory;
  std::shared_ptr<std::atomic<bool>> closed = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::atomic<int>> waiting = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> fetched = std::make_shared<std::atomic<int>>(0);

  std::uint64_t size(std::string_view key) const { return directory.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mds::mutable_bytes into) const {
    if (key.starts_with("shard.")) {
      if (*closed) ++*waiting;
      if (key == "shard.00000.mds" && at == 0) ++*fetched;
      closed->wait(true);
    }
    return directory.read(key, at, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const { directory.write(key, bytes); }
  std::vector<mds::object_info> list(std::string_view prefix) const {
    return directory.list(prefix);
  }
  void remove(std::string_view key) const { directory.remove(key); }
  std::string url(std::string_view key) const { return directory.url(key); }
};

mds::loader_options options_from(const four_shards& data, const gated& store, mds::byte_size limit,
                                 std::uint64_t batch_size) {
  auto given = data.options(batch_size);
  given.local.clear();
  given.remote.clear();
  given.streams = {{.local = data.dir / "cache", .store = store}};
  given.cache_limit = limit;
  return given;
}

/// The ids of an epoch from here on.
ids_list ids_from(auto& epoch, auto at) {
  ids_list ids;
  for (; at != epoch.end(); ++at) std::ranges::copy((*at).ids(), std::back_inserter(ids));
  return ids;
}

const ids_list all_ids = [] {
  ids_list ids(40);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}();

const bad_ids some{3, 40, 41, 42, 49, 77, 110, 111, 112, 113, 114, 115, 116, 117, 118};

}  // namespace bad_samples_test

TEST_CASE("the next good sample of its shard is read in place of a bad one, on any world") {
  using namespace bad_samples_test;
  const pictures data;
  loader good(data.options(), decode{{}});
  auto expected = rest_of(good);
  CHECK(good.bad_samples().count == 0);
  CHECK(good.state().find("bad_samples") == std::string::npos);
  for (auto& batch : expected)
    for (seen& each : batch) each.id = instead_of(each.id, some);

  auto given = data.options();
  std::mutex guard;
  std::vector<std::string> texts;
  given.warn = [&](const std::string& text) {
    const std::lock_guard lock(guard);
    texts.push_back(text);
  };
  const auto warnings = [&] {
    const std::lock_guard lock(guard);
    return texts;
  };
  given.threads = 3;
  loader one(given, decode{some});
  CHECK(rest_of(one) == expected);
  CHECK(one.bad_samples().count == some.size());
  const auto first = one.bad_samples().first;
  CHECK(bad_ids(first.begin(), first.end()) == some);
  // Once an epoch; the next one may be prepared already.
  const auto of_first = warnings();
  REQUIRE(!of_first.empty());
  CHECK(of_first.size() <= 2);
  INFO(of_first.front());
  CHECK(of_first.front().find("not a picture") != std::string::npos);
  CHECK(of_first.front().find("shard") != std::string::npos);
  static_cast<void>(rest_of(one));
  CHECK(one.bad_samples().count == 2 * some.size());
  const std::size_t of_both = warnings().size();
  CHECK(of_both >= 2);
  CHECK(of_both <= 3);

  std::uint64_t met = 0;
  std::vector<std::vector<std::pair<std::int64_t, std::uint64_t>>> batches(expected.size());
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    loader part(data.options({.nodes = 2, .ranks_per_node = 2, .rank = rank}), decode{some});
    std::size_t at = 0;
    for (const auto& batch : rest_of(part)) {
      for (const seen& each : batch) batches[at].emplace_back(each.id, each.noise);
      ++at;
    }
    met += part.bad_samples().count;
  }
  CHECK(met == some.size());
  for (std::size_t i = 0; i + 1 < expected.size(); ++i) {  // the last one is not full
    std::vector<std::pair<std::int64_t, std::uint64_t>> of_one;
    for (const seen& each : expected[i]) of_one.emplace_back(each.id, each.noise);
    std::ranges::sort(of_one);
    std::ranges::sort(batches[i]);
    CHECK(batches[i] == of_one);
  }
}

TEST_CASE("each epoch warns once of its bad samples") {
  using namespace bad_samples_test;
  const pictures data;
  auto given = data.options();
  std::atomic<int> warnings = 0;
  given.warn = [&](const std::string&) { ++warnings; };
  loader one(given, decode{some});
  for (int epoch = 0; epoch < 3; ++epoch) static_cast<void>(rest_of(one));
  CHECK(warnings >= 3);
  CHECK(warnings <= 4);  // the one after the last may be prepared already
}

TEST_CASE("a state counts bad samples, and a resumed run reads the same") {
  using namespace bad_samples_test;
  const pictures data;
  loader whole(data.options(), decode{some});
  const auto expected = rest_of(whole);
  auto given = data.options();
  given.prefetch_limit = 1_MiB;  // what lies ready and was not handed out does not count
  std::string state;
  std::uint64_t before = 0;
  {
    loader first(given, decode{some});
    auto epoch = first.epoch();
    loader::batch_type batch;
    ids_list met;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i % 2 == 0)
        REQUIRE(epoch.next(batch));
      else
        batch = epoch.async_next(asio::use_future).get();
      REQUIRE(batch.size() == expected[i].size());
      for (std::size_t k = 0; k < batch.size(); ++k) CHECK(batch.ids()[k] == expected[i][k].id);
    }
    state = first.state();
    before = first.bad_samples().count;
  }
  const mds::run_state saved = mds::parse_state(state);
  CHECK(saved.bad_samples.count == before);
  CHECK(before > 0);
  CHECK(before < some.size());
  CHECK(saved.bad_samples.first.size() == before);
  loader second(given, decode{some});
  second.load_state(state);
  CHECK(second.bad_samples().count == before);
  const auto rest = rest_of(second);
  CHECK(std::ranges::equal(rest, std::vector(expected.begin() + 4, expected.end())));
  CHECK(second.bad_samples().count == some.size());
  CHECK(second.python_state().find("bad") == std::string::npos);

  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = state;
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string count = "\"count\": " + std::to_string(before);
  for (const auto& text : {changed(count, "\"count\": 0"), changed(count, "\"count\": -1"),
                           changed("\"first\": [", "\"first\": [\"x\", "),
                           changed("\"bad_samples\": {", "\"bad_samples\": {\"first\": 1}, {")})
    support::expect_error([&] { (void)mds::parse_state(text); }, mds::errc::corrupt);
  mds::run_state many = saved;
  many.bad_samples = {.count = ~std::uint64_t{0}, .first = ids_list(64, 1'000'000'000'000)};
  CHECK(mds::parse_state(mds::to_text(many)).bad_samples.count == ~std::uint64_t{0});
  CHECK(mds::parse_state(mds::to_text(many)).bad_samples.first == many.bad_samples.first);
  // What is read comes before what is told.
  for (std::uint32_t shard = 0; shard < 400; ++shard) many.substituted.push_back(10'000 + shard);
  const mds::run_state most = mds::parse_state(mds::to_text(many));
  CHECK(most.substituted == many.substituted);
  CHECK(most.bad_samples.count == ~std::uint64_t{0});
  CHECK(most.bad_samples.first.empty());
  for (std::uint32_t shard = 0; shard < 400; ++shard) many.substituted.push_back(20'000 + shard);
  support::expect_error([&] { (void)mds::to_text(many); }, mds::errc::unsupported);
}

TEST_CASE("what is not about a sample, or leaves none, fails its batch") {
  using namespace bad_samples_test;
  const pictures data;
  const auto fails = [&](const mds::loader_options& given, const bad_ids& bad, mds::errc code,
                         std::initializer_list<std::string_view> pieces) {
    loader one(given, decode{bad});
    support::expect_error([&] { (void)rest_of(one); }, code, pieces);
  };
  bad_ids shard;
  for (std::int64_t i = 50; i < 60; ++i) shard.insert(i);
  fails(data.options(), shard, mds::errc::corrupt, {"all samples", "shard 5", "/data"});
  {  // a transform that takes none does not go through a whole shard
    const scratch dir;
    support::write_plain_dataset(dir / "data", {5000});
    auto given = data.options();
    given.remote = dir / "data";
    given.local = dir / "cache";
    given.shuffle = false;
    given.threads = 1;
    std::atomic<std::uint64_t> tried{0};
    counting_decode transform{{}, &tried};
    for (std::int64_t i = 0; i < 100; ++i) transform.bad.insert(i);
    mds::loader<policies::with<counting_decode>> one(given, transform);
    support::expect_error([&] { (void)one.epoch().begin(); }, mds::errc::corrupt,
                          {"100 samples", "not a picture: 99", "sample 0", "shard 0", "/data"});
    CHECK(tried == 100);
    transform.bad.erase(99);
    mds::loader<policies::with<counting_decode>> less(given, transform);
    auto epoch = less.epoch();
    const auto ids = (*epoch.begin()).ids();
    CHECK(std::ranges::count(ids, 99) > 0);
    CHECK(std::ranges::none_of(ids, [](auto id) { return id < 99; }));
  }
  auto strict = data.options();
  strict.on_bad_sample = mds::bad_samples::error;
  fails(strict, {17}, mds::errc::transform_failed, {"sample 17", "not a picture: 17"});
  // Where the limit does not hold a batch's shards, others of their samples are not at hand.
  auto limited = data.options();
  limited.cache_limit = std::filesystem::file_size(data.dir / "data/index.json") + 400;
  fails(limited, {17}, mds::errc::cache_too_small, {"cache limit", "shard 1"});
  auto part = data.options();
  part.subset =
      mds::dataset<>({.remote = data.dir / "data", .local = data.dir / "cache"}).subset({1, 2, 3});
  support::expect_error([&] { loader one(part, decode{{}}); }, mds::errc::invalid_argument,
                        {"on_bad_sample", "subset"});

  struct failing : decode {
    int how = 0;
    void operator()(const mds::sample_view<numbers>& in, mds::sample_writer<output>& out,
                    mds::sample_generator& random) const {
      if (in.get<"id">() == 17 && how == 0) throw std::bad_alloc();
      if (in.get<"id">() == 17 && how == 1) throw mds::error(mds::errc::unavailable, "no network");
      if (in.get<"id">() == 17 && how == 2)
        throw std::system_error(EMFILE, std::system_category(), "no descriptor");
      if (in.get<"id">() == 17 && how == 3)
        throw std::filesystem::filesystem_error("no disk",
                                                std::make_error_code(std::errc::io_error));
      decode::operator()(in, out, random);
    }
  };
  using of_failing = policies::with<failing>;
  for (const int how : {0, 1, 2, 3}) {
    failing transform;
    transform.how = how;
    mds::loader<of_failing> one(data.options(), transform);
    support::expect_error(
        [&] {
          for (auto& batch : one.epoch()) static_cast<void>(batch);
        },
        how == 0   ? mds::errc::out_of_memory
        : how == 1 ? mds::errc::unavailable
                   : mds::errc::transform_failed,
        {"sample 17"});
    CHECK(one.bad_samples().count == 0);
  }
}

TEST_CASE("a sample that is bad for good leaves the other shards of its batch their second fetch") {
  using namespace bad_samples_test;
  const four_shards data;
  data.damage("data/shard.00001.mds", 3);
  const std::uint64_t batch_size = GENERATE(1, 10, 20, 40);
  data.read(batch_size, {13});
  data.damage("cache/shard.00000.mds", 2);
  data.damage("cache/shard.00003.mds", 7);
  data.read(batch_size, {13});
  CHECK(data.are_whole({"shard.00000.mds", "shard.00003.mds"}));
}

TEST_CASE("a shard that is bad in the cache alone is replaced neither whole nor in part") {
  using namespace bad_samples_test;
  const four_shards data;
  const std::uint64_t batch_size = GENERATE(1, 3, 40);
  const auto shards = GENERATE(mds::bad_shards::error, mds::bad_shards::substitute);
  data.read(batch_size, {}, shards);
  for (const char* file : {"cache/shard.00000.mds", "cache/shard.00002.mds"}) data.damage(file, 5);
  data.read(batch_size, {}, shards);
  CHECK(data.are_whole({"shard.00000.mds", "shard.00002.mds"}));
}

TEST_CASE("what others do with a shard that is bad in the cache alone does not matter") {
  using namespace bad_samples_test;
  const four_shards data;
  const mds::byte_size limit = GENERATE(mds::byte_size{}, 1_MiB);
  const auto shards = GENERATE(mds::bad_shards::error, mds::bad_shards::substitute);
  data.read(10, {}, shards, limit);
  data.damage("cache/shard.00000.mds", 5);
  const mds::dataset<> other({.remote = data.dir / "data",
                              .local = data.dir / "cache",
                              .cache_limit = limit,
                              .validate_hash = "none"});
  const mds::sample held = other[1];  // pins the shard, as another process may
  data.read(10, {}, shards, limit);
  CHECK(data.are_whole({"shard.00000.mds"}));
  CHECK(held.get<std::string_view>("text") == "good");
}

TEST_CASE("a shard that another process fetches once more is waited for") {
  using namespace bad_samples_test;
  const four_shards data;
  const gated store{mds::store::local(data.dir / "data")};
  const mds::byte_size limit = GENERATE(mds::byte_size{}, 1_MiB);
  data.read(10, {}, mds::bad_shards::error, limit);
  data.damage("cache/shard.00000.mds", 5);
  auto one_by_one = options_from(data, store, limit, 1);
  one_by_one.prefetch_limit = 0;
  mds::loader<texts> begun(one_by_one);
  auto epoch = begun.epoch();
  auto at = epoch.begin();
  CHECK((*at).ids()[0] == 0);  // it has mapped the shard

  *store.closed = true;
  auto first = std::async(std::launch::async, [&] {
    mds::loader<texts> other(options_from(data, store, limit, 10));
    auto all = other.epoch();
    return ids_from(all, all.begin());
  });
  while (*store.waiting == 0 &&
         first.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
    std::this_thread::yield();
  // This one comes to the bad sample while the other fetches the shard.
  auto second = std::async(std::launch::async, [&] { return ids_from(epoch, std::move(at)); });
  while (begun.waits_for().find("on their way") == std::string::npos &&
         second.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
    std::this_thread::yield();
  *store.closed = false;
  store.closed->notify_all();
  CHECK(first.get() == all_ids);
  CHECK(second.get() == all_ids);
  CHECK(data.are_whole({"shard.00000.mds"}));
}

TEST_CASE(
    "what a process has fetched in place of bad bytes is not fetched by those who have mapped "
    "them") {
  using namespace bad_samples_test;
  const four_shards data;
  const gated store{mds::store::local(data.dir / "data")};
  data.read(10, {}, mds::bad_shards::error, 1_MiB);
  data.damage("cache/shard.00000.mds", 5);
  auto given = options_from(data, store, 1_MiB, 1);
  given.prefetch_limit = 0;
  mds::loader<texts> first(given), second(given);
  auto of_first = first.epoch(), of_second = second.epoch();
  auto in_first = of_first.begin(), in_second = of_second.begin();  // both have mapped the shard
  CHECK(*store.fetched == 0);
  CHECK(ids_from(of_first, std::move(in_first)) == all_ids);
  CHECK(*store.fetched == 1);
  CHECK(ids_from(of_second, std::move(in_second)) == all_ids);
  CHECK(*store.fetched == 1);
  CHECK(data.are_whole({"shard.00000.mds"}));
}

TEST_CASE("a sample whose place in its shard is bad is a bad sample") {
  using namespace bad_samples_test;
  const four_shards data;
  {  // where sample 14 ends and sample 15 begins
    std::fstream shard(data.dir / "data/shard.00001.mds",
                       std::ios::in | std::ios::out | std::ios::binary);
    shard.seekp(4 + 4 * 5 + 3);
    shard.put('\x7f');
  }
  const std::uint64_t batch_size = GENERATE(1, 10, 40);
  data.read(batch_size, {14, 15});
  data.damage("cache/shard.00000.mds", 2);  // beside it: bad only here
  data.read(batch_size, {14, 15});
  CHECK(data.are_whole({"shard.00000.mds"}));
  auto strict = data.options(batch_size);
  strict.on_bad_sample = mds::bad_samples::error;
  mds::loader<texts> one(strict);
  support::expect_error(
      [&] {
        for (auto& batch : one.epoch()) static_cast<void>(batch);
      },
      mds::errc::corrupt, {"shard 1", "/data"});
}

TEST_CASE("samples without a transform: damaged bytes, and rows that cannot be read") {
  using namespace bad_samples_test;
  const scratch dir;
  const bool rows = GENERATE(false, true);
  const std::string file = dir / (rows ? "data/shard.00000.json" : "data/shard.00000.mds");
  if (rows) {
    mds::row_writer<> out({.out = dir / "data",
                           .format = mds::shard_format::json,
                           .columns = {{"id", "int"}, {"text", "str"}}});
    for (std::int64_t i = 0; i < 20; ++i) out.write({{"id", i}, {"text", i == 7 ? "bad" : "good"}});
    out.finish();
  } else {
    mds::writer<texts> out({.out = dir / "data"});
    for (std::int64_t i = 0; i < 20; ++i) out.write(i, i == 7 ? "bad" : "good");
    out.finish();
  }
  {  // the row loses a quote; the sample's text becomes longer than the sample
    std::fstream shard(file, std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(shard)), {});
    const std::size_t bad = rows ? bytes.find("\"bad\"") : bytes.find("bad") - 12;
    shard.seekp(static_cast<std::streamoff>(bad));
    shard.put('\x7f');
  }
  mds::loader_options given{.local = dir / "data",
                            .batch_size = 20,
                            .shuffle = false,
                            .world = mds::world{},
                            .warn = [](const std::string&) {}};
  mds::loader<texts> strict(given);
  support::expect_error(
      [&] {
        for (auto& batch : strict.epoch()) static_cast<void>(batch);
      },
      mds::errc::corrupt, {"shard 0", "sample 7"});
  given.on_bad_sample = mds::bad_samples::substitute;
  mds::loader<texts> one(given);
  for (const auto& batch : one.epoch()) {
    CHECK(batch.ids()[7] == 8);
    CHECK(batch.get<"id">().values()[7] == 8);
    for (std::size_t i = 0; i < 20; ++i) CHECK(batch.get<"text">()[i] == "good");
  }
  CHECK(one.bad_samples().first == ids_list{7});
  using whole = texts::with<mds::collate::none>;
  mds::loader<whole> samples(given);
  for (const auto& batch : samples.epoch()) CHECK(batch.sample(7).get<"id">() == 8);
}
