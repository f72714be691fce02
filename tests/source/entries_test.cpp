// Shards of compressed objects are made from the last entry point before them: the same as from
// the beginning, of a part of the object.

#include <mdstream/mdstream.hpp>
#include <mdstream/source/detail/raw_maker.hpp>

#include <filesystem>

#include "codec/entries.hpp"
#include "codec/gz_members.hpp"
#include "source/sources.hpp"
#include "support/golden_file.hpp"

using namespace source_test;

namespace entries_test {

using mds::detail::entry_states;
using mds::detail::object_range;
using mds::detail::raw_maker;

/// A shard, and what was asked for to make it.
struct made {
  std::string shard{};
  std::vector<object_range> asked{};

  /// Bytes of objects with this beginning of their key.
  [[nodiscard]] std::uint64_t bytes_of(std::string_view key) const {
    std::uint64_t out = 0;
    for (const object_range& each : asked)
      if (each.key.starts_with(key)) out += each.bytes;
    return out;
  }
};

/// Makes a shard as a fetch does; `read` is the store.
template <class Read>
made make(const raw_maker& maker, std::size_t shard, Read&& read) {
  made out;
  const auto making = maker.begin(static_cast<std::uint32_t>(shard));
  while (true) {
    const std::vector<object_range> wanted = making->next();
    if (wanted.empty()) break;
    std::vector<mds::detail::part_of_pages> got;
    for (const object_range& each : wanted) {
      mds::detail::pages room(each.bytes);
      const std::string bytes = read(each);
      REQUIRE(bytes.size() == each.bytes);
      std::copy_n(mds::as_bytes(bytes).data(), bytes.size(), room.data());
      got.emplace_back(std::move(room));
      out.asked.push_back(each);
    }
    making->take(std::move(got));
  }
  making->finish([&](std::uint64_t offset, mds::bytes_view bytes) {
    out.shard.resize(std::max<std::size_t>(out.shard.size(), offset + bytes.size()));
    std::copy_n(mds::as_text(bytes).data(), bytes.size(), out.shard.data() + offset);
  });
  return out;
}

struct packed_source : indexed_source {
  [[nodiscard]] raw_maker maker(const raw::detail::row_index& of,
                                entry_states states = {.prefix = "beside/entries/"}) const {
    return raw_maker(raw_test::format_of(of.options), of, decoders, async, std::move(states));
  }
  /// The index's directory is `beside/` for reads.
  [[nodiscard]] std::string read(const object_range& range) const {
    const bool is_state = range.key.starts_with("beside/");
    std::vector<std::byte> out(range.bytes);
    out.resize((is_state ? index : store)
                   .read(is_state ? range.key.substr(7) : range.key, range.offset, out));
    return std::string(mds::as_text(out));
  }
  [[nodiscard]] made shard(const raw_maker& of, std::size_t number) const {
    return make(of, number, [&](const object_range& range) { return read(range); });
  }
};

raw::detail::row_index without_entries(raw::detail::row_index index) {
  for (auto& each : index.objects) each.entries.reset();
  return index;
}

std::string lines(std::mt19937& random, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) {
    std::string text(random() % 200, static_cast<char>('a' + random() % 26));
    for (std::size_t i = 0; i < text.size(); i += 1 + random() % 20)
      text[i] = static_cast<char>('a' + random() % 26);
    if (random() % 1000 == 0) text.append(random() % 50'000, 'x');
    out += "{\"n\": " + std::to_string(random()) + ", \"text\": \"" + text + "\"}\n";
  }
  return out;
}

/// Lines that are compressed as any program may do it.
std::string file_of(std::string_view plain, const std::string& how, std::mt19937& random) {
  std::string out;
  for (auto left = 1 + random() % 4; left > 0; --left) {
    const std::size_t count = left == 1 ? plain.size() : random() % (plain.size() + 1);
    const std::string part(plain.substr(0, count));
    plain.remove_prefix(count);
    out += how == ".gz" ? gz_members::member(part, random) : packed(part, how);
  }
  return out;
}

/// All shards are made from entry points as from the beginning. Returns how many were not made from
/// there.
std::size_t check_all(const packed_source& at, const raw::detail::row_index& index) {
  const raw_maker entered = at.maker(index), linear = at.maker(without_entries(index));
  const raw_maker local = at.maker(index, {.prefix = "entries/", .store = at.index});
  std::size_t out = 0;
  const auto places = index.places();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const raw::detail::indexed_object& object = index.objects[places[i].object];
    CAPTURE(object.file.key, places[i].cut);
    const made expected = at.shard(linear, i), found = at.shard(entered, i);
    REQUIRE((found.shard == expected.shard));
    const made kept = at.shard(local, i);
    REQUIRE((kept.shard == expected.shard));
    CHECK(kept.bytes_of("beside/") == 0);
    CHECK(kept.bytes_of(object.file.key) == found.bytes_of(object.file.key));
    const std::size_t n = object.entries->count_until(object.cuts[places[i].cut].offset);
    const bool has_state = n != 0 && object.entries->points[n - 1].state.bytes != 0;
    CHECK(found.bytes_of("beside/") == (has_state ? object.entries->points[n - 1].state.bytes : 0));
    const object_range& first = found.asked[has_state ? 1 : 0];
    CHECK(first.offset == (n == 0 ? 0 : object.entries->points[n - 1].packed));
    if (n != 0) ++out;
  }
  return out;
}

}  // namespace entries_test

TEST_CASE("shards made from entry points are those made from the beginning") {
  using namespace entries_test;
  std::mt19937 random(support::test_seed(GENERATE(range(0U, 3U))));
  for (const std::string how : {".gz", ".zst"}) {
    const packed_source at;
    const std::string plain = lines(random, 800'000 + random() % 600'000);
    at.put("a.jsonl" + how, file_of(plain, how, random));
    at.put("b.jsonl" + how, file_of(lines(random, 1 + random() % 300'000), how, random));
    raw::options about{.format = "jsonl"};
    about.shard_bytes = 50'000 + random() % 400'000;
    const raw::detail::row_index index = at.build(about).index;
    CAPTURE(how, about.shard_bytes.value);
    const std::size_t entered = check_all(at, index);
    if (how == ".gz") CHECK(entered > 0);
  }
}

TEST_CASE("archives and texts that are compressed are entered as lines are") {
  using namespace entries_test;
  std::mt19937 random(support::test_seed());
  const packed_source at;
  std::string csv = "n,text\n";
  while (csv.size() < 700'000)
    csv += std::to_string(random()) + ",\"a \"\"quoted\"\"\nfield " + std::to_string(random()) +
           "\"\n";
  at.put("a.csv.gz", file_of(csv, ".gz", random));
  raw::options about{.format = "csv", .files = "*.csv.gz"};
  about.shard_bytes = 300'000;
  CHECK(check_all(at, at.build(about).index) > 0);
  std::string archive;
  const auto put = [&](const std::string& name, const std::string& bytes) {
    std::string head(512, '\0');
    name.copy(head.data(), 100);
    std::snprintf(head.data() + 100, 8, "%07o", 0644);
    std::snprintf(head.data() + 124, 12, "%011o", static_cast<unsigned>(bytes.size()));
    head[156] = '0';
    std::string("ustar\00000", 8).copy(head.data() + 257, 8);
    head.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (const char each : head) sum += static_cast<unsigned char>(each);
    std::snprintf(head.data() + 148, 8, "%06o", sum);
    archive += head + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
  };
  for (int i = 0; archive.size() < 900'000; ++i) {
    const std::string key = std::to_string(1000 + i);
    put(key + ".txt", "text " + key);
    put(key + ".bin", lines(random, 1 + random() % 20'000));
  }
  archive.append(1024, '\0');
  at.put("a.tar.gz", file_of(archive, ".gz", random));
  about = {.format = "webdataset", .files = "*.tar.gz"};
  about.shard_bytes = 300'000;
  CHECK(check_all(at, at.build(about).index) > 0);
}

TEST_CASE("a fetch reads its part of a compressed object") {
  using namespace entries_test;
  std::mt19937 random(support::test_seed());
  std::string plain;  // digits at random, so that it stays large
  while (plain.size() < 24'000'000) {
    plain += "{\"n\": ";
    for (int i = 0; i < 15; ++i) plain += static_cast<char>('1' + random() % 9);
    plain += "}\n";
  }
  for (const std::string how : {".gz", ".zst"}) {
    const packed_source at;
    std::string file;
    if (how == ".gz")
      file = packed(plain, how);
    else
      for (std::size_t i = 0; i < plain.size(); i += 500'000)
        file += packed(plain.substr(i, 500'000), how);
    at.put("a.jsonl" + how, file);
    raw::options about{.format = "jsonl"};
    about.shard_bytes = 4'000'000;
    const raw::detail::row_index index = at.build(about).index;
    const raw::detail::object_entries& entries = *index.objects[0].entries;
    REQUIRE(entries.points.size() == 6 - (plain.size() % 4'000'000 == 0 ? 1 : 0));
    const raw_maker maker = at.maker(index);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < index.shards(); ++i) {
      const std::uint64_t asked = at.shard(maker, i).bytes_of("a.jsonl");
      const std::uint64_t from = i == 0 ? 0 : entries.points[i - 1].packed;
      const std::uint64_t to = i < entries.points.size() ? entries.points[i].packed : file.size();
      CHECK(asked >= to - from);
      CHECK(asked <= to - from + (std::uint64_t{1} << 20));
      all += asked;
    }
    CHECK(all < 2 * file.size());
    std::uint64_t linear = 0;
    const raw_maker from_beginning = at.maker(without_entries(index));
    for (std::size_t i = 0; i < index.shards(); ++i)
      linear += at.shard(from_beginning, i).bytes_of("a.jsonl");
    CHECK(linear > 3 * all);
  }
}

TEST_CASE("what pigz and pzstd have compressed is entered") {
  using namespace entries_test;
  for (const char* key : {"pigz.jsonl.gz", "pzstd.jsonl.zst"}) {
    CAPTURE(key);
    const packed_source at;
    std::filesystem::copy(support::golden_file("raw/" + std::string(key)),
                          at.files.path() / std::filesystem::path(key));
    raw::options about{.format = "jsonl", .columns = {{"n", "int"}}};
    about.shard_bytes = 2'098'000;  // the second frame begins at 2,097,152
    const raw::detail::row_index index = at.build(about).index;
    REQUIRE(index.objects[0].entries.has_value());
    CHECK_FALSE(index.objects[0].entries->points.empty());
    CHECK(check_all(at, index) > 0);
  }
}

TEST_CASE("entry points that do not match are named with their object") {
  using namespace entries_test;
  std::mt19937 random(support::test_seed());
  const packed_source at;
  const std::string plain = lines(random, 1'000'000);
  at.put("a.jsonl.gz", packed(plain, ".gz"));
  at.put("b.jsonl.zst",
         packed(plain.substr(0, 300'000), ".zst") + packed(plain.substr(300'000), ".zst"));
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 350'000;
  const raw::detail::row_index good = at.build(about).index;
  REQUIRE(good.objects[0].entries->points.size() == 2);
  REQUIRE(good.objects[1].entries->points.size() == 1);
  const std::size_t of_a = 2, of_b = 4;  // shards that begin behind the last entry point
  CHECK(check_all(at, good) == 4);
  const auto refused = [&](const raw::detail::row_index& index, std::size_t shard,
                           std::initializer_list<std::string_view> pieces) {
    support::expect_error([&] { (void)at.shard(at.maker(index), shard); }, mds::errc::corrupt,
                          pieces);
  };
  const auto changed = [&](std::size_t object, auto change) {
    raw::detail::row_index out = good;
    change(out.objects[object].entries->points.back());
    return out;
  };
  refused(changed(0, [](auto& each) { each.plain += 1; }), of_a, {"a.jsonl.gz", "entry point 1"});
  refused(changed(0, [](auto& each) { each.plain -= 1000; }), of_a,
          {"a.jsonl.gz", "entry point 1"});
  refused(changed(0, [](auto& each) { each.packed += 1; }), of_a, {"a.jsonl.gz", "entry point 1"});
  refused(changed(0, [](auto& each) { each.state.bytes -= 1; }), of_a,
          {"a.jsonl.gz", "entry point 1", "window"});
  refused(changed(0, [](auto& each) { each.state.bytes = 0; }), of_a,
          {"a.jsonl.gz", "entry point 1"});
  refused(changed(0, [&](auto& each) { each.state = good.objects[0].entries->points[0].state; }),
          of_a, {"a.jsonl.gz", "entry point 1"});
  refused(changed(1, [](auto& each) { each.plain += 1; }), of_b, {"b.jsonl.zst", "entry point 0"});
  refused(changed(1, [](auto& each) { each.packed -= 1; }), of_b, {"b.jsonl.zst", "entry point 0"});
  raw::detail::row_index other = good;
  other.objects[1].entries = other.objects[0].entries;
  refused(other, of_b + 1, {"b.jsonl.zst", "entry point 1", "zstd"});
  for (int i = 0; i < 20; ++i) {  // states that are damaged, and entry points anywhere
    const raw::detail::row_index index = changed(0, [&](auto& each) {
      each.packed = random() % good.objects[0].file.bytes;
      each.plain = 1 + random() % 700'000;
    });
    try {
      (void)at.shard(at.maker(index), of_a);
      FAIL("the shard was made");
    } catch (const mds::error& e) {
      CHECK(std::string(e.what()).find("a.jsonl.gz") != std::string::npos);
      CHECK(std::string(e.what()).find("entry point 1") != std::string::npos);
    }
  }
  // a row that does not fit is not the entry point's fault
  raw::detail::row_index row = good;
  row.options.columns = {{"n", "str"}};
  try {
    (void)at.shard(at.maker(row), of_a);
    FAIL("the shard was made");
  } catch (const mds::error& e) {
    CHECK(std::string(e.what()).find("entry point") == std::string::npos);
  }
}

TEST_CASE("a zstd frame of more than 1 GiB is refused where each shard would begin at its start") {
  using namespace entries_test;
  const packed_source at;
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  raw::detail::row_index index;
  index.options = {.format = "jsonl", .columns = {{"n", "int"}}};
  index.options.shard_bytes = 64 * mib;
  raw::detail::indexed_object object{.file = {"a.jsonl.zst", 500 * mib, "tag"}};
  for (std::uint64_t i = 0; i < 40; ++i) object.cuts.push_back({64 * mib * i, 64 * mib, 1});
  index.objects.push_back(object);
  (void)at.maker(index);  // nothing is known of where it can be entered
  const auto refused = [&] {
    support::expect_error([&] { (void)at.maker(index); }, mds::errc::unsupported,
                          {"a.jsonl.zst", "1 GiB", "mdstream convert", "pzstd"});
  };
  raw::detail::object_entries& entries = index.objects[0].entries.emplace();
  refused();
  entries.points = {{1024 * mib, 200 * mib, {}}, {2048 * mib, 400 * mib, {}}};
  (void)at.maker(index);
  entries.points.pop_back();
  refused();
  entries.points = {{1024 * mib, 200 * mib, {}}, {2048 * mib, 200 * mib + 1, {}}};
  (void)at.maker(index);  // so little can be compressed that entry points are not closer
  index.objects[0].cuts.resize(17);
  entries.points.clear();
  (void)at.maker(index);
}

TEST_CASE("a stream makes its shards from entry points, wherever its index lies") {
  using namespace entries_test;
  using policies = plain_policies;
  std::mt19937 random(support::test_seed());
  for (const bool is_published : {false, true}) {
    const indexed_source at;
    const scratch cache;
    at.put("a.jsonl.gz", packed(lines(random, 3'000'000), ".gz"));
    raw::options about{.format = "jsonl"};
    about.shard_bytes = 300'000;
    const std::vector<std::string> expected = at.rows(at.build(about).index);
    const std::string directory = is_published ? at.files.path() + "/.mdstream" : cache.path();
    if (is_published)
      (void)raw::build_index(at.async, decoders, raw_test::format_of(about),
                             raw::list_source(at.async, about.files), mds::store::local(directory));
    const mds::dataset<policies> data({.streams = {{.remote = at.files.path(), .raw = about}},
                                       .local = cache.path(),
                                       .threads = 2});
    REQUIRE(data.size() == expected.size());
    for (std::uint64_t i = data.size(); i-- > 0;)
      REQUIRE((mds::as_text(data[i].bytes()) == expected[i]));
    std::size_t states = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(directory))
      if (each.path().parent_path().filename() == "entries") {
        ++states;
        std::filesystem::remove(each.path());
      }
    CHECK(states == 1);
    const scratch empty;
    if (is_published) {  // the states are what shards are made with
      const mds::dataset<policies> again({.streams = {{.remote = at.files.path(), .raw = about}},
                                          .local = empty.path(),
                                          .threads = 2});
      (void)again[0];
      support::expect_error([&] { (void)again[again.size() - 1]; }, mds::errc::not_found,
                            {".mdstream/entries/"});
    } else {  // in a cache that was cleaned, from the object's beginning
      for (std::uint32_t shard = 0; shard < data.shards(); ++shard) data.evict_shard(shard);
      for (std::uint64_t i = data.size(); i-- > 0;)
        REQUIRE((mds::as_text(data[i].bytes()) == expected[i]));
    }
  }
}
