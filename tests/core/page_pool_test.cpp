#include <mdstream/core/detail/page_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace page_pool_test {

namespace mds = mdstream;

using mds::detail::page_pool;
using mds::detail::pages;

constexpr std::size_t mib = std::size_t{1} << 20;

pages marked(const page_pool::user& work, std::size_t bytes) {
  pages out = work.take(bytes);
  std::memset(out.data(), 1, out.size());
  return out;
}

/// New memory has zeros.
bool is_kept(const pages& each) { return *each.data() == std::byte{1}; }

TEST_CASE("a buffer that was given back is the next one's, also for a little more", "[core]") {
  page_pool pool;
  const page_pool::user work(pool);
  pages first = marked(work, 4 * mib);
  const std::byte* const at = first.data();
  work.give(std::move(first));
  pages larger = work.take(4 * mib + mib / 4);
  CHECK(larger.data() == at);
  CHECK(larger.size() == 4 * mib + mib / 4);
  CHECK(is_kept(larger));
  std::memset(larger.data(), 1, larger.size());
  work.give(std::move(larger));
  CHECK_FALSE(is_kept(work.take(16 * mib)));
  CHECK(is_kept(work.take(2 * mib)));
}

TEST_CASE("of the buffers that are large enough the smallest is taken", "[core]") {
  page_pool pool;
  const page_pool::user work(pool);
  pages small = marked(work, 2 * mib), large = marked(work, 8 * mib);
  const std::byte* const of_small = small.data();
  work.give(std::move(large));
  work.give(std::move(small));
  CHECK(work.take(2 * mib).data() == of_small);
}

TEST_CASE("two buffers are kept for each piece of work, and none without any", "[core]") {
  page_pool pool;
  const auto kept = [&](const page_pool::user& work) {
    std::vector<pages> all;
    do {
      all.push_back(work.take(mib));
    } while (is_kept(all.back()));
    return all.size() - 1;
  };
  const auto give = [&](const page_pool::user& work, int count) {
    std::vector<pages> all;
    for (int i = 0; i < count; ++i) all.push_back(marked(work, mib));
    for (pages& each : all) work.give(std::move(each));
  };
  {
    const page_pool::user first(pool);
    give(first, 5);
    CHECK(kept(first) == 2);
    {
      const page_pool::user second(pool);
      give(first, 5);
    }
    CHECK(kept(first) == 2);
    give(first, 2);
  }
  const page_pool::user later(pool);
  CHECK(kept(later) == 0);
  pages little = marked(later, mib - 1);
  later.give(std::move(little));
  CHECK(kept(later) == 0);
  CHECK(later.take(0).data() == nullptr);
}

TEST_CASE("threads share a pool, and each has its buffers alone", "[core]") {
  page_pool pool;
  std::vector<std::thread> threads;
  std::vector<int> disturbed(4, 0);
  for (int number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      for (int round = 0; round < 50; ++round) {
        const page_pool::user work(pool);
        pages own = work.take(mib + static_cast<std::size_t>(round) * 4096);
        std::memset(own.data(), number, 4096);
        std::this_thread::yield();
        const auto is_own = [&](std::byte each) { return each == std::byte(number); };
        if (!std::all_of(own.data(), own.data() + 4096, is_own))
          ++disturbed[static_cast<std::size_t>(number)];
        work.give(std::move(own));
      }
    });
  for (std::thread& each : threads) each.join();
  CHECK(disturbed == std::vector<int>(4, 0));
}

TEST_CASE("pages keep their bytes when they grow", "[core]") {
  pages all;
  all.resize(5000);
  CHECK(all.size() == 5000);
  std::memset(all.data(), 1, all.size());
  all.resize(64 * mib);
  CHECK(all.size() == 64 * mib);
  const auto is_one = [](std::byte each) { return each == std::byte{1}; };
  CHECK(std::all_of(all.data(), all.data() + 5000, is_one));
  CHECK(all.data()[64 * mib - 1] == std::byte{0});
  all.resize(4096);
  CHECK(all.capacity() == 64 * mib);
}

}  // namespace page_pool_test
