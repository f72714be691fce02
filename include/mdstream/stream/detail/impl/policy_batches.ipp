#pragma once

#include <mdstream/stream/detail/policy_batches.hpp>
#include <mdstream/version.hpp>

#include <exception>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void rethrow_for_sample(const mapped_samples& of, std::size_t i, bool transforms) {
  const auto failure = [&](std::error_code code, const char* cause, std::string column = {}) {
    const sample_location at = of.batch.locations[i];
    return error(code, of.from.placed({.what = (transforms ? "the transform failed on sample "
                                                           : "can not read sample ") +
                                               std::to_string(of.batch.ids[i]),
                                       .column = std::move(column),
                                       .sample = at.index,
                                       .cause = cause},
                                      at.shard));
  };
  try {
    throw;
  } catch (const error& e) {
    std::throw_with_nested(failure(e.code(), e.what(), e.where().column));
  } catch (const std::exception& e) {
    std::throw_with_nested(failure(errc::transform_failed, e.what()));
  } catch (...) {
    std::throw_with_nested(failure(errc::transform_failed, "an exception of unknown type"));
  }
}

}  // namespace mdstream::inline v0::detail
