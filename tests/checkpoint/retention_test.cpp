#include <mdstream/checkpoint/detail/retention.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "checkpoint/model_run.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

namespace {

using mdstream::detail::plan_retention;
using mdstream::detail::retention_policy;
using mdstream::detail::run_contents;
using mdstream::detail::save_id;
using mdstream::detail::start_id;
using mdstream::detail::start_record;

struct random_run {
  retention_policy policy;
  start_record own;
  std::optional<std::uint64_t> saved;
  run_contents contents;
};

/// Starts 1 to 6, of which one is our own, with some of everything.
random_run make_run(std::mt19937_64& random) {
  random_run out;
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  out.policy = {.last = random() % 4, .every = random() % 3 == 0 ? 1 + random() % 4 : 0};
  out.own.id = {1 + random() % 6, 7};
  for (std::uint64_t number = 1; number <= 6; ++number) {
    const start_id start{number, 7};
    if (chance(80) || start == out.own.id) out.contents.starts.claimed.insert(start);
    if (chance(70) || start == out.own.id) out.contents.starts.recorded.insert(start);
    if (chance(20)) continue;  // it never saved
    for (std::uint64_t step = 1; step <= 8; ++step) {
      const save_id id{start, step};
      const bool manifest = chance(40);
      if (manifest) out.contents.manifests.insert(id);
      if (manifest ? chance(95) : chance(30))
        out.contents.data[id] = {id.layout(), id.record(0), id.directory() + "r0-0.safetensors"};
      if (chance(8)) out.contents.pinned.insert(id);
      if (chance(8)) out.contents.bad.insert(id);
    }
  }
  for (std::uint64_t number = out.own.id.number; number-- > 1;)
    if (chance(50)) out.own.line.push_back({{number, 7}, 1 + random() % 8});
  if (chance(80)) out.saved = 1 + random() % 8;
  return out;
}

}  // namespace

TEST_CASE("retention removes nothing that somebody may need", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::size_t manifests = 0, orphans = 0, starts = 0;
  for (int round = 0; round < 5000; ++round) {
    const random_run run = make_run(random);
    const auto& [policy, own, saved, contents] = run;
    const auto plan = plan_retention(policy, own, saved, contents);
    manifests += plan.manifests.size();
    orphans += plan.orphans.size();
    starts += plan.starts.size();

    const auto line = checkpoints_of_line(own.id, own.line, contents.manifests);
    std::set<save_id> gone(plan.manifests.begin(), plan.manifests.end());
    const auto known = [&](const start_id& start) {
      return contents.starts.claimed.contains(start) || contents.starts.recorded.contains(start);
    };
    bool right = true;
    for (const auto* each : {&plan.manifests, &plan.orphans})
      for (const save_id& id : *each) {
        right = right && id.start.number <= own.id.number && known(id.start);
        right = right && !contents.pinned.contains(id);
        right = right && (id.start != own.id || (saved && id.step <= *saved));
        right = right && (own.line.empty() ||
                          id != save_id{own.line.front().start, own.line.front().through});
      }
    for (const save_id& id : plan.orphans) right = right && !contents.manifests.contains(id);
    for (const save_id& id : plan.manifests) right = right && contents.manifests.contains(id);
    // Of the line: the newest, whatever it is; so many good ones, as far as there are; each m-th.
    std::uint64_t good_before = 0, good_after = 0;
    for (const save_id& id : line) {
      if (policy.every != 0 && id.step % policy.every == 0) right = right && !gone.contains(id);
      if (contents.bad.contains(id)) continue;
      ++good_before;
      if (!gone.contains(id)) ++good_after;
    }
    const std::uint64_t last = std::max<std::uint64_t>(policy.last, 1);
    right = right && good_after >= std::min(last, good_before);
    if (policy.last == 0) right = right && plan.manifests.empty();
    if (!line.empty()) right = right && !gone.contains(line.front());
    for (const start_id& start : plan.starts) {
      right = right && start.number < own.id.number;
      const auto of_start = [&](const save_id& id) { return id.start == start; };
      right = right &&
              std::none_of(contents.manifests.begin(), contents.manifests.end(), of_start) &&
              std::none_of(contents.data.begin(), contents.data.end(),
                           [&](const auto& each) { return of_start(each.first); });
    }
    // What goes at once: done again after it, there is nothing more but what has become orphans.
    random_run after = run;
    for (const save_id& id : plan.manifests) after.contents.manifests.erase(id);
    const auto again = plan_retention(policy, own, saved, after.contents);
    right = right && again.manifests.empty();
    for (const save_id& id : plan.manifests)
      right = right &&
              (!contents.data.contains(id) ||
               std::find(again.orphans.begin(), again.orphans.end(), id) != again.orphans.end());
    INFO("round " << round);
    REQUIRE(right);
  }
  CHECK(manifests > 1000);
  CHECK(orphans > 1000);
  CHECK(starts > 10);
}

TEST_CASE("the last, each m-th and pinned checkpoints stay", "[checkpoint]") {
  const start_id own{3, 1}, before{2, 1}, dead{1, 1}, copied{1, 99}, later{4, 1};
  run_contents run;
  for (const start_id& each : {own, before, dead, later}) run.starts.recorded.insert(each);
  for (const start_id& each : {own, before, dead, copied, later})
    for (std::uint64_t step = 100; step <= 1000; step += 100) run.manifests.insert({each, step});
  run.pinned.insert({before, 300});
  run.data[{before, 50}] = {"data/…"};
  run.data[{own, 1100}] = {"data/…"};  // is being written
  const start_record record{.id = own, .line = {{before, 400}}};
  const auto plan = plan_retention({.last = 2, .every = 500}, record, 1000, run);
  std::set<save_id> left = run.manifests;
  for (const save_id& each : plan.manifests) left.erase(each);
  std::set<save_id> of_ours;
  for (const save_id& each : left)
    if (each.start != copied && each.start != later) of_ours.insert(each);
  CHECK(of_ours ==
        std::set<save_id>{{before, 300}, {before, 400}, {own, 500}, {own, 900}, {own, 1000}});
  CHECK(left.size() == of_ours.size() + 20);
  CHECK(plan.orphans == std::vector<save_id>{{before, 50}});
  CHECK(plan.starts.empty());
}

TEST_CASE("a damaged checkpoint is not counted as one that is kept", "[checkpoint]") {
  const start_id own{1, 1};
  run_contents run;
  run.starts.recorded.insert(own);
  for (std::uint64_t step = 1; step <= 5; ++step) run.manifests.insert({own, step});
  run.bad = {{own, 4}, {own, 2}};
  const auto plan = plan_retention({.last = 2, .every = 0}, {.id = own}, 5, run);
  CHECK(plan.manifests == std::vector<save_id>{{own, 1}, {own, 2}});
}

TEST_CASE("without rules no checkpoint goes, on whatever line it is", "[checkpoint]") {
  const start_id own{3, 1}, rolled_back{2, 1};
  run_contents run;
  for (const start_id& each : {own, rolled_back}) run.starts.recorded.insert(each);
  run.manifests = {{rolled_back, 10}, {rolled_back, 20}, {own, 15}};
  run.bad = {{rolled_back, 20}};
  for (const save_id& each : run.manifests) run.data[each] = {each.layout()};
  run.data[{rolled_back, 30}] = {"data/…"};  // nobody committed it
  const start_record record{.id = own, .line = {{rolled_back, 10}}};
  const auto plan = plan_retention({}, record, 15, run);
  CHECK(plan.manifests.empty());
  CHECK(plan.orphans == std::vector<save_id>{{rolled_back, 30}});
  CHECK(plan_retention({.last = 1}, record, 15, run).manifests ==
        std::vector<save_id>{{rolled_back, 20}});
}

TEST_CASE("a run that keeps all is listed once, and again when something may go", "[checkpoint]") {
  using namespace mdstream::detail;
  model_run::store store;
  const start_id dead{1, 1}, own{2, 1};
  for (const start_id& each : {dead, own}) store.objects[claim_key(each)] = "{}";
  const auto put = [&](save_id id) { store.objects[id.record(0)] = "{}"; };
  const auto has = [&](save_id id) { return store.objects.contains(id.record(0)); };
  put({dead, 10});
  retention sweeper({}, {.id = own}, model_run::milliseconds(1000));
  std::size_t listings = 0;
  const auto sweep = [&](std::uint64_t saved, std::int64_t now) {
    protocol_channel channel;
    retention_plan plan;
    run_protocol(channel, sweeper.sweep(channel, saved, model_run::milliseconds(now), plan),
                 [&](const protocol_request& request) {
                   listings += request.what == model_run::verb::list && request.keys[0] == "data/";
                   return store.perform(request);
                 });
    return plan.orphans.size();
  };
  for (std::uint64_t step = 20; step < 30; ++step) CHECK(sweep(step, std::int64_t(step)) == 0);
  CHECK(listings == 1);
  CHECK(has({dead, 10}));
  CHECK(sweep(30, 1020) == 1);  // its grace is over
  CHECK_FALSE(has({dead, 10}));
  CHECK(listings == 2);
  put({own, 31});
  CHECK(sweep(32, 5000) == 0);
  CHECK(listings == 2);
  sweeper.has_failed();
  CHECK(sweep(33, 6000) == 0);
  CHECK(sweep(34, 7000) == 1);
  CHECK_FALSE(has({own, 31}));
  CHECK(sweep(35, 9000) == 0);
  CHECK(listings == 4);
}

TEST_CASE("keys of a run are read as they were written, and no others", "[checkpoint]") {
  using namespace mdstream::detail;
  const save_id id{{12, 0xABCDEF}, 1000};
  CHECK(id.text() == "00000012-0000000000abcdef-000000001000");
  CHECK(save_id::parse(id.text()) == id);
  CHECK(save_of_manifest(id.manifest()) == id);
  CHECK(save_of_data(id.layout()) == id);
  CHECK(save_of_data(id.record(17)) == id);
  CHECK(save_of_data(id.directory() + data_file_name(3, 4)) == id);
  CHECK(save_of_note(pin_key(id, "me"), "pins/") == id);
  CHECK(save_of_note(bad_key(id, 3), "bad/") == id);
  const save_id large{{123'456'789'012, ~std::uint64_t{0}}, ~std::uint64_t{0}};
  CHECK(save_of_data(large.layout()) == large);
  for (const char* other : {"notes.txt", "r1.json.bak", "r01.json", "r-1.json", "r1-2.bin",
                            "r1-02.safetensors", "model.safetensors", "sub/r1.json"})
    CHECK(!save_of_data(id.directory() + other));
  for (const char* other :
       {"manifest/12-abcdef-1000.json", "manifest/00000012-0000000000ABCDEF-000000001000.json",
        "manifest/00000012-0000000000abcdef-00000001000.json", "manifest/.json",
        "manifest/000000012-0000000000abcdef-000000001000.json"})
    CHECK(!save_of_manifest(other));
  CHECK(token_key("a b/..\n") == "tokens/a.20b.2f.2e.2e.0a.json");
}
