#include <mdstream/cache/detail/page_requests.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace page_requests_test {

namespace mds = mdstream;
using mds::detail::page_range, mds::detail::page_requests;

/// Bytes of an address that nobody reads.
mds::bytes_view at(std::uintptr_t address, std::size_t bytes) {
  return {reinterpret_cast<const std::byte*>(address), bytes};
}

std::vector<page_range> ranges(page_requests& of, const std::vector<mds::bytes_view>& samples) {
  const std::span<const page_range> got = of.of(samples);
  return {got.begin(), got.end()};
}

}  // namespace page_requests_test

TEST_CASE("samples become the pages that hold them") {
  using namespace page_requests_test;
  using all = std::vector<page_range>;
  page_requests of(100, 400);
  CHECK(ranges(of, {}).empty());
  CHECK(ranges(of, {at(0, 0), at(150, 0)}).empty());
  CHECK(ranges(of, {at(1000, 1)}) == all{{1000, 100}});
  CHECK(ranges(of, {at(1000, 100)}) == all{{1000, 100}});
  CHECK(ranges(of, {at(1000, 101)}) == all{{1000, 200}});
  CHECK(ranges(of, {at(1099, 2)}) == all{{1000, 200}});
  CHECK(ranges(of, {at(1510, 5), at(1010, 5), at(1020, 5)}) == all{{1000, 100}, {1500, 100}});
  CHECK(ranges(of, {at(1110, 5), at(1010, 5)}) == all{{1000, 200}});
  CHECK(ranges(of, {at(1010, 1000)}) == all{{1000, 400}, {1400, 400}, {1800, 300}});
  CHECK(ranges(of, {at(1010, 300), at(1390, 20), at(1550, 10)}) == all{{1000, 400}, {1400, 200}});
}

TEST_CASE("each page is asked for once, in order, in ranges that are not too long") {
  using namespace page_requests_test;
  constexpr std::size_t page = 64, most = 5 * page;
  page_requests of(page, most);
  for (unsigned round = 0; round < 500; ++round) {
    std::mt19937_64 random(support::test_seed(round));
    std::vector<mds::bytes_view> samples;
    std::set<std::uintptr_t> pages;
    for (std::size_t i = random() % 40; i > 0; --i) {
      const std::uintptr_t begin = 4096 + random() % 20'000;
      const std::size_t bytes = random() % (random() % 8 == 0 ? 2'000 : 100);
      samples.push_back(at(begin, bytes));
      for (std::uintptr_t byte = begin; byte < begin + bytes; ++byte) pages.insert(byte / page);
    }
    INFO("seed " << support::test_seed(round));
    std::vector<std::uintptr_t> asked;
    std::uintptr_t end = 0;
    bool in_order = true, whole = true, short_enough = true, together = true;
    std::size_t before = most;
    for (const page_range each : ranges(of, samples)) {
      in_order = in_order && each.begin >= end;
      whole = whole && each.begin % page == 0 && each.bytes % page == 0 && each.bytes > 0;
      short_enough = short_enough && each.bytes <= most;
      together = together && (each.begin != end || before == most);
      before = each.bytes;
      end = each.begin + each.bytes;
      for (std::uintptr_t at = each.begin; at < end; at += page) asked.push_back(at / page);
    }
    CHECK(in_order);
    CHECK(whole);
    CHECK(short_enough);
    CHECK(together);
    CHECK(asked == std::vector<std::uintptr_t>(pages.begin(), pages.end()));
  }
}
