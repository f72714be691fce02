#include <mdstream/schedule/detail/reread_watch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

// The watch beside a model of the kernel's page cache, for what is told of it to be what a kernel
// would do.

namespace reread_watch_test {

using mdstream::detail::reread_watch;

/// Files whose pages memory keeps in the order in which they were read: as many as it holds.
class model {
 public:
  model(std::uint64_t file, std::uint64_t memory, std::uint64_t read_ahead)
      : file_(file), memory_(memory), read_ahead_(read_ahead) {}

  /// Touches pages from `first` on. A page that is not there is read with those around it, unless
  /// it was asked for. Returns how many pages were read.
  std::uint64_t touch(std::uint64_t first, std::uint64_t count, bool asked) {
    std::uint64_t read = 0;
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (there_.contains(i)) continue;
      const std::uint64_t begin = asked ? i : i / read_ahead_ * read_ahead_;
      const std::uint64_t end = asked ? i + 1 : std::min(begin + read_ahead_, file_);
      for (std::uint64_t page = begin; page < end; ++page) read += keep(page) ? 1 : 0;
    }
    return read;
  }

 private:
  bool keep(std::uint64_t page) {
    if (!there_.insert(page).second) return false;
    order_.push_back(page);
    if (order_.size() > memory_) {
      there_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }

  std::uint64_t file_, memory_, read_ahead_;  // pages
  std::set<std::uint64_t> there_;
  std::deque<std::uint64_t> order_;
};

struct outcome {
  std::uint64_t asked = 0;  // samples
  std::uint64_t read = 0;   // pages
  std::uint64_t first_asked = 0;
};

/// Reads samples of `pages` pages in this order.
outcome run(reread_watch& watch, model& memory, const std::vector<std::uint64_t>& order,
            std::uint64_t pages) {
  outcome out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool asks = watch.asks();
    if (asks && out.asked++ == 0) out.first_asked = i;
    const std::uint64_t read = memory.touch(order[i] * pages, pages, asks);
    out.read += read;
    watch.add(pages, read);
  }
  return out;
}

/// All samples, shuffled within blocks of `block`; 0: over all.
std::vector<std::uint64_t> shuffled(std::uint64_t samples, std::uint64_t block,
                                    std::mt19937_64& random) {
  std::vector<std::uint64_t> out(samples);
  std::iota(out.begin(), out.end(), std::uint64_t{0});
  if (block == 0) block = samples;
  for (std::uint64_t first = 0; first < samples; first += block)
    std::shuffle(out.begin() + static_cast<std::ptrdiff_t>(first),
                 out.begin() + static_cast<std::ptrdiff_t>(std::min(first + block, samples)),
                 random);
  return out;
}

}  // namespace reread_watch_test

TEST_CASE("files that memory holds are never asked for, whatever is read ahead") {
  using namespace reread_watch_test;
  for (unsigned round = 0; round < 200; ++round) {
    std::mt19937_64 random(support::test_seed(round));
    const std::uint64_t pages = 1 + random() % 16, samples = 1 + random() % 300;
    const std::uint64_t read_ahead = 1 + random() % 2048;
    const std::uint64_t file = pages * samples, memory = file + random() % file;
    INFO("seed " << support::test_seed(round) << ", file " << file << ", memory " << memory
                 << ", read-ahead " << read_ahead);
    reread_watch watch;
    watch.set_memory(memory);
    model kernel(file, memory, read_ahead);
    std::uint64_t read = 0;
    for (int epoch = 0; epoch < 3; ++epoch) {
      const outcome of = run(watch, kernel, shuffled(samples, 0, random), pages);
      CHECK(of.asked == 0);
      read += of.read;
    }
    CHECK(read == file);
  }
}

TEST_CASE("nor those whose shuffle blocks memory holds") {
  using namespace reread_watch_test;
  for (unsigned round = 0; round < 100; ++round) {
    std::mt19937_64 random(support::test_seed(round));
    const std::uint64_t pages = 1 + random() % 8, block = 16 + random() % 100;
    const std::uint64_t read_ahead = 1 + random() % (pages * block);
    // What is read ahead reaches into the next block, and has to stay until that ends.
    const std::uint64_t memory = 2 * pages * block + 4 * read_ahead;
    const std::uint64_t samples = 20 * block;
    INFO("seed " << support::test_seed(round) << ", block " << block << ", sample " << pages
                 << ", read-ahead " << read_ahead);
    reread_watch watch;
    watch.set_memory(memory);
    model kernel(pages * samples, memory, read_ahead);
    CHECK(run(watch, kernel, shuffled(samples, block, random), pages).asked == 0);
  }
}

TEST_CASE("files of several times the memory are asked for after one memory full at most") {
  using namespace reread_watch_test;
  for (unsigned round = 0; round < 50; ++round) {
    std::mt19937_64 random(support::test_seed(round));
    const std::uint64_t pages = 1 + random() % 4, memory = 512 + random() % 512;
    const std::uint64_t samples = (4 + random() % 4) * memory / pages;
    const std::uint64_t read_ahead = pages * (8 + random() % 24);
    INFO("seed " << support::test_seed(round) << ", memory " << memory << ", sample " << pages
                 << ", read-ahead " << read_ahead);
    reread_watch watch;
    watch.set_memory(memory);
    model kernel(pages * samples, memory, read_ahead);
    const outcome first = run(watch, kernel, shuffled(samples, 0, random), pages);
    CHECK(first.asked > 0);
    CHECK(first.first_asked * read_ahead <= 4 * memory);
    // From then on little is read twice.
    const outcome second = run(watch, kernel, shuffled(samples, 0, random), pages);
    CHECK(second.asked == samples);
    CHECK(second.read <= pages * samples);
  }
}

TEST_CASE("asking ends where memory has grown, and begins again where it shrinks") {
  using namespace reread_watch_test;
  reread_watch watch;
  watch.set_memory(100);
  watch.add(16, 118);
  CHECK_FALSE(watch.asks());
  watch.add(0, 1);
  CHECK(watch.asks());  // 101 more were read than needed, and an eighth of that
  for (int i = 0; i < 9; ++i) watch.add(10, 0);
  CHECK(watch.asks());  // not a memory full yet
  watch.add(10, 6);
  CHECK_FALSE(watch.asks());  // 6 of 100
  watch.add(0, 100);
  CHECK_FALSE(watch.asks());
  watch.add(0, 1);
  CHECK(watch.asks());
  for (int i = 0; i < 10; ++i) watch.add(10, 1);
  CHECK(watch.asks());  // a tenth of them
  watch.set_memory(1000);
  for (int i = 0; i < 99; ++i) watch.add(10, 0);
  CHECK(watch.asks());
  watch.add(10, 0);
  CHECK_FALSE(watch.asks());
}

TEST_CASE("an eighth more than is needed may be read for ever") {
  using namespace reread_watch_test;
  reread_watch watch;
  watch.set_memory(100);
  for (int i = 0; i < 10'000; ++i) watch.add(80, 90);
  CHECK_FALSE(watch.asks());
  for (int i = 0; i < 101; ++i) watch.add(80, 91);
  CHECK(watch.asks());
}

TEST_CASE("what was in memory before is no room for what is read later") {
  using namespace reread_watch_test;
  reread_watch watch;
  watch.set_memory(100);
  for (int i = 0; i < 1000; ++i) watch.add(10, 0);
  watch.add(0, 100);
  CHECK_FALSE(watch.asks());
  watch.add(0, 1);
  CHECK(watch.asks());
}
