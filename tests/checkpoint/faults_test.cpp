// Savers and readers on stores that fail, lose answers or lose the process at every single request;
// processes that are stopped; two jobs on one run; many ranks at once.

#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "checkpoint/launches.hpp"
#include "checkpoint/training.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"
#include "support/sanitizer.hpp"
#include "support/seed.hpp"

namespace checkpoint_faults_test {

namespace mds = mdstream;
using launches::no_warnings;
using launches::on_ranks;
using launches::options_on;
using mds::errc;
using scratch_directory::scratch;
using support::expect_error;
using namespace std::chrono_literals;

enum class fault : std::uint8_t { none, fails, lost, dies_before, dies_after };

/// A store that asks `before` and `after` each request; either may throw.
class asking {
  template <class Call>
  std::invoke_result_t<Call> ask(std::string_view verb, std::string_view key,
                                 const Call& call) const {
    before_(verb, key);
    std::optional<std::invoke_result_t<Call>> result;
    std::exception_ptr failure;
    try {
      result.emplace(call());
    } catch (...) {
      failure = std::current_exception();  // an answer, too: there is no such object
    }
    after_();
    if (failure) std::rethrow_exception(failure);
    return std::move(*result);
  }

 public:
  using before_function = std::function<void(std::string_view verb, std::string_view key)>;
  using function = std::function<void()>;
  asking(mds::store::memory inner, before_function before, function after)
      : inner_(std::move(inner)), before_(std::move(before)), after_(std::move(after)) {}

  [[nodiscard]] std::uint64_t size(std::string_view key) const {
    return ask("size", key, [&] { return inner_.size(key); });
  }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return ask("read", key, [&] { return inner_.read(key, offset, into); });
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    ask("write", key, [&] { return inner_.write(key, bytes), 0; });
  }
  [[nodiscard]] bool create(std::string_view key, mds::bytes_view bytes) const {
    return ask("create", key, [&] { return inner_.create(key, bytes); });
  }
  [[nodiscard]] std::vector<mds::object_info> list(std::string_view prefix) const {
    return ask("list", prefix, [&] { return inner_.list(prefix); });
  }
  void remove(std::string_view key) const {
    ask("remove", key, [&] { return inner_.remove(key), 0; });
  }
  [[nodiscard]] std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  mds::store::memory inner_;
  before_function before_;
  function after_;
};

/// What a request is about: its verb, and the key without what differs from start to start and from
/// step to step.
std::string name_of(std::string_view verb, std::string_view key) {
  const std::string_view folder = key.substr(0, key.find('/'));
  const std::string_view file = key.substr(key.rfind('/') + 1);
  std::string out = std::string(verb) + ' ' + std::string(folder);
  if (folder == "data" && !file.empty()) return out.append(" ").append(file);
  if (folder == "starts" && !file.empty()) out += file.substr(file.find('.'));
  return out;
}

/// Requests that are made side by side come in any order: they are counted together.
std::map<std::string, std::size_t> by_kind(const std::map<std::string, std::size_t>& requests) {
  std::map<std::string, std::size_t> out;
  for (const auto& [name, count] : requests) {
    const bool is_load = name.starts_with("read") && name.ends_with(".safetensors");
    out[name.starts_with("remove") ? "remove" : is_load ? "load" : name] += count;
  }
  return out;
}

/// One fault at one request of all that go through it. Counts what is asked, by `name_of`.
class script {
 public:
  script(fault kind, std::size_t at) : kind_(kind), at_(at) {}

  [[nodiscard]] asking over(const mds::store::memory& inner) {
    return {inner, [this](std::string_view verb, std::string_view key) { before(verb, key); },
            [this] { after(); }};
  }
  /// The next process can reach the store.
  void new_process() { dead_ = false; }
  [[nodiscard]] bool is_dead() const { return dead_; }
  [[nodiscard]] std::size_t requests() const { return count_; }
  [[nodiscard]] const std::map<std::string, std::size_t>& asked() const { return asked_; }
  /// The request that had the fault.
  [[nodiscard]] const std::string& hit() const { return hit_; }

 private:
  void before(std::string_view verb, std::string_view key) {
    if (dead_) throw mds::error(errc::canceled, "the process is dead");
    is_faulty_ = count_++ == at_;
    {
      const std::lock_guard lock(mutex_);
      ++asked_[name_of(verb, key)];
      if (is_faulty_) hit_ = name_of(verb, key);
    }
    if (!is_faulty_) return;
    if (kind_ == fault::fails) throw mds::error(errc::permission_denied, "HTTP 403");
    if (kind_ == fault::dies_before) die();
  }
  void after() {
    if (dead_) throw mds::error(errc::canceled, "the process is dead");
    if (!is_faulty_) return;
    if (kind_ == fault::lost) throw mds::error(errc::unavailable, "the answer was lost");
    if (kind_ == fault::dies_after) die();
  }
  void die() {
    dead_ = true;
    throw mds::error(errc::canceled, "the process is dead");
  }

  const fault kind_;
  const std::size_t at_;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> dead_{false};
  std::mutex mutex_;
  std::map<std::string, std::size_t> asked_;
  std::string hit_;
  static thread_local bool is_faulty_;
};
thread_local bool script::is_faulty_ = false;

/// Values of a step, and what lists them.
struct tensors {
  std::vector<float> w = std::vector<float>(3000);
  mds::tensor_list list;

  tensors() { list.add("w", mds::tensor_type::f32, {3000}, w.data()); }
  void set(std::uint64_t step) {
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(step * 10'000 + i);
  }
  [[nodiscard]] bool are(std::uint64_t step) const {
    for (std::size_t i = 0; i < w.size(); ++i)
      if (w[i] != static_cast<float>(step * 10'000 + i)) return false;
    return true;
  }
};

/// Goes on from what is there, and saves two more steps. `reported` is the newest that was told to
/// be complete. Returns what cannot be; empty: all is well.
std::string job(const mds::opened_store& run, std::optional<std::uint64_t>& reported) {
  static std::atomic<int> launch_count{0};
  mds::saver_options options = options_on(run);
  options.token = "launch " + std::to_string(++launch_count);
  options.keep = {.last = 1, .grace = 0ms};
  options.uploads = options.copy_threads = 1;
  options.memory.value = 40'000;
  tensors mine;
  mds::checkpoint_saver saver(options);
  std::uint64_t step = 0;
  try {
    const auto last = saver.resume_point();
    if (reported && (!last || last->step() < *reported)) return "what was complete is lost";
    if (last) {
      last->load(mine.list);
      step = last->step();
      if (!mine.are(step)) return "other bytes than were saved";
    }
  } catch (const mds::error& e) {
    return e.code() == errc::corrupt ? e.what() : "";  // the launch ends
  }
  for (int i = 0; i < 2; ++i) {
    mine.set(step += 10);
    try {
      saver.save(step, mine.list);
      saver.finish();
      reported = step;
    } catch (const mds::error& e) {
      if (e.code() == errc::corrupt) return e.what();  // and the run goes on
    }
  }
  return "";
}

/// What is left, by name: nothing else is in reach of the next job.
std::string state_of(const mds::store::memory& run, std::optional<std::uint64_t> reported) {
  std::string out;
  for (const auto& each : run.list("")) {
    std::string kind = each.key.substr(0, each.key.find('/'));
    const std::size_t slash = each.key.rfind('/');
    if (kind == "data") kind += each.key.substr(slash);
    out += kind + ' ';
  }
  return out + (reported ? std::to_string(*reported) : "none");
}

}  // namespace checkpoint_faults_test

using namespace checkpoint_faults_test;

TEST_CASE("a saver whose store has a fault at any request loses nothing that was complete",
          "[checkpoint]") {
  // On a run where another start died before it saved; the second goes on from the first.
  const auto two_launches = [](script& faults, const mds::store::memory& inner,
                               std::optional<std::uint64_t>& reported) {
    const mds::detail::start_id dead{1, 0xAA};
    inner.write(mds::detail::claim_key(dead), mds::as_bytes(std::string_view("{}")));
    inner.write(mds::detail::start_key(dead),
                mds::as_bytes(mds::detail::write_start({.id = dead, .ranks = 1})));
    std::string why;
    for (int launch = 0; launch < 2 && why.empty(); ++launch) {
      faults.new_process();
      why = job(faults.over(inner), reported);
    }
    return why;
  };
  script none(fault::none, 0);
  {
    std::optional<std::uint64_t> reported;
    CHECK(two_launches(none, mds::store::memory(), reported) == "");
    CHECK(reported == 40U);
  }
  std::set<std::string> names;
  for (const auto& [name, count] : none.asked()) names.insert(name);
  const std::set<std::string> start{"list starts",   "write starts.claim",   "list manifest",
                                    "list bad",      "read starts.json",     "list data",
                                    "read manifest", "read tokens",          "write starts.json",
                                    "create tokens", "read data layout.json"};
  const std::set<std::string> load{"read data r0-0.safetensors", "read data r0-1.safetensors"};
  const std::set<std::string> save{"write data r0-0.safetensors",
                                   "write data r0-1.safetensors",
                                   "write data r0.json",
                                   "list data r0.json",
                                   "read data r0.json",
                                   "write data layout.json",
                                   "create manifest",
                                   "write latest.json"};
  const std::set<std::string> retention{"list pins",
                                        "remove manifest",
                                        "remove data r0-0.safetensors",
                                        "remove data r0-1.safetensors",
                                        "remove data r0.json",
                                        "remove data layout.json",
                                        "remove starts.json",
                                        "remove starts.claim"};
  std::set<std::string> all;
  for (const auto* each : {&start, &load, &save, &retention})
    all.insert(each->begin(), each->end());
  CHECK(names == all);

  struct one_case {
    fault kind;
    std::size_t at;
  };
  std::vector<one_case> cases;
  constexpr std::size_t apart = support::under_tsan ? 7 : 1;
  for (const fault kind : {fault::fails, fault::lost, fault::dies_before, fault::dies_after})
    for (std::size_t at = 0; at < none.requests(); at += apart) cases.push_back({kind, at});
  std::mutex mutex;
  std::set<std::string> states;
  std::map<fault, std::map<std::string, std::size_t>> hit;
  std::vector<std::string> failures;
  mds::detail::in_parallel(cases.size(), 16, [&](std::size_t i) {
    const mds::store::memory inner;
    script faults(cases[i].kind, cases[i].at);
    std::optional<std::uint64_t> reported;
    std::string why = two_launches(faults, inner, reported);
    const std::string state = state_of(inner, reported);
    if (why.empty()) {
      try {
        const mds::checkpoint_options quiet{.warn = no_warnings};
        const auto found = mds::checkpoint::list(inner, quiet);
        if (reported || !found.empty()) {
          const auto last = mds::checkpoint::open(inner, {}, quiet);
          tensors mine;
          last.load(mine.list);
          if ((reported && last.step() < *reported) || !mine.are(last.step()) ||
              !last.verify().empty())
            why = "the newest is not what was saved";
        }
        if (why.empty()) why = job(inner, reported);
        if (why.empty() && mds::checkpoint::open(inner, {}, quiet).step() != reported)
          why = "the job after it could not go on";
      } catch (const std::exception& e) {
        why = e.what();
      }
    }
    const std::lock_guard lock(mutex);
    states.insert(state);
    ++hit[cases[i].kind][faults.hit()];
    if (!why.empty())
      failures.push_back("fault " + std::to_string(static_cast<int>(cases[i].kind)) +
                         " at request " + std::to_string(cases[i].at) + ", " + faults.hit() + ": " +
                         why);
  });
  for (const std::string& each : failures) FAIL_CHECK(each);
  INFO(cases.size() << " faults at " << none.requests() << " requests of " << all.size()
                    << " kinds, " << states.size() << " states");
  CHECK(states.size() > 10);
  CHECK(hit.size() == 4);
#if !defined(__SANITIZE_THREAD__)
  for (const auto& [kind, requests] : hit) CHECK(by_kind(requests) == by_kind(none.asked()));
#endif
}

TEST_CASE("a rank whose store has a fault at any request costs its checkpoint at most",
          "[checkpoint]") {
  constexpr std::uint64_t elements = 3000;
  /// One of the two halves of "w", as `tensors` has them.
  struct half {
    std::vector<float> w = std::vector<float>(elements / 2);
    mds::tensor_list list;
    std::uint64_t first;

    explicit half(std::uint64_t rank) : first(rank * elements / 2) {
      list.add("w", mds::tensor_type::f32, {elements}, {{first}, {elements / 2}}, w.data());
    }
    void set(std::uint64_t step) {
      for (std::size_t i = 0; i < w.size(); ++i)
        w[i] = static_cast<float>(step * 10'000 + first + i);
    }
    [[nodiscard]] bool are(std::uint64_t step) const {
      for (std::size_t i = 0; i < w.size(); ++i)
        if (w[i] != static_cast<float>(step * 10'000 + first + i)) return false;
      return true;
    }
  };
  const auto options_of = [](const mds::opened_store& run, std::uint64_t rank) {
    mds::saver_options options = options_on(run);
    options.world = {.ranks_per_node = 2, .rank = rank};
    options.token = "two ranks";
    options.uploads = options.copy_threads = 1;
    return options;
  };
  // Rank 1 goes on from step 20 and saves step 30 by `faults`; then rank 0 commits. Returns what
  // cannot be.
  std::mutex mutex;
  std::map<fault, std::vector<std::string>> complete, refused;  // at which requests
  const auto save = [&](fault kind, script& faults) -> std::string {
    const mds::store::memory inner;
    std::optional<std::uint64_t> reported;
    if (std::string why = job(inner, reported); !why.empty()) return why;
    half upper(0), lower(1);  // which the savers may be copying until they are gone
    mds::checkpoint_saver first(options_of(inner, 0));
    if (first.resume_point().value().step() != 20) return "rank 0 goes on elsewhere";
    bool stored = false;
    try {
      mds::checkpoint_saver second(options_of(faults.over(inner), 1));
      const auto last = second.resume_point();
      if (!last || last->step() != 20) return "rank 1 goes on elsewhere";
      last->load(lower.list);
      if (!lower.are(20)) return "other bytes than were saved";
      lower.set(30);
      second.save(30, lower.list);
      second.finish();
      stored = true;
    } catch (const mds::error& e) {
      if (e.code() != errc::permission_denied && e.code() != errc::canceled) return e.what();
    }
    upper.set(30);
    first.save(30, upper.list);
    const auto objects = inner.list("data/");
    // Without a record it waits for a rank that died, or never came to its save.
    if (std::any_of(objects.begin(), objects.end(),
                    [](const auto& each) { return each.key.ends_with("/r1.json"); })) {
      try {
        first.finish();
        if (!stored && !faults.is_dead()) return "a checkpoint without what a rank could not store";
        const std::lock_guard lock(mutex);
        complete[kind].push_back(faults.hit());
      } catch (const mds::error& e) {
        if (stored || e.code() != errc::io_error) return e.what();
        const std::lock_guard lock(mutex);
        refused[kind].push_back(faults.hit());
      }
    }
    const auto last = mds::checkpoint::open(inner, {}, {.warn = no_warnings});
    tensors whole;
    last.load(whole.list);
    return whole.are(last.step()) ? "" : "the newest is not what was saved";
  };
  script none(fault::none, 0);
  REQUIRE(save(fault::none, none) == "");
  REQUIRE(complete[fault::none].size() == 1);
  const std::map<std::string, std::size_t> asked{{"read tokens", 1},
                                                 {"read data layout.json", 1},
                                                 {"read data r0-0.safetensors", 1},
                                                 {"read data r0-1.safetensors", 1},
                                                 {"list data r1.json", 1},
                                                 {"list starts", 1},
                                                 {"write data r1-0.safetensors", 1},
                                                 {"write data r1.json", 1}};
  CHECK(none.asked() == asked);
  std::vector<std::string> failures;
  mds::detail::in_parallel(4 * none.requests(), 16, [&](std::size_t i) {
    const fault kind =
        std::array{fault::fails, fault::lost, fault::dies_before, fault::dies_after}.at(i % 4);
    script faults(kind, i / 4);
    const std::string why = save(kind, faults);
    if (why.empty()) return;
    const std::lock_guard lock(mutex);
    failures.push_back("fault " + std::to_string(i % 4) + " at " + faults.hit() + ": " + why);
  });
  for (const std::string& each : failures) FAIL_CHECK(each);
  for (auto* each : {&complete, &refused})
    for (auto& [kind, requests] : *each) std::sort(requests.begin(), requests.end());
  using requests = std::vector<std::string>;
  CHECK(complete[fault::lost].size() == none.requests());
  CHECK(complete[fault::fails] == requests{});
  CHECK(complete[fault::dies_before] == requests{});
  CHECK(complete[fault::dies_after] == requests{"write data r1.json"});
  CHECK(refused[fault::fails] == requests{"list data r1.json", "list starts",
                                          "write data r1-0.safetensors", "write data r1.json"});
  for (const fault kind : {fault::lost, fault::dies_before, fault::dies_after})
    CHECK(refused[kind] == requests{});
}

TEST_CASE("a reader whose store has a fault at any request gives what was saved, or fails",
          "[checkpoint]") {
  const mds::store::memory inner;
  std::optional<std::uint64_t> reported;
  REQUIRE(job(inner, reported) == "");
  const auto read = [&](script& faults) {
    const auto last =
        mds::checkpoint::open(faults.over(inner), {}, {.patience = 10s, .warn = no_warnings});
    tensors mine;
    last.load(mine.list);
    return last.step() == 20 && mine.are(20) && last.verify().empty();
  };
  script none(fault::none, 0);
  REQUIRE(read(none));
  std::atomic<std::size_t> lost{0}, failed{0}, wrong{0};
  std::map<fault, std::map<std::string, std::size_t>> hit;
  std::mutex mutex;
  mds::detail::in_parallel(4 * none.requests(), 16, [&](std::size_t i) {
    const fault kind =
        std::array{fault::fails, fault::lost, fault::dies_before, fault::dies_after}.at(i % 4);
    script faults(kind, i / 4);
    try {
      const bool good = read(faults);
      wrong += good && kind == fault::lost ? 0U : 1U;
      lost += good ? 1U : 0U;
    } catch (const mds::error& e) {
      wrong += e.code() == errc::permission_denied || e.code() == errc::canceled ? 0U : 1U;
      ++failed;
    }
    const std::lock_guard lock(mutex);
    ++hit[kind][faults.hit()];
  });
  CHECK(wrong == 0);
  CHECK(lost == none.requests());
  CHECK(failed == 3 * none.requests());
  CHECK(hit.size() == 4);
  for (const auto& [kind, requests] : hit) CHECK(by_kind(requests) == by_kind(none.asked()));
}

TEST_CASE("512 ranks start, load and save at once with few requests each", "[checkpoint]") {
  const mds::store::memory inner;
  std::optional<std::uint64_t> reported;
  REQUIRE(job(inner, reported) == "");
  constexpr std::uint64_t ranks = support::sanitized ? 64 : 512;
  enum : std::uint8_t { starts, loads, saves, phases };
  using counts = std::map<std::string, std::size_t>;
  struct rank_requests {
    std::mutex mutex;
    std::atomic<std::size_t> phase{starts};
    counts of[phases];
  };
  std::vector<rank_requests> asked(ranks);
  constexpr std::uint64_t elements = 3000;
  CHECK(on_ranks(ranks, [&](std::uint64_t rank) {
          rank_requests& mine = asked[rank];
          const asking store(
              inner,
              [&](std::string_view verb, std::string_view key) {
                const std::lock_guard lock(mine.mutex);
                ++mine.of[mine.phase][name_of(verb, key)];
              },
              [] {});
          const std::uint64_t first = elements * rank / ranks;
          std::vector<float> w(elements * (rank + 1) / ranks - first);
          mds::tensor_list list;
          list.add("w", mds::tensor_type::f32, {elements}, {{first}, {w.size()}}, w.data());
          mds::saver_options options = options_on(store);
          options.world = {.ranks_per_node = ranks, .rank = rank};
          options.token = "many";
          options.uploads = options.copy_threads = 1;
          mds::checkpoint_saver saver(options);
          const auto last = saver.resume_point();
          if (!last || last->step() != 20) throw std::runtime_error("it goes on elsewhere");
          mine.phase = loads;
          last->load(list);
          for (std::size_t i = 0; i < w.size(); ++i) {
            if (w[i] != static_cast<float>(200'000 + first + i))
              throw std::runtime_error("other values than were saved");
            w[i] = static_cast<float>(300'000 + first + i);
          }
          mine.phase = saves;
          saver.save(30, list);
          saver.finish();
        }) == "");
  const auto last = mds::checkpoint::open(inner);
  CHECK(last.ranks() == ranks);
  tensors whole;
  last.load(whole.list);
  CHECK(whole.are(30));

  // Polls come 0.25 to 10 s apart, more rarely each time.
  constexpr std::size_t most_polls = 40;
  const auto sum = [](const counts& of) {
    std::size_t out = 0;
    for (const auto& [name, count] : of) out += count;
    return out;
  };
  std::size_t loaded = 0, most = 0;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    INFO("rank " << rank);
    loaded += sum(asked[rank].of[loads]);
    CHECK(asked[rank].of[loads].size() <= 2);  // files
    if (rank == 0) continue;
    counts start = asked[rank].of[starts];
    most = std::max(most, start["read tokens"]);
    CHECK(start.erase("read tokens") == 1);
    CHECK(start == counts{{"read data layout.json", 1}});
    const std::string mine = "write data r" + std::to_string(rank);
    CHECK(asked[rank].of[saves] == counts{{"list starts", 1},
                                          {"list data r" + std::to_string(rank) + ".json", 1},
                                          {mine + "-0.safetensors", 1},
                                          {mine + ".json", 1}});
  }
  CHECK(most <= most_polls);
  CHECK(loaded == ranks + 1);  // one rank holds elements of two files
  counts start = asked[0].of[starts];
  CHECK(start == counts{{"read tokens", 1},
                        {"list starts", 2},
                        {"write starts.claim", 1},
                        {"list manifest", 1},
                        {"read starts.json", 1},
                        {"list bad", 1},
                        {"read manifest", 1},
                        {"read data layout.json", 1},
                        {"list data", 1},
                        {"write starts.json", 1},
                        {"create tokens", 1}});
  counts save = asked[0].of[saves];
  CHECK(save["list data"] <= most_polls);
  save.erase("list data");
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const std::string record = " data r" + std::to_string(rank) + ".json";
    CHECK(save["read" + record] == 1);
    save.erase("read" + record);
  }
  CHECK(save == counts{{"write data r0-0.safetensors", 1},
                       {"write data r0.json", 1},
                       {"write data layout.json", 1},
                       {"create manifest", 1},
                       {"write latest.json", 1},
                       // before the upload, the manifest and retention
                       {"list starts", 3},
                       {"list data r0.json", 1},
                       {"list manifest", 1},
                       {"list pins", 1},
                       {"list bad", 1}});
}

TEST_CASE("two jobs that start on one run by mistake never mix their bytes", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  constexpr int rounds = support::sanitized ? 3 : 12;
  int superseded = 0;
  for (int round = 0; round < rounds; ++round) {
    const mds::store::memory inner;
    const std::uint64_t pauses[2] = {random() % 30, random() % 30};
    std::atomic<int> won{0}, lost{0};
    // Each saves steps of its own; who is slower by chance at which step is another each round. In
    // the first, none saves before both have started.
    std::latch started(round == 0 ? 2 : 0);
    CHECK(on_ranks(2, [&](std::uint64_t which) {
            const asking slow(
                inner,
                [&](std::string_view, std::string_view) {
                  if (pauses[which] != 0)
                    std::this_thread::sleep_for(std::chrono::microseconds(pauses[which]));
                },
                [] {});
            mds::saver_options options = options_on(slow);
            options.keep = {.last = 1, .grace = 0ms};
            mds::checkpoint_saver saver(options);
            tensors mine;
            bool waits = round == 0;
            try {
              if (const auto last = saver.resume_point()) {
                last->load(mine.list);
                if (!mine.are(last->step())) throw std::runtime_error("mixed bytes");
              }
              if (std::exchange(waits, false)) started.arrive_and_wait();
              for (std::uint64_t step = 1; step <= 5; ++step) {
                mine.set(1000 * (which + 1) + step);
                saver.save(1000 * (which + 1) + step, mine.list);
                saver.wait_snapshot();
              }
              saver.finish();
              ++won;
            } catch (const mds::error& e) {
              // What it would go on from may be gone by the later job's retention.
              if (e.code() != errc::superseded && e.code() != errc::not_found &&
                  e.code() != errc::corrupt && e.code() != errc::invalid_argument)
                throw;
              if (std::exchange(waits, false)) started.count_down();
              ++lost;
            }
          }) == "");
    CHECK(won >= 1);
    superseded += lost;
    const auto last = mds::checkpoint::open(inner);
    tensors mine;
    last.load(mine.list);
    CHECK(mine.are(last.step()));
    CHECK(last.verify().empty());
    CHECK(last.step() % 1000 == 5);
  }
  CHECK(superseded >= 1);
}

TEST_CASE("a process that is stopped while another job takes over saves no more when it goes on",
          "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  int superseded = 0;
  for (int round = 0; round < 8; ++round) {
    const scratch root;
    const mds::opened_store run = mds::store::local(root.path());
    const auto save = [&](const mds::opened_store& on, std::vector<std::uint64_t> steps) {
      mds::saver_options options = options_on(on);
      options.keep = {.last = 1, .grace = 0ms};
      options.rank_patience = 5s;  // for a record that the other job swept; less than status_of's
      mds::checkpoint_saver saver(options);
      tensors mine;
      if (const auto last = saver.resume_point()) last->load(mine.list);
      for (const std::uint64_t step : steps) {
        mine.set(step);
        saver.save(step, mine.list);
        saver.finish();
      }
    };
    save(run, {10});
    const auto at = static_cast<std::int64_t>(random() % 6) + 6 * round;
    INFO("round " << round << ", stopped at write, removal or listing " << at);
    struct stopping {
      mds::store::local inner;
      std::shared_ptr<std::atomic<std::int64_t>> left;
      std::uint64_t size(std::string_view key) const { return inner.size(key); }
      std::size_t read(std::string_view key, std::uint64_t from, mds::mutable_bytes into) const {
        return inner.read(key, from, into);
      }
      void write(std::string_view key, mds::bytes_view bytes) const {
        count();
        inner.write(key, bytes);
      }
      bool create(std::string_view key, mds::bytes_view bytes) const {
        count();
        const bool made = inner.create(key, bytes);
        count();
        return made;
      }
      std::vector<mds::object_info> list(std::string_view prefix) const {
        auto found = inner.list(prefix);
        count();
        return found;
      }
      void remove(std::string_view key) const {
        count();
        inner.remove(key);
      }
      std::string url(std::string_view key) const { return inner.url(key); }
      void count() const {
        if (left->fetch_sub(1) == 0) ::kill(::getpid(), SIGSTOP);
      }
    };
    const pid_t child = support::fork_child([&] {
      try {
        save(stopping{mds::store::local(root.path()),
                      std::make_shared<std::atomic<std::int64_t>>(at)},
             {20, 30, 40});
        return 0;
      } catch (const mds::error& e) {
        const bool expected = e.code() == errc::superseded || e.code() == errc::not_found ||
                              e.code() == errc::corrupt;
        return expected ? 3 : 4;
      }
    });
    int status = 0;
    REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
    if (!WIFSTOPPED(status)) {  // it had ended before
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
      continue;
    }
    save(run, {100, 200});
    REQUIRE(::kill(child, SIGCONT) == 0);
    const int ended = support::status_of(child);
    CHECK((ended == 0 || ended == 3));
    superseded += ended == 3 ? 1 : 0;
    const auto last = mds::checkpoint::open(run, {}, {.warn = no_warnings});
    tensors mine;
    last.load(mine.list);
    CHECK(mine.are(last.step()));
    // Only where its start came after the other's, it goes on; or it had saved all before.
    CHECK((last.step() == 200 || (ended == 0 && last.step() == 40)));
    save(run, {1000});
    CHECK(mds::checkpoint::open(run).step() == 1000);
  }
  CHECK(superseded >= 1);
}

TEST_CASE("a store that is out of order for longer than the patience costs one checkpoint",
          "[checkpoint]") {
  const mds::store::memory inner;
  std::atomic<bool> works{true};
  const asking store(
      inner,
      [&](std::string_view, std::string_view) {
        if (!works) throw mds::error(errc::unavailable, "HTTP 503");
      },
      [] {});
  mds::saver_options options = options_on(store);
  options.patience = 300ms;
  mds::checkpoint_saver saver(options);
  tensors mine;
  mine.set(1);
  saver.save(1, mine.list);
  saver.finish();
  works = false;
  mine.set(2);
  saver.save(2, mine.list);
  saver.wait_snapshot();  // which waits for no upload
  expect_error([&] { saver.finish(); }, errc::unavailable, {"HTTP 503"});
  expect_error([&] { (void)mds::checkpoint::open(store, {}, {.patience = 300ms}); },
               errc::unavailable, {"HTTP 503"});  // never "there is none"
  works = true;
  CHECK(mds::checkpoint::open(store).step() == 1);
  mine.set(3);
  saver.save(3, mine.list);
  saver.finish();
  CHECK(saver.repeated_requests() > 0);
  const auto last = mds::checkpoint::open(inner);
  REQUIRE(last.step() == 3);
  last.load(mine.list);
  CHECK(mine.are(3));
}

TEST_CASE("a byte changed anywhere in the tensors' files is found, and so is a file that was cut",
          "[checkpoint]") {
  const mds::store::memory inner;
  std::optional<std::uint64_t> reported;
  REQUIRE(job(inner, reported) == "");
  const auto last = mds::checkpoint::open(inner);
  tensors mine;
  std::size_t damages = 0;
  for (const mds::object_info& each : inner.list("data/")) {
    const auto id = mds::detail::save_of_data(each.key);
    if (!each.key.ends_with(".safetensors") || !id || id->text() != last.name()) continue;
    const std::string name = each.key.substr(each.key.rfind('/') + 1);
    const auto intact = mds::read_all(inner, each.key);
    for (std::size_t at = 0; at < intact.size(); at += 1 + intact.size() / 60) {
      for (const bool cut : {false, true}) {
        INFO(each.key << ", byte " << at << (cut ? " and all behind it gone" : " changed"));
        std::vector<std::byte> damaged(intact.begin(), intact.end());
        if (cut)
          damaged.resize(at);
        else
          damaged[at] ^= std::byte{1};
        inner.write(each.key, damaged);
        const auto found = last.verify();
        REQUIRE(found.size() == 1);
        CHECK(found[0].file == name);
        expect_error([&] { last.load(mine.list); }, errc::corrupt, {name, "step 20"});
        ++damages;
      }
    }
    inner.write(each.key, intact);
  }
  CHECK(damages > 100);
  last.load(mine.list);
  CHECK(mine.are(last.step()));
}

TEST_CASE("a hint that lies leads nobody", "[checkpoint]") {
  const mds::store::memory inner;
  std::optional<std::uint64_t> reported;
  REQUIRE(job(inner, reported) == "");
  const std::string hint{mds::as_text(mds::read_all(inner, "latest.json"))};
  CHECK(hint.find(mds::checkpoint::open(inner).name()) != std::string::npos);
  for (const std::string& text :
       {std::string("{\"checkpoint\": \"00000009-0000000000000001-000000000777\"}"), hint + hint,
        std::string("\xFF\xFF"), std::string(), std::string(1 << 20, '[')}) {
    inner.write("latest.json", mds::as_bytes(text));
    CHECK(mds::checkpoint::open(inner).step() == reported);
    REQUIRE(job(inner, reported) == "");
  }
}

TEST_CASE("tensors of every type, and of no elements, are saved and loaded", "[checkpoint]") {
  const mds::store::memory inner;
  std::map<std::string, std::vector<std::byte>> memory;
  mds::tensor_list list;
  std::mt19937_64 random(support::test_seed());
  for (unsigned i = 0; i < 22; ++i) {
    const auto type = static_cast<mds::tensor_type>(i);
    for (const mds::tensor_shape& shape : {mds::tensor_shape{8}, {0}, {3, 0, 2}, {4, 5, 2}, {}}) {
      const auto bytes = mds::detail::tensor_bytes(type, shape);
      if (!bytes) continue;
      const std::string name = std::string(to_string(type)) + mds::detail::to_string(shape);
      auto& contents = memory[name];
      contents.resize(static_cast<std::size_t>(*bytes));
      for (std::byte& each : contents) each = static_cast<std::byte>(random());
      list.add(name, type, shape, contents.data());
    }
  }
  const auto wanted = memory;
  mds::checkpoint_saver saver(options_on(inner));
  saver.save(1, list);
  saver.finish();
  for (auto& [name, bytes] : memory) std::fill(bytes.begin(), bytes.end(), std::byte{0});
  const auto last = mds::checkpoint::open(inner);
  CHECK(last.tensors().size() == wanted.size());
  CHECK(wanted.size() > 100);
  last.load(list);
  CHECK(memory == wanted);
}

TEST_CASE("boxes of a tensor with more than 2^32 elements are read from a sparse file",
          "[checkpoint]") {
  const scratch root;
  constexpr std::uint64_t rows = 70'000, columns = 65'536;  // 4.6e9 elements
  std::string text = R"({"w":{"dtype":"U8","shape":[70000,65536],"data_offsets":[0,)" +
                     std::to_string(rows * columns) + "]}}";
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string head(8, '\0');
  mds::store_to(reinterpret_cast<std::byte*>(head.data()), std::uint64_t{text.size()});
  head += text;
  const std::string path = root / "model.safetensors";
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  REQUIRE(::ftruncate(file, static_cast<off_t>(head.size() + rows * columns)) == 0);
  REQUIRE(::pwrite(file, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()));
  const auto mark = [&](std::uint64_t row, std::uint64_t column, char value) {
    return ::pwrite(file, &value, 1, static_cast<off_t>(head.size() + row * columns + column)) == 1;
  };
  REQUIRE(mark(0, 3, 'a'));
  REQUIRE(mark(65'536, 4, 'b'));  // element 2^32 + 4
  REQUIRE(mark(rows - 1, columns - 1, 'z'));
  ::close(file);
  const auto model = mds::checkpoint::open_files(mds::store::local(root.path()));
  std::vector<char> box(6);
  const auto read = [&](mds::box part) {
    box.assign(6, '?');
    model.read("w", part, mds::mutable_bytes(reinterpret_cast<std::byte*>(box.data()), 6));
    return std::string(box.begin(), box.end());
  };
  using namespace std::string_literals;
  CHECK(read({{0, 0}, {1, 6}}) == "\0\0\0a\0\0"s);
  CHECK(read({{65'535, 3}, {3, 2}}) == "\0\0\0b\0\0"s);
  CHECK(read({{rows - 2, columns - 3}, {2, 3}}) == "\0\0\0\0\0z"s);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which map terabytes
TEST_CASE("where there is no memory for a snapshot the save fails, and the run goes on",
          "[checkpoint]") {
  const mds::store::memory inner;
  std::vector<float> large(std::size_t{64} << 20);
  mds::tensor_list list;
  list.add("w", mds::tensor_type::f32, {large.size()}, large.data());
  const int status = support::in_child([&] {
    mds::saver_options options = options_on(inner);
    mds::checkpoint_saver saver(options);
    (void)saver.resume_point();
    std::ifstream self("/proc/self/statm");
    std::uint64_t mapped = 0;
    self >> mapped;
    rlimit before{}, tight{};
    ::getrlimit(RLIMIT_AS, &before);
    tight = before;
    tight.rlim_cur = mapped * 4096 + (std::uint64_t{64} << 20);
    ::setrlimit(RLIMIT_AS, &tight);
    int out = 1;
    try {
      saver.save(1, list);
      saver.wait_snapshot();
      saver.finish();
    } catch (const mds::error& e) {
      if (std::string(e.what()).find("no memory for a snapshot") != std::string::npos) out = 0;
    }
    ::setrlimit(RLIMIT_AS, &before);
    if (out != 0) return out;
    saver.save(2, list);
    saver.finish();
    return mds::checkpoint::open(inner).step() == 2 ? 0 : 2;
  });
  CHECK(status == 0);
}
#endif
