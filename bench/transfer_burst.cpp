// `mdstream copy` from a server that refuses everything for five seconds: how soon the rate is
// back, and how often the server was asked in vain.

#include "transfer_burst.hpp"

#include "support/harness.hpp"
#include "support/program.hpp"
#include "tests/support/nginx.hpp"
#include "transfer_files.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace bench {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto window = 250ms, glance = 10ms;
constexpr auto quiet = 5s, burst = 5s, after = 10s;
constexpr std::size_t windows = (quiet + burst + after) / window;
constexpr std::size_t more_than_come = 200'000;  // in that time

using counts = std::array<unsigned, windows>;

/// The mean of so many windows from `begin` on.
double mean(const counts& of, std::size_t begin, std::size_t count) {
  double sum = 0;
  for (std::size_t i = begin; i < begin + count; ++i) sum += of[i];
  return sum / static_cast<double>(count);
}

/// Removes the objects that are complete, which so need no room, and returns their number.
unsigned take_out(const folder& into) {
  unsigned found = 0;
  for (const fs::directory_entry& each : fs::directory_iterator(into.path())) {
    if (!each.path().filename().string().starts_with("object-")) continue;
    fs::remove(each.path());
    ++found;
  }
  return found;
}

/// Counts what arrives from the first object on, while `flag` is there for the time of the burst.
counts watch(const folder& into, const fs::path& flag, const std::atomic<bool>& ended) {
  while (take_out(into) == 0) {
    if (ended) throw std::runtime_error("no object arrived before the burst");
    std::this_thread::sleep_for(glance);
  }
  counts arrived{};
  const auto begin = clock::now();
  for (auto now = begin; now - begin < quiet + burst + after; now = clock::now()) {
    const bool refuse = now - begin >= quiet && now - begin < quiet + burst;
    if (refuse) {
      std::ofstream(flag).close();
    } else {
      fs::remove(flag);
    }
    arrived[static_cast<std::size_t>((now - begin) / window)] += take_out(into);
    std::this_thread::sleep_for(glance);
  }
  return arrived;
}

/// How many requests had which answer, of a log in nginx's own format.
struct answers {
  double good = 0, refused = 0;

  explicit answers(const fs::path& log) {
    std::ifstream in(log);
    for (std::string line; std::getline(in, line);) {
      const std::size_t status = line.find("\" ");
      if (status == std::string::npos) continue;
      (line.compare(status + 2, 3, "503") == 0 ? refused : good) += 1;
    }
  }
};

}  // namespace

void run_burst(const std::string& scratch) {
  const std::string name = "burst of 503 for 5 s, 1 MiB";
  if (!is_wanted(name)) return;
  const folder all(scratch), data(all / "data"), state(all / "nginx"), into(all / "into");
  const objects one(data, 1, mib);
  const fs::path flag = all / "refuse", log = all / "requests", urls = all / "urls";
  const support::nginx server(
      data.path(), state.path(),
      {.lines = "access_log " + log.string() + "; if (-f " + flag.string() +
                ") { return 503; }\nrewrite ^/object-[0-9]+$ /bucket/" + one.names[0] + ";\n"});
  {
    std::ofstream list(urls);
    for (std::size_t i = 0; i < more_than_come; ++i) {
      list << server.url() << "/object-" << i << '\n';
    }
  }

  std::atomic<bool> ended = false;
  std::thread copy([&] {
    // It has more to do than there is time, and is ended.
    run_program({"sh", "-c", "timeout 25 \"$@\" 2>&1 | tail -5 >&2 || true", "sh", BENCH_MDSTREAM,
                 "copy", "--list", urls, into.path(), "--jobs", at_once});
    ended = true;
  });
  counts arrived{};
  std::exception_ptr failure;
  try {
    arrived = watch(into, flag, ended);
  } catch (...) {
    failure = std::current_exception();
  }
  while (!ended) {
    take_out(into);
    std::this_thread::sleep_for(glance);
  }
  copy.join();
  if (failure) std::rethrow_exception(failure);

  constexpr std::size_t second = 1s / window, ends = (quiet + burst) / window;
  const double before = mean(arrived, second, quiet / window - second);
  std::size_t back = ends;  // the first second whose rate is 95 % of what it was
  while (back + second <= windows && mean(arrived, back, second) < 0.95 * before) ++back;
  if (back + second > windows) throw std::runtime_error("the rate was not back in time");
  const answers said(log);
  std::printf(
      "{\"bench\":\"transfer\",\"case\":\"%s\",\"who\":\"mdstream\",\"value\":%.2f,\"unit\":\"s "
      "until 95 %% of the rate\",\"rate_before\":%.4g,\"refused_per_request\":%.3f}\n",
      name.c_str(), std::chrono::duration<double>((back - ends) * window).count(),
      before * static_cast<double>(mib) / std::chrono::duration<double>(window).count(),
      said.refused / (said.refused + said.good));
  std::fflush(stdout);
}

}  // namespace bench
