// What processes tell each other: members, journal, scan, ledger. Two ledgers in one process are
// two processes to each other, because flock tells open files apart.

#include <mdstream/cache/detail/cache_ledger.hpp>

#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/cache/detail/describe_streams.hpp>
#include <mdstream/cache/detail/ledger_transaction.hpp>
#include <mdstream/store/memory.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace ledger_test {

using namespace cache_test;
using mds::errc;
using mds::store::memory;

struct setting {
  dataset data{{.shards = 6}};
  scratch root{};
  std::string directory = root / "train";
  mds::detail::shard_catalog catalog{root.path(),
                                     described({stream_of(data, directory, memory())})};

  [[nodiscard]] std::unique_ptr<mds::detail::cache_ledger> join(std::uint64_t limit = 0) const {
    return std::make_unique<mds::detail::cache_ledger>(root.path(), limit, catalog);
  }
  void put(std::uint32_t shard) const {
    write_file(directory + '/' + dataset::name(shard, false), data.raw(shard));
  }
};

std::uint64_t usage(mds::detail::cache_ledger& ledger) {
  mds::detail::cache_ledger::transaction change(ledger);
  const std::uint64_t bytes = change.usage();
  change.finish();
  return bytes;
}

unsigned residency(mds::detail::cache_ledger& ledger, std::uint32_t shard) {
  mds::detail::cache_ledger::transaction change(ledger);
  const unsigned flags = change.residency_of(shard);
  change.finish();
  return flags;
}

TEST_CASE("the first process counts what lies there, the next ones take it over", "[cache]") {
  const setting fixture;
  fixture.put(1);
  fixture.put(4);
  const auto first = fixture.join();
  CHECK(usage(*first) == bytes_in(fixture.root.path()));
  CHECK(residency(*first, 1) == mds::detail::raw_there);
  CHECK(residency(*first, 2) == mds::detail::absent);
  const auto second = fixture.join();
  CHECK(usage(*second) == usage(*first));
  CHECK(residency(*second, 4) == mds::detail::raw_there);
  CHECK(second->others() == 1);
}

TEST_CASE("what one process does the others see", "[cache]") {
  const setting fixture;
  const auto first = fixture.join(), second = fixture.join();
  const std::uint64_t before = usage(*first);
  mds::detail::reservation room;
  {
    mds::detail::cache_ledger::transaction change(*first);
    room = change.reserve(1000);
    change.note(3, mds::detail::raw_there);
    change.finish();
  }
  CHECK(usage(*second) == before + 1000);
  CHECK(residency(*second, 3) == mds::detail::raw_there);
  {
    mds::detail::cache_ledger::transaction change(*second);
    change.note(3, mds::detail::absent);
    change.finish();
  }
  CHECK(residency(*first, 3) == mds::detail::absent);
  {
    mds::detail::cache_ledger::transaction change(*first);
    change.release(std::move(room));
    change.add_used(7);
    change.finish();
  }
  CHECK(usage(*second) == before + 7);
}

TEST_CASE("the smallest limit of the live processes holds", "[cache]") {
  const setting fixture;
  const auto unlimited = fixture.join();
  CHECK(unlimited->limit() == 0);
  auto large = fixture.join(5'000'000);
  unlimited->notice_members();
  CHECK(unlimited->limit() == 5'000'000);
  {
    const auto small = fixture.join(1'000'000);
    CHECK(small->limit() == 1'000'000);
    large->notice_members();
    unlimited->notice_members();
    CHECK(large->limit() == 1'000'000);
    CHECK(unlimited->limit() == 1'000'000);
  }
  large->notice_members();
  CHECK(large->limit() == 5'000'000);
  large.reset();
  unlimited->notice_members();
  CHECK(unlimited->limit() == 0);
  CHECK(unlimited->others() == 0);
}

TEST_CASE("what may be held is set aside, and a process that leaves takes its own along",
          "[cache]") {
  const setting fixture;  // shards of 4,096 to 4,112 bytes
  const std::uint64_t indexes = fixture.data.text().size();
  const auto join = [&](std::uint64_t limit) {
    return std::make_unique<mds::detail::cache_directory>(
        fixture.root.path(), limit, fixture.catalog, mds::detail::cache_directory::hooks{});
  };
  {
    const auto one = join(indexes + 12'000);
    CHECK(one->may_hold(9'000));
    CHECK_FALSE(one->may_hold(12'001));
    {
      auto two = join(0);
      two->check_limit();
      CHECK_FALSE(two->may_hold(3'001));
      CHECK(two->may_hold(3'000));
      CHECK_FALSE(one->may_hold(9'001));
      CHECK(one->may_hold(9'000));
      auto three = join(indexes + 4'112);  // enough for each by itself
      three->check_limit();
      CHECK(one->limit_to_hold(1, 1) == indexes + 3 * 4'112);
      one->ledger().notice_members();
      CHECK_FALSE(one->may_hold(9'000));  // what was allowed counts no more
      CHECK(one->may_hold(1'000));
      CHECK_THROWS_AS(join(indexes + 4'111)->check_limit(), mds::error);
    }
    one->ledger().notice_members();
    CHECK(one->limit_to_hold(1, 1) == indexes + 4'112);
    CHECK(one->may_hold(12'000));
    CHECK(one->limit_to_hold(1, 2) == indexes + 2 * 4'112);
    CHECK(one->limit_to_hold(1'000, 1) == indexes + fixture.catalog.bytes());
  }
  CHECK(join(indexes + fixture.catalog.bytes())->may_hold(1'000'000));  // all of it fits
}

TEST_CASE("a refusal to hold shards lasts as long as what it was for", "[cache]") {
  const setting fixture;
  const std::uint64_t indexes = fixture.data.text().size();
  const auto join = [&](std::uint64_t limit) {
    return std::make_unique<mds::detail::cache_directory>(
        fixture.root.path(), limit, fixture.catalog, mds::detail::cache_directory::hooks{});
  };
  const auto one = join(indexes + 12'000);
  auto two = join(0);
  SECTION("a process leaves, and another comes") {
    CHECK(two->may_hold(3'000));
    CHECK_FALSE(one->may_hold(9'001));
    two.reset();
    two = join(0);
    one->ledger().notice_members();
    REQUIRE(one->ledger().others() == 1);
    CHECK(one->may_hold(9'001));
  }
  SECTION("less was refused than fits now") {
    CHECK(two->may_hold(3'000));
    CHECK_FALSE(one->may_hold(9'001));
    two.reset();
    one->ledger().notice_members();
    CHECK(one->may_hold(9'001));
    CHECK(one->may_hold(12'000));
    CHECK_FALSE(one->may_hold(12'001));
  }
  SECTION("a process needs less than before") {
    CHECK(two->may_hold(6'000));
    auto three = join(indexes + 8'000);
    one->ledger().notice_members();
    CHECK_FALSE(one->may_hold(7'000));
    two->ledger().notice_members();
    CHECK(two->may_hold(1'000));
    one->ledger().notice_members();
    CHECK(one->may_hold(7'000));
  }
}

TEST_CASE("a change that was not finished is made good by the next process", "[cache]") {
  const setting fixture;
  fixture.put(0);
  const auto survivor = fixture.join();
  const std::uint64_t right = usage(*survivor);
  {
    const auto victim = fixture.join();
    mds::detail::cache_ledger::transaction change(*victim);
    change.add_used(999'999);
    const mds::detail::reservation room = change.reserve(5);
    fixture.put(2);  // as if it had been renamed, but not said to the others
  }  // not finished
  CHECK(usage(*survivor) == right + fixture.data.raw(2).size());
  CHECK(residency(*survivor, 2) == mds::detail::raw_there);
  CHECK(usage(*survivor) == bytes_in(fixture.root.path()));
}

TEST_CASE("processes see what happens after a new count", "[cache]") {
  const setting fixture;
  fixture.put(0);
  const auto one = fixture.join(), two = fixture.join();
  for (const unsigned there : {mds::detail::raw_there, mds::detail::absent}) {
    mds::detail::cache_ledger::transaction change(*one);
    change.note(3, there);
    change.finish();
    CHECK(residency(*two, 3) == there);
  }
  {
    mds::detail::cache_ledger::transaction change(*one);
    change.modify();
    fs::remove(fixture.directory + '/' + dataset::name(0, false));
  }  // not finished
  CHECK(residency(*two, 0) == mds::detail::absent);  // counted anew, without records
  CHECK(residency(*one, 0) == mds::detail::absent);
  {
    mds::detail::cache_ledger::transaction change(*two);
    change.note(5, mds::detail::raw_there);
    change.finish();
  }
  CHECK(residency(*one, 5) == mds::detail::raw_there);
}

TEST_CASE("a limit is held against the largest shard of all processes", "[cache]") {
  const setting fixture;
  const dataset larger({.shards = 1, .bytes = 9'000});
  const auto limit = fixture.data.text().size() + larger.text().size() + 8'000;
  mds::detail::cache_directory one(fixture.root.path(), limit, fixture.catalog, {});
  one.check_limit();
  const mds::detail::shard_catalog catalog(
      fixture.root.path(), described({stream_of(larger, fixture.root / "larger", memory())}));
  {
    const mds::detail::cache_directory two(fixture.root.path(), 0, catalog, {});
    support::expect_error([&] { one.check_limit(); }, errc::cache_too_small);
  }
  one.check_limit();
}

TEST_CASE("a directory flushes the shards that are due, each once", "[cache]") {
  using namespace std::chrono_literals;
  const setting fixture;
  mds::detail::cache_directory directory(fixture.root.path(), 0, fixture.catalog, {});
  const mds::detail::catalog_stream& stream = fixture.catalog.stream_of(0);
  const auto is_flushed = [&](std::uint32_t shard) {
    const mds::detail::shard_files files = fixture.catalog.files(shard);
    const auto stamp = mds::detail::cache_directory::stamp_of(stream, files);
    REQUIRE(stamp);
    const auto known = fixture.catalog.facts(stream).find(shard, *stamp, files.can_check());
    return known && known->flags == mds::detail::flushed;
  };
  for (const std::uint32_t shard : {1U, 4U}) {
    fixture.put(shard);
    directory.flush_later(shard);
    CHECK_FALSE(is_flushed(shard));
  }
  CHECK_FALSE(directory.has_due(1h));
  directory.flush_due(0ns);
  CHECK(is_flushed(1));
  CHECK_FALSE(is_flushed(4));
  CHECK(directory.has_due(0ns));
  directory.flush_due(0ns);
  CHECK(is_flushed(4));
  CHECK_FALSE(directory.has_due(0ns));
}

TEST_CASE("a shard that is being checked is busy for others", "[cache]") {
  const setting fixture;
  fixture.put(1);
  mds::detail::cache_directory one(fixture.root.path(), 0, fixture.catalog, {}),
      two(fixture.root.path(), 0, fixture.catalog, {});
  const auto claim = [](mds::detail::cache_directory& by, mds::detail::shard_claim& out) {
    return by.claim(1, 4'100, mds::detail::urgency::now, out);
  };
  mds::detail::shard_claim first, second;
  REQUIRE(claim(one, first) == mds::detail::claim_result::check);
  CHECK(claim(two, second) == mds::detail::claim_result::busy);
  const auto stamp = mds::detail::cache_directory::stamp_of(fixture.catalog.stream_of(1),
                                                            fixture.catalog.files(1));
  REQUIRE(stamp);
  one.checked(1, std::move(first), *stamp, true);
  CHECK(claim(two, second) == mds::detail::claim_result::there);
}

TEST_CASE("what makes room or deletes leaves no change open", "[cache]") {
  const setting fixture;
  for (const std::uint32_t shard : {1U, 4U}) fixture.put(shard);
  mds::detail::cache_directory directory(fixture.root.path(), 0, fixture.catalog, {});
  mds::detail::cache_journal journal(fixture.root / ".mdstream/journal");
  directory.discard(fixture.directory + '/' + dataset::name(1, false));
  CHECK(journal.read());
  CHECK(directory.make_room_on_disk(0, 1, mds::detail::urgency::now));
  CHECK(journal.read());
  CHECK(directory.usage() == fixture.data.text().size());
  CHECK_FALSE(directory.make_room_on_disk(0, 1, mds::detail::urgency::now));  // nothing is left
  CHECK(journal.read());
}

TEST_CASE("torn and foreign files in the directory do no harm", "[cache]") {
  const setting fixture;
  fixture.put(0);
  (void)fixture.join();
  const std::string own = fixture.root / ".mdstream";
  const std::string name = GENERATE("journal", "streams", "lock");
  const std::size_t size =
      GENERATE(std::size_t{0}, std::size_t{3}, std::size_t{57}, std::size_t{500});
  write_file(own + '/' + name, shard_bytes(3, 3, size));
  write_file(own + "/live/nobody", shard_bytes(4, 4, size));
  write_file(own + "/tmp/nobody-1", shard_bytes(5, 5, size));
  const auto ledger = fixture.join();
  CHECK(usage(*ledger) == bytes_in(fixture.root.path()));
  CHECK(residency(*ledger, 0) == mds::detail::raw_there);
  CHECK_FALSE(fs::exists(own + "/live/nobody"));
  CHECK_FALSE(fs::exists(own + "/tmp/nobody-1"));
}

TEST_CASE("processes tell each other what they read soon", "[cache]") {
  const setting fixture;
  const auto one = fixture.join(), two = fixture.join(), three = fixture.join();
  const auto seen_by = [](mds::detail::cache_ledger& ledger) {
    mds::detail::cache_ledger::transaction change(ledger);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> uses;
    for (const mds::detail::use_elsewhere& each : change.uses_elsewhere())
      uses.emplace_back(each.shard, each.distance);
    change.finish();
    return uses;
  };
  using uses = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  CHECK(seen_by(*one).empty());
  two->publish_uses(std::vector<mds::detail::use_elsewhere>{{5, 9}, {2, 4}});
  three->publish_uses(std::vector<mds::detail::use_elsewhere>{{2, 3}, {0, 1}});
  CHECK(seen_by(*one) == uses{{0, 1}, {2, 3}, {5, 9}});
  CHECK(seen_by(*two) == uses{{0, 1}, {2, 3}});
  three->publish_uses({});
  CHECK(seen_by(*one) == uses{{2, 4}, {5, 9}});
  // Streams that only others have are nothing to this one, nor numbers that its own do not reach.
  const std::string live = fixture.root / ".mdstream/live";
  for (const auto& file : fs::directory_iterator(live)) {
    std::ofstream(file.path(), std::ios::app | std::ios::binary) << std::string(40, '\x7f');
  }
  CHECK(seen_by(*one) == uses{{2, 4}, {5, 9}});
}

TEST_CASE("what one process reads soon another evicts last", "[cache]") {
  const setting fixture;
  for (std::uint32_t i = 0; i < 4; ++i) fixture.put(i);
  // Room for five; the one that wants shard 4 needs 3 last, the other reads 3 at once.
  const std::uint64_t limit = fixture.data.text().size() + 5 * 4112;
  const auto directory = [&](std::vector<std::uint64_t> uses) {
    return std::make_unique<mds::detail::cache_directory>(
        fixture.root.path(), limit, fixture.catalog,
        mds::detail::cache_directory::hooks{
            .next_use = [uses](std::uint32_t shard, std::uint64_t) { return uses[shard]; },
            .knows_order = [] { return true; }});
  };
  const auto one = directory({10, 11, 12, 13, 10, 10});
  const auto two = directory({103, 102, 101, 100, mds::detail::never, mds::detail::never});
  one->ledger().notice_members();
  const bool published = GENERATE(true, false);
  if (published) two->publish_uses();
  mds::detail::shard_claim first, second;
  REQUIRE(one->claim(4, 4104, mds::detail::urgency::now, first) ==
          mds::detail::claim_result::claimed);
  CHECK(one->evicted() == 0);
  REQUIRE(one->claim(5, 4112, mds::detail::urgency::now, second) ==
          mds::detail::claim_result::claimed);
  CHECK(one->evicted() == 1);
  // By its own order 3 goes. The other reads 3, 2, 1 and 0 in this order, which is at 10, 11, 12
  // and 13 here: sooner than this one 3 and 2, so that 1 and 2 are the farthest, both at 11.
  for (std::uint32_t i = 0; i < 4; ++i) {
    CHECK(fs::exists(fixture.directory + '/' + dataset::name(i, false)) ==
          (i != (published ? 1U : 3U)));
  }
  one->abandon(4, std::move(first));
  one->abandon(5, std::move(second));
}

TEST_CASE("directories that lie in each other are counted once", "[cache]") {
  const dataset outer({.shards = 2, .seed = 1}), inner({.shards = 2, .seed = 2});
  const scratch root;
  const mds::detail::shard_catalog catalog(root.path(),
                                           described({stream_of(outer, root.path(), memory()),
                                                      stream_of(inner, root / "inner", memory())}));
  write_file(root / dataset::name(0, false), outer.raw(0));
  write_file(root / ("inner/" + dataset::name(1, false)), inner.raw(1));
  write_file(root / ".mdstream-0123.tmp", outer.raw(1));  // an index in the making
  fs::create_directory(root / "else");
  write_file(root / "else/notes", mds::as_bytes("counted, as it lies in a stream's directory"));
  mds::detail::cache_ledger ledger(root.path(), 0, catalog);
  CHECK(usage(ledger) == bytes_in(root.path()) - outer.raw(1).size());
  CHECK(residency(ledger, 0) == mds::detail::raw_there);
  CHECK(residency(ledger, 3) == mds::detail::raw_there);
  CHECK(residency(ledger, 1) == mds::detail::absent);
}

TEST_CASE("more than 2^32 shards are refused", "[cache]") {
  mds::detail::catalog_stream huge{.name = "huge", .directory = "/x", .shards = 0xffffffffU};
  support::expect_error([&] { mds::detail::shard_catalog("/", {huge, huge}); },
                        errc::invalid_argument, {"2^32"});
}

TEST_CASE("a stream's key does not depend on where the root is seen", "[cache]") {
  CHECK(mds::detail::shard_catalog::relative_to("/a", "/a/b/c") == "b/c");
  CHECK(mds::detail::shard_catalog::relative_to("/a", "/a").empty());
  CHECK(mds::detail::shard_catalog::relative_to("/", "/a") == "a");
  CHECK(mds::detail::shard_catalog::relative_to("/a", "/ab") == "/ab");
}

TEST_CASE("what nobody needs goes first, without a look at all that is there", "[cache]") {
  const dataset data({.shards = 400, .bytes = 64});
  const scratch root;
  const mds::detail::shard_catalog catalog(root.path(),
                                           described({stream_of(data, root.path(), memory())}));
  for (std::uint32_t i = 0; i < 399; ++i) write_file(root / dataset::name(i, false), data.raw(i));
  std::uint64_t asked = 0;
  const bool rare = GENERATE(false, true);
  mds::detail::cache_directory directory(
      root.path(), bytes_in(root.path()), catalog,
      mds::detail::cache_directory::hooks{
          .next_use =
              [&](std::uint32_t shard, std::uint64_t) {
                ++asked;
                return shard % 10 == 3 || (rare && shard % 100 != 50) ? shard : mds::detail::never;
              },
          .knows_order = [] { return true; }});
  for (int i = 0; i < 3; ++i) {
    mds::detail::shard_claim claim;
    REQUIRE(directory.claim(399, catalog.footprint(399), mds::detail::urgency::now, claim) ==
            mds::detail::claim_result::claimed);
    directory.abandon(399, std::move(claim));
  }
  CHECK(directory.evicted() >= 1);
  // The shard that is to come, and those up to the first that nobody needs.
  CHECK(asked == (rare ? 52 : 2));
  for (std::uint32_t i = 0; i < 399; ++i) {
    const bool needed = i % 10 == 3 || (rare && i % 100 != 50);
    if (needed) CHECK(fs::exists(root / dataset::name(i, false)));
  }
}

}  // namespace ledger_test
