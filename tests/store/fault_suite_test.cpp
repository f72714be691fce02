// Ten thousand seeded faults (MDSTREAM_LONG_TESTS in the environment: a hundred thousand), and
// every byte right in the end.

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/fault_injecting.hpp>
#include <mdstream/store/hedged.hpp>
#include <mdstream/store/limited.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/retrying.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/sanitizer.hpp"
#include "support/seed.hpp"

namespace fault_suite_test {

namespace mds = mdstream;
using mds::store_fault;
using namespace std::chrono_literals;

std::uint64_t wanted_faults() {
  if (std::getenv("MDSTREAM_LONG_TESTS") != nullptr) return 100'000;
  return support::sanitized ? 2'000 : 10'000;
}

std::uint64_t hash_of(mds::bytes_view bytes) {
  mds::fnv1a hash;
  for (const std::byte b : bytes) hash.add(std::to_integer<int>(b));
  return hash.value();
}

/// One worker's objects: written, then read in every way, as a cache does: by size and hash, again
/// where they do not fit.
template <class S>
class worker {
 public:
  worker(mds::runtime& threads, S store, std::string name, std::uint64_t seed)
      : threads_(threads), store_(std::move(store)), name_(std::move(name)), random_(seed) {}

  /// Attempts that were needed beyond the first.
  std::uint64_t round() {
    const std::string key = name_ + std::to_string(random_() % 8);
    const auto bytes = conformance::noise(1 + random_() % 3000, static_cast<unsigned>(random_()));
    std::uint64_t again = until([&] {
      mds::store_write(store_, key, bytes);
      return true;
    });
    std::vector<std::byte> got(bytes.size());
    again += until([&] {
      std::size_t done = 0;
      while (done < got.size()) {  // a short read is an answer, which the reader sees
        const std::size_t more = mds::store_read(store_, key, done, std::span(got).subspan(done));
        if (more == 0) return false;
        done += more;
      }
      return hash_of(got) == hash_of(bytes);
    });
    CHECK(got == bytes);
    got.assign(bytes.size(), std::byte{0});
    again += until([&] {
      mds::detail::wait_for<>([&](auto& where, auto done) {
        mds::detail::async_read_ranges(
            threads_, store_, key, {.bytes = bytes.size()}, got,
            {.range_bytes = 500, .retry = {.attempts = 20, .pause = 1us}}, {}, where,
            std::move(done));
      });
      return hash_of(got) == hash_of(bytes);
    });
    CHECK(got == bytes);
    again += until([&] { return mds::store_size(store_, key) == bytes.size(); });
    return again;
  }

 private:
  template <class Try>
  static std::uint64_t until(Try attempt) {
    for (std::uint64_t failed = 0;; ++failed) {
      try {
        if (attempt()) return failed;
      } catch (const mds::error& e) {
        INFO(e.what());
        REQUIRE(mds::is_retryable(e.code()));
      }
      REQUIRE(failed < 1000);
    }
  }

  mds::runtime& threads_;
  const S store_;
  const std::string name_;
  std::mt19937_64 random_;
};

TEST_CASE("thousands of faults of every kind, and every byte right", "[store]") {
  const std::uint64_t seed = support::test_seed();
  INFO("seed " << seed);
  mds::runtime threads(2);
  const mds::fault_injecting faulty(
      threads, mds::blocking<mds::store::memory>(threads, mds::store::memory()),
      {.chance = 0.2,
       .kinds = {store_fault::unavailable, store_fault::reset, store_fault::stall,
                 store_fault::short_read, store_fault::broken_off, store_fault::wrong_byte,
                 store_fault::wrong_size},
       .seed = seed,
       .stall = 20us});
  const mds::retrying store(
      threads, mds::adaptive(mds::hedged(threads, faulty, {.least = 200us}), {.most = 8}),
      {.attempts = 6, .pause = 1us, .jitter = mds::retry_jitter::decorrelated});
  using store_type = std::remove_const_t<decltype(store)>;
  std::uint64_t rounds = 0, again = 0;
  worker<store_type> one(threads, store, "one-", seed + 1);
  while (faulty.faults() < wanted_faults()) {
    again += one.round();
    ++rounds;
  }
  CHECK(rounds > 100);
  CHECK(again > 0);
}

}  // namespace fault_suite_test
