// A server that refuses everything for five seconds: how soon the rate is back, and how often the
// server was asked in vain.

#include "transfer_burst.hpp"

#include <mdstream/store/http.hpp>
#include <mdstream/store/limited.hpp>
#include <mdstream/store/metered.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "tests/support/nginx.hpp"

namespace bench {

namespace {

namespace mds = mdstream;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto window = 250ms;
constexpr auto quiet = 5s, burst = 5s, after = 10s;
constexpr std::size_t windows = (quiet + burst + after) / window;

struct counted {
  std::array<std::atomic<unsigned>, windows + 1> good{};
  std::atomic<unsigned> failed{0};
};

/// The mean of so many windows from `begin` on.
double mean(const counted& c, std::size_t begin, std::size_t count) {
  double sum = 0;
  for (std::size_t i = begin; i < begin + count; ++i) sum += c.good[i];
  return sum / static_cast<double>(count);
}

}  // namespace

void run_burst(const std::string& scratch) {
  const std::string name = "burst of 503 for 5 s, 1 MiB";
  if (!is_wanted(name)) return;
  const std::filesystem::path data = scratch + "/data", state = scratch + "/nginx";
  const std::filesystem::path flag = scratch + "/refuse";
  std::filesystem::create_directories(data);
  std::filesystem::create_directories(state);
  constexpr std::size_t bytes = 1 << 20;
  std::ofstream(data / "object", std::ios::binary) << std::string(bytes, 'x');
  const support::nginx server(data, state,
                              {.lines = "if (-f " + flag.string() + ") { return 503; }\n"});
  mds::runtime threads(2);
  const mds::metered counting(mds::store::http(threads, server.url()));
  const mds::retrying store(
      threads, mds::adaptive(counting, {.most = 16}),
      {.attempts = 12, .pause = 100ms, .longest = 2s, .jitter = mds::retry_jitter::decorrelated});
  counted seen;
  const auto begin = clock::now();
  std::vector<std::thread> readers;
  for (int i = 0; i < 16; ++i) {
    readers.emplace_back([&] {
      std::vector<std::byte> into(bytes);
      while (clock::now() - begin < quiet + burst + after) {
        try {
          (void)mds::store_read(store, "object", 0, into);
          ++seen.good[std::min<std::size_t>((clock::now() - begin) / window, windows)];
        } catch (const mds::error&) {
          ++seen.failed;
        }
      }
    });
  }
  std::this_thread::sleep_until(begin + quiet);
  std::ofstream(flag).close();
  std::this_thread::sleep_until(begin + quiet + burst);
  std::filesystem::remove(flag);
  for (std::thread& each : readers) each.join();

  constexpr std::size_t second = 1s / window, ends = (quiet + burst) / window;
  const double before = mean(seen, second, quiet / window - second);
  std::size_t back = ends;  // the first second whose rate is 95 % of what it was
  while (back + second <= windows && mean(seen, back, second) < 0.95 * before) ++back;
  const unsigned good = std::accumulate(seen.good.begin(), seen.good.end(), 0U,
                                        [](unsigned sum, const auto& n) { return sum + n; });
  const double asked = static_cast<double>(counting.metrics().calls);
  std::printf(
      "{\"bench\":\"transfer\",\"case\":\"%s\",\"who\":\"mdstream\",\"value\":%.2f,\"unit\":\"s "
      "until 95 %% of the rate\",\"rate_before\":%.4g,\"retries_per_request\":%.3f,\"failed\":%u}"
      "\n",
      name.c_str(), std::chrono::duration<double>((back - ends) * window).count(),
      before * bytes / std::chrono::duration<double>(window).count(),
      asked / static_cast<double>(good + seen.failed) - 1, seen.failed.load());
  std::fflush(stdout);
  std::filesystem::remove_all(data);
  std::filesystem::remove_all(state);
}

}  // namespace bench
