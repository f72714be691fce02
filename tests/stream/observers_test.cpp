#include <mdstream/core/warning.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/detail/watch.hpp>
#include <mdstream/stream/observers.hpp>

#include <mdstream/mdstream.hpp>

#include <asio/use_future.hpp>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

namespace mds = mdstream;
using namespace mds::literals;

namespace observers_test {

using scratch_directory::scratch;

struct recorder {
  std::vector<mds::observe::step>* steps;
  void operator()(const mds::observe::step& what) const { steps->push_back(what); }
};
static_assert(mds::observe::observer<recorder>);

template <class Observer>
using watched = mds::policies<Observer>;

struct dataset {
  scratch dir;
  dataset() { support::write_plain_dataset(dir / "data", std::vector<std::uint64_t>(10, 10)); }
  [[nodiscard]] mds::loader<>::options options() const {
    return {
        .remote = dir / "data", .local = dir / "cache", .batch_size = 10, .world = mds::world{}};
  }
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs one epoch under an observer and gives it up.
template <class Observer>
void run(const dataset& data, Observer observer) {
  mds::loader<watched<Observer>> loader(data.options(), {}, std::move(observer));
  for (const auto& batch : loader.epoch()) CHECK(batch.size() == 10);
}

}  // namespace observers_test

TEST_CASE("an observer hears of each step") {
  using namespace observers_test;
  const dataset data;
  std::vector<mds::observe::step> steps;
  mds::loader<watched<recorder>> loader(data.options(), {}, recorder{&steps});
  {
    auto epoch = loader.epoch();
    mds::loader<watched<recorder>>::batch_type batch;
    for (int i = 0; i < 5; ++i) REQUIRE(epoch.next(batch));
    for (int i = 0; i < 4; ++i) epoch.async_next(asio::use_future).get();
    REQUIRE(epoch.next(batch));
    CHECK_FALSE(epoch.next(batch));
  }
  REQUIRE(steps.size() == 10);
  std::chrono::nanoseconds stalled{0};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].batch == i);
    CHECK(steps[i].samples == 10);
    CHECK(steps[i].sum.samples == 10 * (i + 1));
    CHECK(steps[i].took >= steps[i].stalled);
    stalled += steps[i].stalled;
  }
  const auto& last = steps.back().sum;
  CHECK(last.bytes_fetched == 10 * (4 + 4 * 11 + 80));
  CHECK(last.requests == 10);
  CHECK(last.failures == 0);
  CHECK(last.evictions == 0);
  CHECK(last.needs >= 10);
  CHECK(last.misses <= last.needs);
  CHECK(last.stalled >= stalled);
}

namespace observers_test {

/// Warns when it is opened, when it is read, and when it goes.
struct warning_store : mds::store::local {
  warning_store(const std::string& path, mds::warning_function tell)
      : local(path), warn(std::move(tell)) {
    warn("opened");
  }
  static bool serves(std::string_view url) { return url.starts_with("warning:"); }
  static warning_store open(std::string_view url,
                            mds::warning_function warn = &mds::warn_on_stderr) {
    return {std::string(url.substr(8)), std::move(warn)};
  }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    warn("read");
    return local::read(key, offset, into);
  }
  std::size_t read_version(std::string_view key, const mds::object_version& held,
                           std::uint64_t offset, mds::mutable_bytes into) const {
    warn("read");
    return local::read_version(key, held, offset, into);
  }
  mds::warning_function warn;
};

template <class Observer>
using warned = typename watched<Observer>::template with<mds::any_store<warning_store>>;

struct hearing {
  std::vector<std::string>* heard;
  void operator()(const mds::observe::step&) const { heard->push_back("step"); }
  void operator()(const mds::observe::warning& what) const { heard->push_back(what.text); }
};

}  // namespace observers_test

TEST_CASE("padding is no sample for an observer") {
  using namespace observers_test;
  const dataset data;
  auto options = data.options();
  options.batch_size = 24;
  options.batching = mds::batching_method::once;
  std::vector<mds::observe::step> steps;
  mds::loader<watched<recorder>> loader(options, {}, recorder{&steps});
  for (const auto& batch : loader.epoch()) CHECK(batch.size() == 24);
  REQUIRE(steps.size() == 5);
  CHECK(steps[3].samples == 24);
  CHECK(steps[4].samples == 4);
  CHECK(steps[4].results == 4);
  CHECK(steps[4].sum.samples == 100);
  CHECK(steps[4].sum.results == 100);
  CHECK(loader.results() == mds::result_counts{.samples = 100, .results = 100});
  CHECK(loader.estimated_results() == 100);
}

TEST_CASE("an observer hears the warnings of the streams' stores") {
  using namespace observers_test;
  const dataset data;
  const mds::loader<warned<hearing>>::options options{.remote = "warning:" + (data.dir / "data"),
                                                      .local = data.dir / "cache",
                                                      .batch_size = 10,
                                                      .world = mds::world{}};
  std::vector<std::string> heard;
  {
    mds::loader<warned<hearing>> loader(options, {}, {&heard});
    CHECK(heard == std::vector<std::string>{"opened", "read"});  // the index
    for (const auto& batch : loader.epoch()) CHECK(batch.size() == 10);
  }
  REQUIRE(heard.size() == 2 + 10 + 10);
  CHECK(heard[2] == "read");  // before the step that waited for it
  CHECK(heard.back() == "step");

  heard.clear();
  mds::runtime threads(1);
  using both = mds::observe::all<hearing, mds::observe::json_lines>;
  const mds::loader_options others{.remote = options.remote,
                                   .local = data.dir / "other",
                                   .batch_size = 10,
                                   .world = mds::world{}};
  auto opened = mds::async_open<mds::loader<warned<both>>>(
                    threads, others, asio::use_future, mds::transform::none{},
                    both(hearing{&heard}, mds::observe::json_lines(data.dir / "lines")))
                    .get();
  CHECK(heard == std::vector<std::string>{"opened", "read"});
}

TEST_CASE("who reads at random names who is warned") {
  using namespace observers_test;
  const dataset data;
  std::atomic<int> calls = 0;
  using policies = mds::policies<mds::any_store<warning_store>>;
  const mds::dataset<policies> samples({.remote = "warning:" + (data.dir / "data"),
                                        .local = data.dir / "cache",
                                        .warn = [&](const std::string&) { ++calls; }});
  CHECK(calls == 2);
}

TEST_CASE("warnings are kept for one who comes later, and passed on at once from then on") {
  mds::kept_warnings kept;
  std::vector<std::string> heard;
  kept.add("a");
  kept.add("b");
  CHECK(heard.empty());
  kept.pass_to([&](const std::string& text) { heard.push_back(text); });
  CHECK(heard == std::vector<std::string>{"a", "b"});
  kept.add("c");
  CHECK(heard == std::vector<std::string>{"a", "b", "c"});
  kept.pass_to({});
}

TEST_CASE("without an observer nobody watches") {
  CHECK(mds::detail::watch::of(mds::observe::none()) == nullptr);
}

TEST_CASE("JSON lines, a trace and a line on the terminal say what happened") {
  using namespace observers_test;
  const dataset data;
  run(data, mds::observe::json_lines(data.dir / "steps.jsonl"));
  std::ifstream lines(data.dir / "steps.jsonl");
  std::string line;
  std::uint64_t batch = 0;
  for (; std::getline(lines, line); ++batch) {
    const auto step = nlohmann::json::parse(line);
    CHECK(step["batch"] == batch);
    CHECK(step["results"] == 10);
    CHECK(step["total"]["samples"] == 10 * (batch + 1));
    CHECK(step["total"]["results"] == 10 * (batch + 1));
    CHECK(step["vetoed"] == 0);
    CHECK(step["total"]["vetoed"] == 0);
    CHECK(step["total"]["next_p99_s"] >= step["total"]["next_p50_s"]);
    CHECK(step["next_s"] >= step["stall_s"]);
  }
  CHECK(batch == 10);

  run(data, mds::observe::chrome_trace(data.dir / "trace.json"));
  std::string trace = text_of(data.dir / "trace.json");
  trace.resize(trace.rfind(','));
  std::size_t calls = 0;
  for (const auto& event : nlohmann::json::parse(trace + "]"))
    if (event["name"] == "next") {
      CHECK(event["ph"] == "X");
      CHECK(event["args"]["batch"] == calls++);
    }
  CHECK(calls == 10);

  const std::string shown = data.dir / "shown";
  {
    std::FILE* file = std::fopen(shown.c_str(), "w");
    REQUIRE(file != nullptr);
    run(data, mds::observe::all(mds::observe::progress_line(file),
                                mds::observe::json_lines(data.dir / "both.jsonl")));
    std::fclose(file);
  }
  CHECK(text_of(shown).find("epoch 0, batch 0: ") != std::string::npos);
  CHECK(text_of(shown).find("p99") != std::string::npos);
  {
    std::FILE* file = std::fopen(shown.c_str(), "w");
    REQUIRE(file != nullptr);
    const mds::observe::progress_line progress(file);
    progress(mds::observe::warning{"a file is open to all"});
    std::fclose(file);
  }
  CHECK(text_of(shown) == "mdstream: warning: a file is open to all\n");
  CHECK(text_of(data.dir / "both.jsonl").find("\"batch\":9") != std::string::npos);
  support::expect_error([&] { mds::observe::json_lines to(data.dir / "no/such/file"); },
                        mds::errc::not_found, {"no/such/file"});
}

TEST_CASE("quantiles of latencies are right within a bucket") {
  mds::observe::latencies none;
  CHECK(none.quantile(0.5).count() == 0);
  mds::observe::latencies some;
  for (std::int64_t i = 1; i <= 1000; ++i) some.add(std::chrono::nanoseconds(i * 1000));
  const auto near = [](std::chrono::nanoseconds got, double wanted) {
    const double x = static_cast<double>(got.count());
    return x > wanted * 0.9 && x < wanted * 1.1;
  };
  CHECK(near(some.quantile(0.5), 500e3));
  CHECK(near(some.quantile(0.99), 990e3));
  CHECK(near(some.quantile(1.0), 1000e3));
  some.add(std::chrono::hours(10000));
  CHECK(some.quantile(1.0) > std::chrono::hours(9000));
}
