// gzip is entered at members and blocks, however it was written.

#include <mdstream/codec/detail/gz_stream.hpp>

#include <zlib.h>

#include "codec/entries.hpp"
#include "codec/gz_members.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace gz_entries_test {

using namespace codec_entries;
using gz_members::member;

const auto choice = mds::detail::gz_stream();

TEST_CASE("from each entry point of gzip data comes the rest", "[codec]") {
  std::mt19937 random(support::test_seed(GENERATE(range(0U, 6U))));
  std::string plain, packed;
  for (auto members = 1 + random() % 4; members > 0; --members) {
    const std::string part = random_text(random, random() % 300'000);
    plain += part;
    packed += member(part, random);
    if (random() % 3 == 0) packed.append(random() % 600, '\0');
  }
  const mds::detail::entry_spacing spacing{1 + random() % 50'000,
                                           random() % 2 == 0 ? 0 : random() % 20'000};
  CAPTURE(plain.size(), packed.size(), spacing.plain, spacing.packed);
  const auto entries = entries_of(choice, packed, plain, spacing, random);
  check_entries(choice, packed, plain, entries, spacing, random);
}

TEST_CASE("a gzip file of one member is entered about as often as it is asked for", "[codec]") {
  std::mt19937 random(support::test_seed());
  const std::string plain = random_text(random, 3'000'000);
  for (const int level : {1, 6, 9}) {
    const std::string packed = member(plain, level, Z_DEFAULT_STRATEGY, 8, random);
    const mds::detail::entry_spacing spacing{500'000, 0};
    const auto entries = entries_of(choice, packed, plain, spacing, random);
    REQUIRE(entries.size() == 5);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      CHECK(entries[i].plain <= 500'000 * (i + 1));
      CHECK(entries[i].plain > 500'000 * i);
    }
  }
}

TEST_CASE("places to enter need no state at the beginnings of members", "[codec]") {
  std::mt19937 random(support::test_seed());
  std::string plain, packed;
  for (int i = 0; i < 8; ++i) {
    const std::string part = random_text(random, 10'000);
    plain += part;
    packed += member(part, 6, Z_DEFAULT_STRATEGY, 9, random);
  }
  const auto entries = entries_of(choice, packed, plain, {10'000, 0}, random);
  REQUIRE(entries.size() == 7);
  for (const auto& each : entries) {
    CHECK(each.plain % 10'000 == 0);
    CHECK(each.state.empty());
  }
}

TEST_CASE("members behind the one that was entered are checked, and this one's end is", "[codec]") {
  std::mt19937 random(support::test_seed());
  const std::string first = random_text(random, 400'000), second = random_text(random, 50'000);
  const std::string packed = member(first, 6, Z_DEFAULT_STRATEGY, 8, random);
  const std::string both = packed + member(second, 6, Z_DEFAULT_STRATEGY, 8, random);
  const auto entries = entries_of(choice, packed, first, {100'000, 0}, random);
  REQUIRE(!entries.empty());
  std::string damaged = both;
  damaged[both.size() - 6] ^= 1;  // the checksum of the second
  support::expect_error(
      [&] {
        (void)decoded(*choice.enter(entries[0]),
                      std::string_view(damaged).substr(entries[0].packed), random);
      },
      mds::errc::corrupt, {"gzip", "incorrect data check"});
  const auto short_one = choice.enter(entries[0]);
  CHECK(
      decoded(*short_one, std::string_view(packed).substr(entries[0].packed, 1000), random).size() >
      0);
  CHECK_FALSE(short_one->may_end());
  const auto no_trailer = choice.enter(entries[0]);
  const std::size_t rest = packed.size() - entries[0].packed;
  CHECK(decoded(*no_trailer, std::string_view(packed).substr(entries[0].packed, rest - 1), random)
            .size() == first.size() - entries[0].plain);
  CHECK_FALSE(no_trailer->may_end());
}

TEST_CASE("states of entry points from outside are refused, or make no more than their bytes",
          "[codec]") {
  std::mt19937 random(support::test_seed());
  const std::string plain = random_text(random, 400'000);
  const std::string packed = member(plain, 6, Z_DEFAULT_STRATEGY, 8, random);
  const auto entries = entries_of(choice, packed, plain, {100'000, 0}, random);
  REQUIRE(!entries.empty());
  const mds::detail::entry_point good = entries[0];
  const auto refused = [&](const std::vector<std::byte>& state, const char* why) {
    mds::detail::entry_point bad = good;
    bad.state = state;
    support::expect_error([&] { (void)choice.enter(bad); }, mds::errc::corrupt,
                          {"entry point", why});
  };
  const auto window = [](std::size_t size) {
    const std::string zeros(size, '\0');
    std::vector<std::byte> out(1 + compressBound(static_cast<uLong>(size)));
    uLongf made = out.size() - 1;
    REQUIRE(compress(reinterpret_cast<Bytef*>(out.data() + 1), &made,
                     reinterpret_cast<const Bytef*>(zeros.data()),
                     static_cast<uLong>(size)) == Z_OK);
    out.resize(1 + made);
    return out;
  };
  auto state = good.state;
  state.front() = std::byte{8};
  refused(state, "8 bits");
  state = good.state;
  state.resize(state.size() / 2);
  refused(state, "damaged");
  state = good.state;
  state[state.size() / 2] ^= std::byte{0x40};
  refused(state, "window");
  refused({std::byte{3}}, "window");
  refused(window(32769), "larger than 32 KiB");
  refused(window(100 << 20), "larger than 32 KiB");
  refused(window(0), "empty");
  (void)choice.enter({1, 1, window(32768)});
  for (int i = 0; i < 100; ++i) {
    mds::detail::entry_point other = good;
    other.packed = random() % packed.size();
    other.state.front() = static_cast<std::byte>(random() % 8);
    try {
      const std::string made = decoded(*choice.enter(other),
                                       std::string_view(packed).substr(other.packed, 2000), random);
      CHECK(made.size() <= 2000 * 1032);
    } catch (const mds::error& e) {
      CHECK(e.code() == mds::errc::corrupt);
    }
  }
}

}  // namespace gz_entries_test
