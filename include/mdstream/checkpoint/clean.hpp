#pragma once

/// Removes what a run no longer needs, without a job of it.

#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/checkpoint/options.hpp>

#include <string>
#include <vector>

namespace mdstream::inline v0 {

/// What `clean_run` removed, or would.
struct cleaned_run {
  std::vector<std::string> checkpoints{};  ///< that existed
  std::vector<std::string> leftovers{};    ///< data of saves that have no checkpoint
};

/// Removes the checkpoints that the rules do not keep, and what dead jobs left, as a saver does
/// after each save. Waits `keep.grace` in between, so that readers of what goes have time to end.
/// With `dry_run` it only tells.
///
/// A job may save to the run meanwhile: what it is writing stays, as do the newest checkpoint, the
/// one that the last job went on from, and what is pinned.
/// Thread safety: callable from any thread and process, several at a time.
/// Errors: `errc::unavailable` where a job is just starting; `errc::superseded` where one starts
/// meanwhile; `errc::corrupt` where the record of the last start is damaged; what the store fails
/// with. A call that failed can be made again.
/// Cost: about twelve listings, `keep.grace`, and a request for each object that goes.
///
///     mds::clean_run(run, {.last = 3, .every = 10'000});
cleaned_run clean_run(opened_store run, const keep_rules& keep, bool dry_run = false,
                      const checkpoint_options& options = {});

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/clean.ipp>
#endif
