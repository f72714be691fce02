#pragma once

/// Which checkpoints go, and what dead starts left.

#include <mdstream/checkpoint/detail/choice.hpp>
#include <mdstream/checkpoint/detail/commit.hpp>
#include <mdstream/checkpoint/detail/protocol.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct retention_policy {
  std::uint64_t last = 0;   ///< so many of the newest stay; 0: all checkpoints, of any line
  std::uint64_t every = 0;  ///< and those whose step is a multiple of this; 0: none
};

/// What lies in a run.
struct run_contents {
  listed_starts starts{};
  std::set<save_id> manifests{};
  std::set<save_id> pinned{};
  std::set<save_id> bad{};                             ///< known to be damaged
  std::map<save_id, std::vector<std::string>> data{};  ///< keys that this library names
};

/// What `own` may remove now, after it saved up to `saved`. Nothing of a later start; nothing of
/// one that the run does not know, which somebody copied there; never the newest of the line, what
/// the start went on from, or what is pinned. A damaged checkpoint does not count as one that is
/// kept, but stays as long as those around it do.
///
/// Manifests are removed first. Their data, and other data without a manifest, are `orphans`: they
/// go later, so that a process that reads one has time to end.
struct retention_plan {
  std::vector<save_id> manifests{};
  std::vector<save_id> orphans{};
  std::vector<start_id> starts{};  ///< nothing of them is left

  friend bool operator==(const retention_plan&, const retention_plan&) = default;
};

[[nodiscard]] retention_plan plan_retention(const retention_policy& policy, const start_record& own,
                                            std::optional<std::uint64_t> saved,
                                            const run_contents& run);

/// Carries out retention for one start, and remembers since when data have been orphans.
class retention {
 public:
  using clock = std::chrono::milliseconds;  ///< of a monotonic clock of this process

  retention(retention_policy policy, start_record own, clock grace)
      : policy_(policy), own_(std::move(own)), grace_(grace) {}

  /// Whether data wait for their grace to end.
  [[nodiscard]] bool has_orphans() const noexcept { return !orphans_.empty(); }

  /// This start has left data of a save that failed.
  void has_failed() noexcept { is_swept_ = false; }

  /// For rank 0, after it committed step `saved`. Throws `errc::superseded` where a later start has
  /// taken over: it is asked before anything is removed, and again before data are. As data go only
  /// `grace` after their manifest, a start that chose a checkpoint while this one removed its
  /// manifest is seen in time.
  [[nodiscard]] protocol sweep(protocol_channel& channel, std::optional<std::uint64_t> saved,
                               clock now, retention_plan& plan) {
    plan = {};
    // Without rules only what failed or died goes. To list a run that keeps all takes long.
    const bool is_due = std::any_of(orphans_.begin(), orphans_.end(),
                                    [&](const auto& each) { return now - each.second >= grace_; });
    if (policy_.last == 0 && is_swept_ && !is_due) co_return;
    run_contents run;
    co_await require_newest_start(channel, own_.id, run.starts);
    for (const object_info& each :
         require(co_await channel.list("data/"), "cannot list the data of the run").listing)
      if (const auto id = save_of_data(each.key)) run.data[*id].push_back(each.key);
    // After the data: what has a manifest by now is no orphan.
    run.manifests = listed_manifests(
        require(co_await channel.list("manifest/"), "cannot list the checkpoints of the run")
            .listing);
    run.pinned = listed_notes(
        require(co_await channel.list("pins/"), "cannot list what is pinned").listing, "pins/");
    run.bad = listed_notes(
        require(co_await channel.list("bad/"), "cannot list what is damaged").listing, "bad/");
    plan = plan_retention(policy_, own_, saved, run);
    if (!plan.manifests.empty()) {
      std::vector<std::string> keys;
      for (const save_id& each : plan.manifests) keys.push_back(each.manifest());
      require(co_await channel.remove(std::move(keys)), "cannot remove manifests");
    }

    std::map<save_id, clock> orphans;
    std::vector<save_id> due;
    for (const save_id& each : plan.orphans) {
      const auto known = orphans_.find(each);
      const clock since = known == orphans_.end() ? now : known->second;
      orphans.emplace(each, since);
      if (now - since >= grace_) due.push_back(each);
    }
    for (const save_id& each : plan.manifests) orphans.emplace(each, now);
    orphans_ = std::move(orphans);
    is_swept_ = true;
    plan.orphans = due;
    if (!due.empty() || !plan.starts.empty()) {
      listed_starts again;
      co_await require_newest_start(channel, own_.id, again);
      std::vector<std::string> keys;
      for (const save_id& each : due)
        keys.insert(keys.end(), run.data[each].begin(), run.data[each].end());
      for (const start_id& each : plan.starts) {
        keys.push_back(start_key(each));
        keys.push_back(claim_key(each));
      }
      require(co_await channel.remove(std::move(keys)), "cannot remove data without a manifest");
      for (const save_id& each : due) orphans_.erase(each);
    }
  }

 private:
  retention_policy policy_;
  start_record own_;
  clock grace_;
  std::map<save_id, clock> orphans_;  ///< since when they have been known
  bool is_swept_ = false;             ///< what there is to sweep is known
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/retention.ipp>
#endif
