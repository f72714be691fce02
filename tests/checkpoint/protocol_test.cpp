#include <mdstream/checkpoint/detail/protocol.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/model_run.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace {

using model_run::fault;
using model_run::job;
using model_run::next_start;

/// Two launches of a job on one store: the second goes on from what the first saved. Returns the
/// newest checkpoint that was told to be complete.
std::optional<std::uint64_t> two_launches(model_run::store& in) {
  std::optional<std::uint64_t> reported;
  const auto step = [&](job& of, std::uint64_t number) {
    of.commit(number);
    reported = number;
    in.now += model_run::milliseconds(700);
    of.retain(number);
  };
  std::uint64_t seed = 1;
  const std::vector<std::vector<std::uint64_t>> launches{{10, 20, 30, 50}, {60, 70, 80, 90}};
  for (const auto& steps : launches) {
    job launch(in, seed++, 3);
    try {
      launch.start();
      if (reported && (!launch.resumed_step() || *launch.resumed_step() < *reported))
        throw std::runtime_error("what was complete is lost");
      for (const std::uint64_t number : steps) step(launch, number);
    } catch (const model_run::killed&) {  // and started again
    } catch (const mdstream::error& e) {
      if (e.code() != mdstream::errc::unavailable) throw;  // the job ends
    }
  }
  return reported;
}

}  // namespace

TEST_CASE("a job starts, saves, retains, and the next goes on", "[checkpoint]") {
  model_run::store store;
  CHECK(two_launches(store) == 90);
  CHECK(next_start(store, 99) == 90);
  std::set<std::uint64_t> steps;
  for (const auto& each : store.list("manifest/"))
    steps.insert(mdstream::detail::save_of_manifest(each.key)->step);
  CHECK(steps == std::set<std::uint64_t>{50, 80, 90});  // the last two, and every 50th
  for (const auto& each : store.list("data/")) {
    const auto id = mdstream::detail::save_of_data(each.key);
    REQUIRE(id);
    INFO(each.key);
    CHECK((id->step == 50 || id->step >= 60));  // 60 and 70: less than the grace ago
  }
}

TEST_CASE("a fault at any request loses nothing that was complete", "[checkpoint]") {
  std::size_t requests = 0;
  {
    model_run::store store;
    (void)two_launches(store);
    requests = store.requests;
  }
  CHECK(requests > 100);
  std::size_t runs = 0;
  std::set<std::optional<std::uint64_t>> outcomes;
  for (const bool conditions : {true, false}) {
    for (std::size_t at = 0; at < requests; ++at) {
      for (const fault kind :
           {fault::fails, fault::lost, fault::kills_before, fault::kills_after}) {
        INFO("request " << at << ", fault " << static_cast<int>(kind));
        model_run::store store;
        store.conditions = conditions;
        store.fault_at = at;
        store.kind = kind;
        const std::optional<std::uint64_t> reported = two_launches(store);
        const std::optional<std::uint64_t> found = next_start(store, 99);
        REQUIRE((!reported || (found && *found >= *reported)));
        outcomes.insert(found);
        ++runs;
      }
    }
  }
  CHECK(runs == 8 * requests);
  CHECK(outcomes.size() >= 2);
}

TEST_CASE("a job that was stopped at any request, and goes on later, spoils nothing",
          "[checkpoint]") {
  // The first job is stopped before or after a request; meanwhile another starts, saves, retains;
  // then the first goes on to its end. `apart` is how long it was stopped.
  for (const std::int64_t apart : {0, 10'000'000}) {
    for (std::size_t at = 0;; ++at) {
      bool stopped = false, over = false;
      for (const bool before : {true, false}) {
        INFO("request " << at << (before ? ", before it" : ", after it") << ", apart " << apart);
        model_run::store store;
        {
          job earlier(store, 1, 2);
          earlier.start();
          for (const std::uint64_t step : {10, 20, 30}) earlier.save(step);
        }
        std::size_t count = 0;
        std::optional<job> other;
        const auto meanwhile = [&] {
          stopped = true;
          other.emplace(store, 3, 3);
          other->start();
          for (const std::uint64_t step : {25, 35, 45}) {
            if (other->resumed_step() && step <= *other->resumed_step()) continue;
            other->save(step);
          }
          store.now += model_run::milliseconds(apart);
          other->save(46);
        };
        job first(store, 2, 2, [&](const mdstream::detail::protocol_request& request) {
          const bool is_chosen = count++ == at;
          if (is_chosen && before) meanwhile();
          auto answer = store.perform(request);
          if (is_chosen && !before) meanwhile();
          return answer;
        });
        try {
          first.start();
          for (const std::uint64_t step : {40, 55, 65}) first.save(step);
          over = count <= at;
        } catch (const mdstream::error& e) {
          INFO(e.what());
          CHECK((e.code() == mdstream::errc::superseded || e.code() == mdstream::errc::not_found ||
                 e.code() == mdstream::errc::corrupt));
          CHECK(stopped);
        }
        if (!stopped) continue;
        const auto found = next_start(store, 99);
        // The later start wins, whatever its steps: only where the first claimed after it, it is
        // it.
        if (!first.committed.empty() && first.started().record.id > other->started().record.id)
          CHECK(found == 65);
        else
          CHECK(found == 46);
        // And again, from what is left.
        REQUIRE(next_start(store, 100) == found);
      }
      if (over || !stopped) {
        CHECK(at > 40);
        break;
      }
    }
  }
}

TEST_CASE("of starts at the same time each has its own number", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  for (int round = 0; round < 300; ++round) {
    model_run::store store;
    const std::size_t jobs = 2 + random() % 3;
    std::vector<mdstream::detail::protocol_channel> channels(jobs);
    std::vector<mdstream::detail::started_run> started(jobs);
    std::vector<mdstream::detail::protocol> starts;
    std::vector<std::size_t> running;
    for (std::size_t i = 0; i < jobs; ++i) {
      starts.push_back(begin_start(
          channels[i], {.token = std::to_string(i), .ranks = 1, .seed = random()}, started[i]));
      starts.back().start();
      running.push_back(i);
    }
    while (!running.empty()) {  // any order of their requests
      const std::size_t which = random() % running.size();
      const std::size_t i = running[which];
      channels[i].answer(store.perform(channels[i].request()));
      if (starts[i].done()) running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    }
    std::set<std::uint64_t> numbers;
    for (auto& each : starts) each.finish();
    for (const auto& each : started) numbers.insert(each.record.id.number);
    CHECK(numbers.size() == jobs);
    CHECK(store.requests < 60 * jobs);
  }
}

TEST_CASE("of jobs that were given one token at the same time one goes on", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::size_t late = 0;
  for (int round = 0; round < 300; ++round) {
    model_run::store store;
    constexpr std::size_t jobs = 3;
    std::vector<mdstream::detail::protocol_channel> channels(jobs);
    std::vector<mdstream::detail::started_run> started(jobs);
    std::vector<mdstream::detail::protocol> starts;
    std::vector<std::size_t> running;
    for (std::size_t i = 0; i < jobs; ++i) {
      starts.push_back(
          begin_start(channels[i], {.token = "7b", .ranks = 2, .seed = random()}, started[i]));
      starts.back().start();
      running.push_back(i);
    }
    while (!running.empty()) {  // any order of their requests; one answer of each may be lost
      const std::size_t which = random() % running.size();
      const std::size_t i = running[which];
      store.fault_at = random() % 20 == 0 ? store.requests : ~std::size_t{0};
      const bool creates = channels[i].request().what == model_run::verb::create;
      store.kind = creates ? fault::lost : fault::none;
      channels[i].answer(store.perform(channels[i].request()));
      if (starts[i].done()) running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    }
    std::optional<std::size_t> winner;
    for (std::size_t i = 0; i < jobs; ++i) {
      const auto failure = support::error_of([&] { starts[i].finish(); });
      if (!failure) {
        CHECK_FALSE(winner);
        winner = i;
        continue;
      }
      CHECK(failure->code() == mdstream::errc::invalid_argument);
      CHECK(std::string(failure->what()).find("\"7b\"") != std::string::npos);
      if (started[i].record.id.number > 0) ++late;  // it had come as far as to hand itself on
    }
    REQUIRE(winner);
    CHECK_FALSE(mdstream::detail::listed_starts::of(store.list("starts/"))
                    .other_from(started[*winner].record.id));  // it is not taken over from
    mdstream::detail::started_run other;
    mdstream::detail::protocol_channel channel;
    run_protocol(channel, await_start(channel, {.token = "7b", .ranks = 2}, other),
                 [&](const auto& request) { return store.perform(request); });
    CHECK(other.record == started[*winner].record);
  }
  CHECK(late > 30);
}

TEST_CASE("512 ranks agree with few requests each", "[checkpoint]") {
  model_run::store store;
  {
    job earlier(store, 1, 2);
    earlier.start();
    for (std::uint64_t step = 1; step <= 3; ++step) earlier.save(step);
  }
  using started = mdstream::detail::started_run;
  constexpr std::size_t ranks = 512;
  std::vector<mdstream::detail::protocol_channel> channels(ranks);
  std::vector<started> results(ranks);
  std::vector<mdstream::detail::protocol> starts;
  std::vector<std::size_t> requests(ranks, 0);
  std::multimap<model_run::milliseconds, std::size_t> due;  // a virtual clock
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const mdstream::detail::start_options options{
        .token = "slurm 17.0", .ranks = ranks, .seed = rank + 1};
    starts.push_back(rank == 0 ? begin_start(channels[rank], options, results[rank])
                               : await_start(channels[rank], options, results[rank]));
    starts.back().start();
    due.emplace(rank == 0 ? 30'000 : 0, rank);  // rank 0 is late
  }
  while (!due.empty()) {
    const auto [now, rank] = *due.begin();
    due.erase(due.begin());
    const auto& request = channels[rank].request();
    const auto next = now + std::chrono::milliseconds(50) + request.pause;
    if (request.what != model_run::verb::pause) ++requests[rank];
    channels[rank].answer(store.perform(request));
    if (!starts[rank].done()) due.emplace(next, rank);
  }
  for (auto& each : starts) each.finish();
  const started& chosen = results[0];
  REQUIRE(chosen.manifest);
  CHECK(chosen.manifest->id.step == 3);
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    const started& other = results[rank];
    CHECK(other.record == chosen.record);
    CHECK(other.layout == chosen.layout);
    CHECK(requests[rank] <= 12);
  }
  CHECK(requests[0] <= 12);
}

TEST_CASE("the newest of 1,000 checkpoints costs a few requests", "[checkpoint]") {
  model_run::store store;
  job earlier(store, 1, 1);
  earlier.start();
  for (std::uint64_t step = 1; step <= 1000; ++step) earlier.commit(step);
  store.requests = 0;
  CHECK(next_start(store, 2) == 1000);
  // The token, two listings and the claim between them; manifests, the last start, what is bad,
  // manifest, layout and files; start and token.
  CHECK(store.requests == 12);
}

TEST_CASE("a byte changed anywhere is never taken for what was saved", "[checkpoint]") {
  model_run::store intact;
  job earlier(intact, 1, 2);
  earlier.start();
  earlier.commit(10);
  earlier.commit(20);
  const std::string newest = earlier.committed.back().text();
  std::map<std::optional<std::uint64_t>, int> found;
  for (const auto& [key, bytes] : intact.objects) {
    if (key.ends_with(".safetensors")) continue;  // by their checksums, when they are read
    for (std::size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 40) {
      for (const bool cut : {true, false}) {
        INFO(key << ", byte " << i << (cut ? " and all behind it gone" : " changed"));
        model_run::store damaged;
        damaged.objects = intact.objects;
        if (cut)
          damaged.objects[key].resize(i);
        else
          damaged.objects[key][i] = static_cast<char>(bytes[i] ^ 4);
        const auto step = next_start(damaged, 9);
        ++found[step];
        const bool matters = key.ends_with("layout.json") || key.starts_with("manifest/");
        CHECK(step == (matters && key.find(newest.substr(newest.size() - 12)) != std::string::npos
                           ? std::optional<std::uint64_t>(10)
                           : std::optional<std::uint64_t>(20)));
      }
    }
  }
  CHECK(found.size() == 2);
}

TEST_CASE("where no checkpoint can be used, none is passed off", "[checkpoint]") {
  model_run::store store;
  job earlier(store, 1, 2);
  earlier.start();
  earlier.commit(10);
  earlier.commit(20);
  SECTION("files are missing or of another size: the one before") {
    store.objects.erase(earlier.committed[1].directory() + "r1-0.safetensors");
    CHECK(next_start(store, 2) == 10);
  }
  SECTION("of another size") {
    store.objects[earlier.committed[1].directory() + "r1-0.safetensors"] += ' ';
    CHECK(next_start(store, 2) == 10);
  }
  SECTION("known to be damaged") {
    store.objects[mdstream::detail::bad_key(earlier.committed[1], 1)] = "{}";
    CHECK(next_start(store, 2) == 10);
    // Both jobs stand on it: rolled back, it stays rolled back.
    store.objects.erase(mdstream::detail::bad_key(earlier.committed[1], 1));
    CHECK(next_start(store, 3) == 10);
  }
  SECTION("the manifest of what a start went on from is gone: it stands in the record") {
    CHECK(next_start(store, 2) == 20);
    store.objects.erase(earlier.committed[1].manifest());
    CHECK(next_start(store, 3) == 20);
  }
  SECTION("all are damaged") {
    for (const auto& each : earlier.committed) store.objects.erase(each.layout());
    support::expect_error([&] { (void)next_start(store, 2); }, mdstream::errc::corrupt,
                          {"none of the run's 2 checkpoints", earlier.committed[1].text()});
  }
  SECTION("the store fails") {
    store.fault_at = store.requests + 5;
    store.kind = fault::fails;
    job next(store, 2, 2);
    support::expect_error([&] { next.start(); }, mdstream::errc::unavailable, {"HTTP 503"});
  }
}

TEST_CASE("a token that was used, and ranks that do not fit, are refused", "[checkpoint]") {
  model_run::store store;
  job first(store, 1, 2);
  first.start();
  job again(store, 1, 2);
  support::expect_error([&] { again.start(); }, mdstream::errc::invalid_argument,
                        {"\"launch 1\"", "each launch"});
  mdstream::detail::started_run found;
  const auto wait = [&](const mdstream::detail::start_options& options) {
    mdstream::detail::protocol_channel channel;
    run_protocol(channel, await_start(channel, options, found),
                 [&](const auto& request) { return store.perform(request); });
  };
  support::expect_error([&] { wait({.token = "launch 1", .ranks = 3}); },
                        mdstream::errc::invalid_argument, {"one of 3", "2 ranks"});
  const auto wait_damaged = [&](int times, std::size_t at) {  // so many answers, on their way
    mdstream::detail::protocol_channel channel;
    run_protocol(channel, await_start(channel, {.token = "launch 1", .ranks = 2}, found),
                 [&](const mdstream::detail::protocol_request& request) {
                   auto answer = store.perform(request);
                   if (request.what == model_run::verb::read && times-- > 0) {
                     char& byte = answer.found.at(0).value().at(at);
                     byte = static_cast<char>(byte ^ 1);
                   }
                   return answer;
                 });
  };
  for (const std::size_t at : {2U, 14U, 40U, 80U}) {
    INFO("byte " << at);
    found = {};
    wait_damaged(1, at);
    CHECK(found.record == first.started().record);
    support::expect_error([&] { wait_damaged(2, at); }, mdstream::errc::corrupt, {"damaged"});
  }
  support::expect_error([&] { wait({.token = "other"}); }, mdstream::errc::unavailable,
                        {"600 seconds"});
  support::expect_error([&] { wait({}); }, mdstream::errc::invalid_argument, {"no way to agree"});
}

TEST_CASE("a commit waits for all ranks, and names those that fail", "[checkpoint]") {
  model_run::store store;
  job launch(store, 1, 3);
  launch.start();
  const mdstream::detail::save_id id{launch.started().record.id, 10};
  mdstream::detail::protocol_channel channel;
  const auto commit = [&](const auto& perform) {
    mdstream::detail::checkpoint_manifest made;
    run_protocol(
        channel,
        commit_checkpoint(
            channel, {.id = id, .ranks = 3, .patience = model_run::milliseconds(60'000)}, made),
        perform);
    return made;
  };
  const auto write_it = [](mdstream::detail::rank_record record) {
    return mdstream::detail::write_record(record);
  };
  const auto perform = [&](const auto& request) { return store.perform(request); };
  launch.store_rank(id, 0);
  launch.store_rank(id, 2);
  support::expect_error([&] { (void)commit(perform); }, mdstream::errc::unavailable,
                        {"1 of 3 ranks", "60 seconds: 1"});
  CHECK(store.list("manifest/").empty());
  SECTION("the slow one comes") {
    int pauses = 0;
    const auto made = commit([&](const mdstream::detail::protocol_request& request) {
      if (request.what == model_run::verb::pause && ++pauses == 5) launch.store_rank(id, 1);
      return store.perform(request);
    });
    CHECK(made.loader_state == "{\"step\":10}");
    CHECK(made.ranks == 3);
    CHECK(pauses == 5);
    CHECK(next_start(store, 2) == 10);
  }
  SECTION("it fails") {
    store.objects[id.record(1)] =
        write_it({.id = id, .rank = 1, .ranks = 3, .failed = "no space left (/dev/nvme0)"});
    support::expect_error([&] { (void)commit(perform); }, mdstream::errc::io_error,
                          {"rank 1 could not save: no space left"});
    job other(store, 2, 1);
    other.start();  // which may be why
    support::expect_error([&] { (void)commit(perform); }, mdstream::errc::superseded,
                          {"taken over"});
  }
  SECTION("what it stored is not there, or not all of it") {
    launch.store_rank(id, 1);
    std::string& file = store.objects[id.directory() + "r1-0.safetensors"];
    const std::string whole = file;
    file.resize(whole.size() - 1);
    support::expect_error([&] { (void)commit(perform); }, mdstream::errc::corrupt,
                          {"rank 1 stored", "r1-0.safetensors has"});
    store.objects.erase(id.directory() + "r1-0.safetensors");
    support::expect_error([&] { (void)commit(perform); }, mdstream::errc::corrupt,
                          {"rank 1 stored", "r1-0.safetensors is missing"});
    CHECK(store.list("manifest/").empty());
    // A listing that passed the file before it was written.
    int lists = 0;
    (void)commit([&](const mdstream::detail::protocol_request& request) {
      if (request.what == model_run::verb::list && ++lists == 2)
        store.objects[id.directory() + "r1-0.safetensors"] = whole;
      return store.perform(request);
    });
    CHECK(next_start(store, 2) == 10);
  }
  SECTION("it saved other elements, or at another place") {
    store.objects[id.record(1)] = write_it({.id = id, .rank = 1, .ranks = 3});
    support::expect_error([&] { (void)commit(perform); }, mdstream::errc::invalid_argument,
                          {"\"w\"", "[4] is missing"});
    store.objects[id.record(1)] =
        write_it({.id = id, .rank = 1, .ranks = 3, .loader_state = "{\"step\":9}"});
    support::expect_error([&] { (void)commit(perform); }, mdstream::errc::invalid_argument,
                          {"ranks 0 and 1", "not at the same place"});
  }
  SECTION("its record is damaged, or of another save") {
    store.objects[id.record(1)] = "{}";
    support::expect_error([&] { (void)commit(perform); }, mdstream::errc::corrupt, {"r1.json"});
    store.objects[id.record(1)] = write_it({.id = {id.start, 9}, .rank = 1, .ranks = 3});
    support::expect_error([&] { (void)commit(perform); }, mdstream::errc::corrupt,
                          {"another checkpoint"});
  }
  CHECK(store.list("manifest/").size() <= 1);
}

TEST_CASE("a store that takes no manifest is waited for as long as its patience says",
          "[checkpoint]") {
  model_run::store store;
  job launch(store, 1, 1);
  launch.start();
  const mdstream::detail::save_id id{launch.started().record.id, 10};
  launch.store_rank(id, 0);
  constexpr model_run::milliseconds patience(60'000);
  std::size_t refused = 0;
  const auto commit = [&](std::size_t refusals, const mdstream::detail::protocol_answer& refusal) {
    mdstream::detail::protocol_channel channel;
    mdstream::detail::checkpoint_manifest made;
    run_protocol(channel, commit_checkpoint(channel, {.id = id, .store_patience = patience}, made),
                 [&](const mdstream::detail::protocol_request& request) {
                   if (request.what != model_run::verb::create || refused == refusals)
                     return store.perform(request);
                   ++refused;
                   return refusal;
                 });
  };
  constexpr std::size_t always = ~std::size_t{0};
  mdstream::detail::protocol_answer refusal;
  SECTION("it never does") {
    refusal.failure = mdstream::errc::unavailable;
    refusal.where.what = "HTTP 503";
    const auto before = store.now;
    support::expect_error([&] { commit(always, refusal); }, mdstream::errc::unavailable,
                          {"cannot create the manifest", "HTTP 503"});
    CHECK(store.now - before >= patience);
  }
  SECTION("it refuses for good") {
    refusal.failure = mdstream::errc::permission_denied;
    support::expect_error([&] { commit(always, refusal); }, mdstream::errc::permission_denied,
                          {"cannot create the manifest"});
  }
  SECTION("it says that there is one, where there is none") {
    refusal.created = false;
    support::expect_error([&] { commit(always, refusal); }, mdstream::errc::io_error,
                          {"the store says that it is there"});
  }
  SECTION("until it takes it") {
    refusal.failure = mdstream::errc::unavailable;
    const auto before = store.now;
    commit(6, refusal);
    CHECK(refused == 6);
    CHECK(store.now - before < patience);
    CHECK(next_start(store, 2) == 10);
    return;
  }
  CHECK(refused < 20);
  CHECK(store.list("manifest/").empty());
}

TEST_CASE("of any history of starts, saves and kills the newest whole one of the line is chosen",
          "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::size_t chosen = 0, none = 0;
  for (int round = 0; round < 150; ++round) {
    model_run::store store;
    // The model: what the last start that came to a record may go on from, the newest last.
    std::vector<mdstream::detail::save_id> line;
    std::uint64_t step = 0, number = 0;
    for (auto launches = 1 + random() % 6; launches > 0; --launches) {
      job launch(store, ++number, 1 + random() % 3);
      launch.start();
      const auto& resumed = launch.started().manifest;
      CHECK(resumed.has_value() == !line.empty());
      if (resumed && !line.empty()) CHECK(resumed->id == line.back());
      for (auto saves = random() % 4; saves > 0; --saves) {
        step += 1 + random() % 10;
        if (random() % 3 == 0) {  // killed in the midst of it: some of its objects are there
          store.fault_at = store.requests + random() % 12;
          store.kind = random() % 2 == 0 ? fault::kills_before : fault::kills_after;
        }
        const mdstream::detail::save_id id{launch.started().record.id, step};
        bool killed = false;
        try {
          launch.commit(step);
        } catch (const model_run::killed&) {
          killed = true;
        }
        store.fault_at = ~std::size_t{0};
        if (store.objects.contains(id.manifest())) line.push_back(id);
        if (killed) break;
      }
      // Some checkpoints lose a part, or are known to be damaged: they are passed over for ever.
      for (std::size_t i = line.size(); i-- > 0;) {
        if (random() % 5 != 0) continue;
        const mdstream::detail::save_id& id = line[i];
        if (random() % 2 == 0)
          store.objects[mdstream::detail::bad_key(id, 0)] = "{}";
        else
          store.objects.erase(id.directory() + "r0-0.safetensors");
        line.erase(line.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (line.empty()) break;  // a start would be refused where there are some and none is whole
    }
    if (line.empty()) {
      ++none;
      continue;
    }
    ++chosen;
    CHECK(next_start(store, 99) == line.back().step);
    // and again, by the start that went on from it
    CHECK(next_start(store, 100) == line.back().step);
  }
  CHECK(chosen > 20);
  CHECK(none > 0);
}
