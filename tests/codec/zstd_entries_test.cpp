// Zstandard is entered at frames.

#include <mdstream/codec/detail/zstd_stream.hpp>

#include <zstd.h>

#include "codec/entries.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace zstd_entries_test {

using namespace codec_entries;

std::string frame(std::string_view plain, int level, bool checks) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checks ? 1 : 0);
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), plain.data(), plain.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string skippable(std::size_t size, std::mt19937& random) {
  std::string out = {static_cast<char>(0x50 + random() % 16), '\x2a', '\x4d', '\x18'};
  for (int i = 0; i < 4; ++i) out += static_cast<char>(size >> 8 * i);
  return out.append(size, '\x28');
}

const auto choice = mds::detail::zstd_stream();

TEST_CASE("from each entry point of zstd data comes the rest", "[codec]") {
  std::mt19937 random(support::test_seed(GENERATE(range(0U, 6U))));
  std::string plain, packed;
  std::size_t frames = 0;
  for (auto left = 1 + random() % 30; left > 0; --left, ++frames) {
    const std::string part = random_text(random, random() % 40'000);
    plain += part;
    if (random() % 4 == 0) packed += skippable(random() % 100, random);
    packed += frame(part, 1 + static_cast<int>(random() % 19), random() % 2 == 0);
    if (random() % 4 == 0) packed += skippable(random() % 100, random);
  }
  const mds::detail::entry_spacing spacing{1 + random() % 50'000,
                                           random() % 2 == 0 ? 0 : random() % 20'000};
  CAPTURE(plain.size(), packed.size(), frames, spacing.plain, spacing.packed);
  const auto entries = entries_of(choice, packed, plain, spacing, random);
  CHECK(entries.size() < frames);
  for (const auto& each : entries) CHECK(each.state.empty());
  check_entries(choice, packed, plain, entries, spacing, random);
}

TEST_CASE("zstd frames are all entered that precede what is asked for", "[codec]") {
  std::mt19937 random(support::test_seed());
  std::string plain, packed;
  for (int i = 0; i < 12; ++i) {
    const std::string part = random_text(random, 10'000);
    plain += part;
    packed += skippable(4, random) + frame(part, 3, true);  // as pzstd does
  }
  const auto entries = entries_of(choice, packed, plain, {40'001, 0}, random);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].plain == 40'000);
  CHECK(entries[1].plain == 80'000);
  const std::string lone = frame(plain, 3, true);
  CHECK(entries_of(choice, lone, plain, {10'000, 0}, random).empty());
}

TEST_CASE("an entry point of zstd data has no state, and other data none at all", "[codec]") {
  support::expect_error([] { (void)choice.enter({1, 1, {std::byte{0}}}); }, mds::errc::corrupt,
                        {"zstd", "state"});
  const mds::detail::stream_decoders known{{".zst", choice.open}};
  CHECK_FALSE(mds::detail::can_enter(known, "a.zst"));
  CHECK_FALSE(mds::detail::can_enter(known, "a.gz"));
  support::expect_error([&] { (void)mds::detail::enter_decoder(known, "a.zst", {1, 1, {}}); },
                        mds::errc::corrupt, {"cannot be entered"});
  CHECK(mds::detail::can_enter({choice}, "a.zst"));
}

}  // namespace zstd_entries_test
