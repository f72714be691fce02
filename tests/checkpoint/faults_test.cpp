// Savers and readers on stores that fail, lose answers or lose the process at every single request;
// processes that are stopped; two jobs on one run; many ranks at once.

#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/detail/start.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
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
  std::invoke_result_t<Call> ask(const Call& call) const {
    before_();
    auto result = call();
    after_();
    return result;
  }

 public:
  using function = std::function<void()>;
  asking(mds::store::memory inner, function before, function after)
      : inner_(std::move(inner)), before_(std::move(before)), after_(std::move(after)) {}

  [[nodiscard]] std::uint64_t size(std::string_view key) const {
    return ask([&] { return inner_.size(key); });
  }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return ask([&] { return inner_.read(key, offset, into); });
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    ask([&] { return inner_.write(key, bytes), 0; });
  }
  [[nodiscard]] bool create(std::string_view key, mds::bytes_view bytes) const {
    return ask([&] { return inner_.create(key, bytes); });
  }
  [[nodiscard]] std::vector<mds::object_info> list(std::string_view prefix) const {
    return ask([&] { return inner_.list(prefix); });
  }
  void remove(std::string_view key) const {
    ask([&] { return inner_.remove(key), 0; });
  }
  [[nodiscard]] std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  mds::store::memory inner_;
  function before_, after_;
};

/// One fault at one request of all that go through it.
class script {
 public:
  script(fault kind, std::size_t at) : kind_(kind), at_(at) {}

  [[nodiscard]] asking over(const mds::store::memory& inner) {
    return {inner, [this] { before(); }, [this] { after(); }};
  }
  /// The next process can reach the store.
  void new_process() { dead_ = false; }
  [[nodiscard]] std::size_t requests() const { return count_; }

 private:
  void before() {
    if (dead_) throw mds::error(errc::canceled, "the process is dead");
    here_ = count_++ == at_;
    if (!here_) return;
    if (kind_ == fault::fails) throw mds::error(errc::permission_denied, "HTTP 403");
    if (kind_ == fault::dies_before) die();
  }
  void after() {
    if (dead_) throw mds::error(errc::canceled, "the process is dead");
    if (!here_) return;
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
  static thread_local bool here_;
};
thread_local bool script::here_ = false;

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

/// Goes on from what is there, and saves two more steps. `told` is the newest that was told to be
/// complete. Returns what cannot be; empty: all is well.
std::string job(const mds::opened_store& run, std::optional<std::uint64_t>& told) {
  mds::saver_options options = options_on(run);
  options.keep = {.last = 1, .grace = 0ms};
  options.uploads = options.copy_threads = 1;
  options.memory.value = 40'000;
  tensors mine;
  mds::checkpoint_saver saver(options);
  std::uint64_t step = 0;
  try {
    const auto last = saver.resume_point();
    if (told && (!last || last->step() < *told)) return "what was complete is lost";
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
      told = step;
    } catch (const mds::error& e) {
      if (e.code() == errc::corrupt) return e.what();  // and the run goes on
    }
  }
  return "";
}

/// What is left, by name: nothing else is in reach of the next job.
std::string state_of(const mds::store::memory& run, std::optional<std::uint64_t> told) {
  std::string out;
  for (const auto& each : run.list("")) {
    std::string kind = each.key.substr(0, each.key.find('/'));
    const std::size_t slash = each.key.rfind('/');
    if (kind == "data") kind += each.key.substr(slash);
    out += kind + ' ';
  }
  return out + (told ? std::to_string(*told) : "none");
}

}  // namespace checkpoint_faults_test

using namespace checkpoint_faults_test;

TEST_CASE("a saver whose store has a fault at any request loses nothing that was complete",
          "[checkpoint]") {
  std::size_t requests = 0;
  const auto two_launches = [](script& faults, const mds::store::memory& inner,
                               std::optional<std::uint64_t>& told) {
    std::string why;
    for (int launch = 0; launch < 2 && why.empty(); ++launch) {
      faults.new_process();
      why = job(faults.over(inner), told);
    }
    return why;
  };
  {
    script none(fault::none, 0);
    std::optional<std::uint64_t> told;
    CHECK(two_launches(none, mds::store::memory(), told) == "");
    CHECK(told == 40U);
    requests = none.requests();
  }
  CHECK(requests > 60);
  struct one_case {
    fault kind;
    std::size_t at;
  };
  std::vector<one_case> cases;
#if defined(__SANITIZE_THREAD__)
  constexpr std::size_t apart = 7;
#else
  constexpr std::size_t apart = 1;
#endif
  for (const fault kind : {fault::fails, fault::lost, fault::dies_before, fault::dies_after})
    for (std::size_t at = 0; at < requests; at += apart) cases.push_back({kind, at});
  std::mutex mutex;
  std::set<std::string> states;
  std::vector<std::string> failures;
  mds::detail::in_parallel(cases.size(), 16, [&](std::size_t i) {
    const mds::store::memory inner;
    script faults(cases[i].kind, cases[i].at);
    std::optional<std::uint64_t> told;
    std::string why = two_launches(faults, inner, told);
    const std::string state = state_of(inner, told);
    if (why.empty()) {
      try {
        const mds::checkpoint_options quiet{.warn = no_warnings};
        const auto found = mds::checkpoint::list(inner, quiet);
        if (told || !found.empty()) {
          const auto last = mds::checkpoint::open(inner, {}, quiet);
          tensors mine;
          last.load(mine.list);
          if ((told && last.step() < *told) || !mine.are(last.step()) || !last.verify().empty())
            why = "the newest is not what was saved";
        }
        if (why.empty()) why = job(inner, told);
        if (why.empty() && mds::checkpoint::open(inner, {}, quiet).step() != told)
          why = "the job after it could not go on";
      } catch (const std::exception& e) {
        why = e.what();
      }
    }
    const std::lock_guard lock(mutex);
    states.insert(state);
    if (!why.empty())
      failures.push_back("fault " + std::to_string(static_cast<int>(cases[i].kind)) +
                         " at request " + std::to_string(cases[i].at) + ": " + why);
  });
  for (const std::string& each : failures) FAIL_CHECK(each);
  WARN(cases.size() << " faults at " << requests << " requests, " << states.size() << " states");
  CHECK(states.size() > 10);
}

TEST_CASE("a reader whose store has a fault at any request gives what was saved, or fails",
          "[checkpoint]") {
  const mds::store::memory inner;
  std::optional<std::uint64_t> told;
  REQUIRE(job(inner, told) == "");
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
  mds::detail::in_parallel(3 * none.requests(), 16, [&](std::size_t i) {
    const fault kind = std::array{fault::fails, fault::lost, fault::dies_after}.at(i % 3);
    script faults(kind, i / 3);
    try {
      const bool good = read(faults);
      wrong += good && kind == fault::lost ? 0U : 1U;
      lost += good ? 1U : 0U;
    } catch (const mds::error& e) {
      wrong += e.code() == errc::permission_denied || e.code() == errc::canceled ? 0U : 1U;
      ++failed;
    }
  });
  CHECK(wrong == 0);
  CHECK(lost == none.requests());
  CHECK(failed == 2 * none.requests());
}

TEST_CASE("512 ranks start at once over one store with few requests each", "[checkpoint]") {
  const mds::store::memory inner;
  std::optional<std::uint64_t> told;
  REQUIRE(job(inner, told) == "");
  constexpr std::uint64_t ranks = 512;
  std::vector<std::atomic<std::size_t>> requests(ranks);
  std::vector<mds::detail::started_run> started(ranks);
  CHECK(on_ranks(ranks, [&](std::uint64_t rank) {
          mds::detail::run_store store(
              asking(inner, [&, rank] { ++requests[rank]; }, [] {}), mds::patient_requests(10s));
          mds::detail::protocol_channel channel;
          const mds::detail::start_options options{
              .token = "job 7", .ranks = ranks, .seed = rank + 1};
          store.run(channel, rank == 0 ? begin_start(channel, options, started[rank])
                                       : await_start(channel, options, started[rank]));
        }) == "");
  REQUIRE(started[0].manifest);
  CHECK(started[0].manifest->id.step == 20);
  std::size_t most = 0, differing = 0;
  for (std::uint64_t rank = 1; rank < ranks; ++rank) {
    most = std::max<std::size_t>(most, requests[rank]);
    differing += started[rank].record == started[0].record ? 0U : 1U;
  }
  CHECK(differing == 0);
  // Objects take two, size and bytes. Polls come 0.25 to 10 s apart, more rarely each time.
  CHECK(most < 40);
  CHECK(requests[0] < 40);
}

TEST_CASE("two jobs that start on one run by mistake never mix their bytes", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int rounds = 3;
#else
  constexpr int rounds = 12;
#endif
  int superseded = 0;
  for (int round = 0; round < rounds; ++round) {
    const mds::store::memory inner;
    const std::uint64_t pauses[2] = {random() % 30, random() % 30};
    std::atomic<int> won{0}, lost{0};
    // Each saves steps of its own; who is slower by chance at which step is another each round.
    CHECK(on_ranks(2, [&](std::uint64_t which) {
            const asking slow(
                inner,
                [&] {
                  for (std::uint64_t i = 0; i < pauses[which]; ++i) std::this_thread::yield();
                },
                [] {});
            mds::saver_options options = options_on(slow);
            options.keep = {.last = 1, .grace = 0ms};
            mds::checkpoint_saver saver(options);
            tensors mine;
            try {
              if (const auto last = saver.resume_point()) {
                last->load(mine.list);
                if (!mine.are(last->step())) throw std::runtime_error("mixed bytes");
              }
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
      [&] {
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
  std::optional<std::uint64_t> told;
  REQUIRE(job(inner, told) == "");
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
  std::optional<std::uint64_t> told;
  REQUIRE(job(inner, told) == "");
  const std::string hint{mds::as_text(mds::read_all(inner, "latest.json"))};
  CHECK(hint.find(mds::checkpoint::open(inner).name()) != std::string::npos);
  for (const std::string& text :
       {std::string("{\"checkpoint\": \"00000009-0000000000000001-000000000777\"}"), hint + hint,
        std::string("\xFF\xFF"), std::string(), std::string(1 << 20, '[')}) {
    inner.write("latest.json", mds::as_bytes(text));
    CHECK(mds::checkpoint::open(inner).step() == told);
    REQUIRE(job(inner, told) == "");
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
      auto& here = memory[name];
      here.resize(static_cast<std::size_t>(*bytes));
      for (std::byte& each : here) each = static_cast<std::byte>(random());
      list.add(name, type, shape, here.data());
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
