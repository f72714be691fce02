// Windows of token files in a directory of this machine: read where they lie, and the same to a
// loader as a copy of them.

#include <mdstream/source/detail/raw_maker.hpp>

#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>

#include "source/both_ways.hpp"
#include "support/temporary_in.hpp"

using namespace source_test;

namespace in_place_test {

using policies = plain_policies;

using dataset = mds::dataset<policies>;
using loader = mds::loader<policies>;

template <class T>
std::string tokens(std::size_t count, std::mt19937& random) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    const T one = static_cast<T>(random());
    out.append(reinterpret_cast<const char*>(&one), sizeof one);
  }
  return out;
}

/// As llm.c writes it.
template <class T>
std::string llmc(std::size_t count, std::mt19937& random) {
  const std::int32_t head[] = {sizeof(T) == 2 ? 20240520 : 20240801, sizeof(T) == 2 ? 1 : 7,
                               static_cast<std::int32_t>(count)};
  std::string out(1024, '\0');
  std::memcpy(out.data(), head, sizeof head);
  return out + tokens<T>(count, random);
}

/// A directory of files, one for caches, and one that stands for the system's temporary one.
struct machine : indexed_source {
  scratch cache, temporary;
  support::temporary_in temporary_files{temporary.path()};

  [[nodiscard]] mds::dataset_options options(const raw::options& about,
                                             const std::string& local = "") const {
    return {.streams = {{.remote = files.path(), .raw = about, .name = "rows"}},
            .local = local,
            .warn = [](const std::string&) {},
            .threads = 2};
  }
  /// Shards that were made in a directory.
  [[nodiscard]] static std::size_t shards_in(const std::string& directory) {
    std::size_t out = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(directory))
      out += each.path().extension() == ".mds" ? 1 : 0;
    return out;
  }
};

std::vector<std::string> rows_of(const dataset& data) {
  std::vector<std::string> out(data.size());
  for (std::uint64_t i = data.size(); i-- > 0;) out[i] = std::string(mds::as_text(data[i].bytes()));
  return out;
}

raw::options windows(std::uint64_t window, std::uint64_t stride) {
  raw::options about{.format = "tokens", .window = window, .stride = stride};
  about.shard_bytes = 999;
  return about;
}

TEST_CASE("windows of token files in a directory are read in place") {
  std::mt19937 random(support::test_seed());
  const std::uint64_t stride = GENERATE(0, 1, 7, 8, 9, 30);
  const std::string kind = GENERATE("uint16", "uint32", "bare");
  CAPTURE(stride, kind);
  const machine at;
  raw::options about = windows(8, stride);
  if (kind == "bare") about.dtype = "int8";
  std::vector<std::string> expected;
  for (int object = 0; object < 3; ++object) {
    const std::size_t count = 500 + random() % 3000;
    const std::string bytes = kind == "uint16"   ? llmc<std::uint16_t>(count, random)
                              : kind == "uint32" ? llmc<std::uint32_t>(count, random)
                                                 : tokens<std::int8_t>(count, random);
    at.put("part-" + std::to_string(object) + ".bin", bytes);
    const std::size_t size = kind == "uint16" ? 2 : kind == "uint32" ? 4 : 1;
    const std::size_t begin = kind == "bare" ? 0 : 1024;
    for (std::size_t token = 0; token + 8 <= count; token += stride == 0 ? 8 : stride)
      expected.push_back(bytes.substr(begin + token * size, 8 * size));
  }
  const dataset data(at.options(about));
  CHECK(rows_of(data) == expected);
  CHECK(machine::shards_in(at.temporary.path()) == 0);
  CHECK(data.counters().shards_fetched == 0);

  const dataset copied(at.options(about, at.cache.path()));
  CHECK(rows_of(copied) == expected);
  CHECK(machine::shards_in(at.cache.path()) > 3);
}

TEST_CASE("Megatron's windows are read in place") {
  std::mt19937 random(support::test_seed());
  for (raw_test::random_source& each : raw_test::random_sources(random)) {
    std::size_t bytes = 0;
    bool is_megatron = false;
    for (const auto& [key, text] : each.objects) {
      is_megatron = is_megatron || key.ends_with(".idx");
      if (key.ends_with(".bin")) bytes = std::max(bytes, text.size());
    }
    if (!is_megatron || bytes < 8) continue;
    const machine at;
    at.put(each.objects);
    each.about.window = 2;
    each.about.shard_bytes = 64;
    const dataset data(at.options(each.about));
    CHECK(rows_of(data) == at.rows(at.build(each.about).index));
    CHECK(machine::shards_in(at.temporary.path()) == 0);
  }
}

/// Cuts of token files, in two stretches each.
struct halves : raw::tokens {
  using raw::tokens::tokens;
  static std::vector<raw::byte_range> ranges(const raw::cut& of) {
    return {{of.offset, of.bytes / 2}, {of.offset + of.bytes / 2, of.bytes - of.bytes / 2}};
  }
};

TEST_CASE("cuts that lie in several stretches of an object are not read in place") {
  std::mt19937 random(support::test_seed());
  const machine at;
  at.put("a.bin", llmc<std::uint16_t>(2000, random));
  const raw::options about = windows(8, 8);
  const raw::detail::row_index index = at.build(about).index;
  const auto step_of = [&](raw::source_format format) {
    return mds::detail::raw_maker(std::move(format), index, decoders, at.async).step();
  };
  CHECK(step_of(raw_test::format_of(about)) == 16);
  CHECK(step_of(raw::any_format<halves>::open(about)) == 0);
}

TEST_CASE("in place, a stream has the order and the samples of a copy, resumed and moved") {
  std::mt19937 random(support::test_seed());
  for (const std::uint64_t stride : {8U, 7U}) {
    CAPTURE(stride);
    const machine at;
    for (const char* key : {"a.bin", "b.bin"})
      at.put(key, llmc<std::uint16_t>(900 + random() % 500, random));
    const mds::stream_options stream{.remote = at.files.path(), .raw = windows(8, stride)};
    static constexpr std::array worlds{1U, 2U, 3U, 6U};
    for (const std::uint64_t world : worlds) {
      CAPTURE(world);
      run_of<policies> in_place{stream, "", world}, copy{stream, at.cache.path(), world};
      std::string ended, other;
      const auto all = in_place.go_on(ended, ~std::size_t{0});
      REQUIRE(all.size() == world);
      REQUIRE(all == copy.go_on(other, ~std::size_t{0}));

      // each goes on in another world from the state of the other
      std::string state, other_state;
      const std::size_t few = 1 + random() % 3;
      REQUIRE(in_place.go_on(state, few) == copy.go_on(other_state, few));
      in_place.world = copy.world = worlds[random() % worlds.size()];
      REQUIRE(in_place.go_on(other_state, ~std::size_t{0}) == copy.go_on(state, ~std::size_t{0}));
    }
    CHECK(machine::shards_in(at.temporary.path()) == 0);
  }
}

TEST_CASE("files in place and datasets are mixed in one batch") {
  std::mt19937 random(support::test_seed());
  const std::uint64_t stride = GENERATE(8, 5);
  const scratch plain;
  const machine at;
  at.put("a.bin", llmc<std::uint16_t>(2000, random));
  {
    mds::writer<> out(
        {.out = plain.path(), .columns = {{"tokens", "ndarray:uint16:8"}}, .size_limit = 500});
    std::array<std::uint16_t, 8> row{};
    const mds::array_shape shape{8};
    for (std::uint16_t i = 0; i < 200; ++i) {
      row.fill(i);
      out.write(
          {{"tokens", mds::any_ndarray(mds::dtype::uint16, shape, std::as_bytes(std::span(row)))}});
    }
    out.finish();
  }
  loader mixed(
      {.streams = {{.remote = at.files.path(), .raw = windows(8, stride)}, {.local = plain.path()}},
       .batch_size = 50,
       .threads = 2});
  const std::vector<std::string> files =
      rows_of(dataset(at.options(windows(8, stride), at.cache.path())));
  std::multiset<std::string> expected(files.begin(), files.end()), seen;
  for (const std::string& each : rows_of(dataset({.local = plain.path(), .threads = 1})))
    expected.insert(each);
  bool both = false;
  for (const auto& batch : mixed.epoch()) {
    std::size_t foreign = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      seen.emplace(mds::as_text(batch.sample(i).bytes()));
      foreign += batch.ids()[i] < static_cast<std::int64_t>(files.size()) ? 1 : 0;
    }
    both = both || (foreign > 0 && foreign < batch.size());
  }
  CHECK(both);
  CHECK(seen == expected);
  CHECK(machine::shards_in(at.temporary.path()) == 0);
}

TEST_CASE("a file that is another by the time it is needed is refused by name") {
  std::mt19937 random(support::test_seed());
  const machine at;
  at.put("a.bin", llmc<std::uint16_t>(2000, random));
  at.put("b.bin", llmc<std::uint16_t>(2000, random));
  const raw::options about = windows(8, 8);
  const dataset data(at.options(about));
  const std::string first(mds::as_text(data[0].bytes()));
  at.put("a.bin", llmc<std::uint16_t>(2000, random));  // in its place: what is mapped stays
  CHECK(mds::as_text(data[0].bytes()) == first);
  support::expect_error(
      [&] { (void)data[249]; }, mds::errc::corrupt,
      {at.files.path() + "/a.bin", "has changed since it was indexed", "the tag"});
  at.store.remove("b.bin");
  support::expect_error([&] { (void)data[499]; }, mds::errc::not_found,
                        {at.files.path() + "/b.bin"});
  // opened again, what is there now is the source
  CHECK(rows_of(dataset(at.options(about))).size() == 250);
}

TEST_CASE("a file that is cut short while it is mapped is an error that names it") {
  std::mt19937 random(support::test_seed());
  const machine at;
  at.put("a.bin", llmc<std::uint16_t>(60'000, random));
  raw::options about = windows(8, 8);
  about.shard_bytes = 50'000;
  loader run({.streams = {{.remote = at.files.path(), .raw = about}},
              .batch_size = 100,
              .shuffle = false,
              .world = mds::world{}});
  std::size_t batches = 0;
  support::expect_error(
      [&] {
        for (const auto& batch : run.epoch()) {
          CHECK(batch.size() > 0);
          if (++batches == 10) std::filesystem::resize_file(at.files.path() + "/a.bin", 4096);
        }
      },
      mds::errc::io_error, {"cut short", at.files.path() + "/a.bin"});
  CHECK(batches >= 10);
}

TEST_CASE("what is no window of a plain file, or has a directory of its own, is copied") {
  std::mt19937 random(support::test_seed());
  const machine at;
  const std::string file = llmc<std::uint16_t>(2000, random);
  at.put("a.bin", file);
  raw::options about = windows(8, 8);
  const std::vector<std::string> expected = rows_of(dataset(at.options(about)));
  CHECK(machine::shards_in(at.temporary.path()) == 0);

  mds::dataset_options given = at.options(about);
  given.streams[0].local = at.cache.path();
  CHECK(rows_of(dataset(given)) == expected);
  CHECK(machine::shards_in(at.cache.path()) > 0);

  given = at.options(about);  // a store that was given may be more than its directory
  given.streams[0].remote.clear();
  given.streams[0].store = mds::store::local(at.files.path());
  CHECK(rows_of(dataset(given)) == expected);
  CHECK(machine::shards_in(at.temporary.path()) > 0);
  std::filesystem::remove_all(at.temporary.path() + "/mdstream-" + std::to_string(::geteuid()));

  raw::options other = about;  // a shape is written before each array
  other.columns = {{"tokens", "ndarray:uint16"}};
  CHECK(rows_of(dataset(at.options(other))).size() == expected.size());
  CHECK(machine::shards_in(at.temporary.path()) > 0);
  std::filesystem::remove_all(at.temporary.path() + "/mdstream-" + std::to_string(::geteuid()));

  at.store.remove("a.bin");
  at.put("a.bin.gz", packed(file, ".gz"));
  CHECK(rows_of(dataset(at.options(about))) == expected);
  CHECK(machine::shards_in(at.temporary.path()) > 0);
}

TEST_CASE("the cache that nobody named is the user's own, or none") {
  std::mt19937 random(support::test_seed());
  const machine at;
  at.put("a.bin", llmc<std::uint16_t>(2000, random));
  const raw::options about = windows(8, 8);
  const std::filesystem::path own =
      at.temporary.path() + "/mdstream-" + std::to_string(::geteuid());
  using enum std::filesystem::perms;

  (void)dataset(at.options(about));
  CHECK(std::filesystem::status(own).permissions() == owner_all);

  // as a process makes it again whose cache was removed
  std::filesystem::permissions(own, owner_all | group_read | group_exec | others_read);
  (void)dataset(at.options(about));
  CHECK(std::filesystem::status(own).permissions() == owner_all);

  for (const auto open : {group_write, others_write}) {
    std::filesystem::permissions(own, owner_all | open);
    support::expect_error([&] { (void)dataset(at.options(about)); }, mds::errc::permission_denied,
                          {"others may write", own.native()});
  }
  std::filesystem::remove_all(own);
  std::filesystem::create_directory_symlink(at.files.path(), own);
  support::expect_error([&] { (void)dataset(at.options(about)); }, mds::errc::permission_denied,
                        {own.native()});
}

TEST_CASE("a window at every token takes no more room than the file") {
  std::mt19937 random(support::test_seed());
  const machine at;
  const std::string file = llmc<std::uint16_t>(3'000'000, random);
  at.put("a.bin", file);
  raw::options about{.format = "tokens", .window = 1025, .stride = 1};  // as shards: 6 GB
  const dataset data(at.options(about));
  REQUIRE(data.size() == 3'000'000 - 1024);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t n = random() % data.size();
    CHECK(mds::as_text(data[n].bytes()) == std::string_view(file).substr(1024 + 2 * n, 2050));
  }
  CHECK(machine::shards_in(at.temporary.path()) == 0);
}

}  // namespace in_place_test
