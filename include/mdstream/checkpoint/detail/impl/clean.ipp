#pragma once

#include <mdstream/checkpoint/clean.hpp>
#include <mdstream/checkpoint/detail/retention.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace mdstream::inline v0 {

MDSTREAM_INLINE cleaned_run clean_run(opened_store run, const keep_rules& keep, bool dry_run,
                                      const checkpoint_options& options) {
  detail::run_store store = detail::reach(std::move(run), options);
  cleaned_run out;
  const auto starts = detail::listed_starts::of(store.list("starts/"));
  if (starts.recorded.empty()) return out;
  const detail::start_id newest = *starts.recorded.rbegin();
  if (starts.other_from(newest))
    throw error(errc::unavailable,
                {.what = "a job is starting on this run, or died when it did: clean once it saves",
                 .url = store.url("")});
  const std::string key = detail::start_key(newest);
  const auto text = store.find(key);
  if (!text)
    throw error(errc::unavailable,
                {.what = "the last start of the run has gone meanwhile", .url = store.url(key)});
  const detail::start_record own = detail::read_start(*text, newest, {.url = store.url(key)});
  std::optional<std::uint64_t> saved;
  for (const detail::save_id& each : detail::listed_manifests(store.list("manifest/")))
    if (each.start == newest) saved = each.step;

  const auto grace = dry_run ? std::chrono::milliseconds(0) : keep.grace;
  detail::retention retention({.last = keep.last, .every = keep.every}, own, grace);
  detail::protocol_channel channel;
  const auto sweep = [&](std::chrono::milliseconds now) {
    detail::retention_plan plan;
    detail::run_protocol(
        channel, retention.sweep(channel, saved, now, plan),
        [&](const detail::protocol_request& request) {
          const bool removes = request.what == detail::protocol_request::verb::remove;
          return dry_run && removes ? detail::protocol_answer() : store.perform(request);
        });
    for (const detail::save_id& each : plan.manifests) out.checkpoints.push_back(each.text());
    for (const detail::save_id& each : plan.orphans) out.leftovers.push_back(each.text());
    return !plan.manifests.empty() || retention.has_orphans();
  };
  if (!sweep(std::chrono::milliseconds(0)) || dry_run) return out;
  (void)store.perform({.what = detail::protocol_request::verb::pause, .pause = grace});
  (void)sweep(grace);
  const std::set<std::string> known(out.checkpoints.begin(), out.checkpoints.end());
  std::erase_if(out.leftovers, [&](const std::string& each) { return known.contains(each); });
  return out;
}

}  // namespace mdstream::inline v0
