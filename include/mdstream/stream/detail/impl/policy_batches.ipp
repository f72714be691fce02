#pragma once

#include <mdstream/stream/detail/bad_samples.hpp>
#include <mdstream/stream/detail/policy_batches.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <exception>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void rethrow_for_sample(const mapped_samples& of, sample_location at,
                                        bool transforms) {
  const auto failure = [&](std::error_code code, const char* cause, std::string column = {}) {
    return error(
        code,
        of.from.placed(
            {.what = (transforms ? "the transform failed on sample " : "can not read sample ") +
                     std::to_string(of.from.locate().first_sample(at.shard) + at.index),
             .column = std::move(column),
             .sample = at.index,
             .cause = cause},
            at.shard));
  };
  try {
    throw;
  } catch (const error& e) {
    std::throw_with_nested(failure(e.code(), e.what(), e.where().column));
  } catch (const collate::detail::bad_sample& e) {
    std::throw_with_nested(failure(e.code(), e.what()));
  } catch (const std::bad_alloc& e) {
    std::throw_with_nested(failure(errc::out_of_memory, e.what()));
  } catch (const std::exception& e) {
    std::throw_with_nested(failure(errc::transform_failed, e.what()));
  } catch (...) {
    std::throw_with_nested(failure(errc::transform_failed, "an exception of unknown type"));
  }
}

MDSTREAM_INLINE bytes_view bytes_in_shard(const mapped_samples& of, sample_location at) {
  std::size_t need = 0;
  while (of.batch.needs[need].shard != at.shard) ++need;
  return of.from.bytes((*of.shards)[need], at);
}

MDSTREAM_INLINE stored_sample next_candidate(const mapped_samples& of, std::size_t i,
                                             sample_location tried, bool transforms) {
  const sample_location first = of.batch.locations[i];
  if (of.shards == nullptr || !is_about_sample(std::current_exception()))
    rethrow_for_sample(of, tried, transforms);
  std::string cause;
  try {
    rethrow_for_sample(of, tried, transforms);
  } catch (const error& e) {
    cause = e.what();
  }
  const auto refuse = [&](errc code, std::string what) {
    std::throw_with_nested(
        error(code, of.from.placed({.what = std::move(what), .sample = first.index, .cause = cause},
                                   first.shard)));
  };
  if (of.shards->empty())
    refuse(
        errc::cache_too_small,
        "no sample can take the place of a bad one: the cache limit does not hold the shards of a "
        "batch, so raise it");
  if (!of.warned->exchange(true))
    of.from.warn("a bad sample, in whose place the next one of its shard is read: " + cause);
  const std::uint64_t samples = of.from.locate().shard_samples(first.shard);
  std::uint64_t bad = (tried.index + samples - first.index) % samples + 1;
  for (sample_location next = tried; bad < std::min(samples, most_bad_in_a_row); ++bad) {
    next = following(next, of.from.locate());
    try {
      return {next, bytes_in_shard(of, next)};
    } catch (const error& e) {
      if (e.code() != errc::corrupt) throw;  // its place in the shard is bad
    }
  }
  refuse(errc::corrupt, (bad == samples ? "all samples of the shard are bad"
                                        : std::to_string(bad) + " samples in a row are bad") +
                            std::string(", so that none of them can take the place of another"));
  return {};
}

}  // namespace mdstream::inline v0::detail
