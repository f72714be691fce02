#pragma once

#include <mdstream/checkpoint/detail/retention.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE retention_plan plan_retention(const retention_policy& policy,
                                              const start_record& own,
                                              std::optional<std::uint64_t> saved,
                                              const run_contents& run) {
  const auto is_ours = [&](start_id start) {
    return start == own.id ||
           (start.number < own.id.number &&
            (run.starts.recorded.contains(start) || run.starts.claimed.contains(start)));
  };
  std::set<save_id> kept;
  std::uint64_t good = 0;
  for (const save_id& each : checkpoints_of_line(own.id, own.line, run.manifests)) {
    const bool counts = !run.bad.contains(each);
    if (good < policy.last || (policy.every != 0 && each.step % policy.every == 0))
      kept.insert(each);
    if (counts) ++good;
  }
  if (!own.line.empty()) kept.insert({own.line.front().start, own.line.front().through});
  kept.insert(run.pinned.begin(), run.pinned.end());

  retention_plan out;
  std::set<start_id> in_use{own.id};
  for (const auto& each : own.line) in_use.insert(each.start);
  for (const save_id& each : run.manifests) {
    in_use.insert(each.start);
    const bool own_later = each.start == own.id && (!saved || each.step > *saved);
    if (policy.last != 0 && is_ours(each.start) && !kept.contains(each) && !own_later)
      out.manifests.push_back(each);
  }
  for (const auto& [id, keys] : run.data) {
    in_use.insert(id.start);
    const bool written = id.start == own.id && (!saved || id.step > *saved);
    if (is_ours(id.start) && !run.manifests.contains(id) && !kept.contains(id) && !written)
      out.orphans.push_back(id);
  }
  for (const auto* each : {&run.starts.recorded, &run.starts.claimed})
    for (const start_id& start : *each)
      if (start.number < own.id.number && !in_use.contains(start)) out.starts.push_back(start);
  std::sort(out.starts.begin(), out.starts.end());
  out.starts.erase(std::unique(out.starts.begin(), out.starts.end()), out.starts.end());
  return out;
}

}  // namespace mdstream::inline v0::detail
