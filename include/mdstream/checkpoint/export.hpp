#pragma once

/// Checkpoints as plain files, which Python opens without this library.

#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/core/sizes.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0 {

/// What an export writes, and how.
///
///     mds::export_checkpoint(last, mds::store::local("/7b"), {.cast = mds::tensor_type::bf16});
struct export_options {
  /// Approximate size of a file, which has at least one tensor.
  byte_size file_bytes{std::uint64_t{1} << 30};
  /// Maps a tensor's name to its name in the files.
  std::function<std::string(const std::string&)> rename{};
  /// The type that floating-point tensors (F16, BF16, F32, F64) are converted to; default: their
  /// own.
  std::optional<tensor_type> cast{};
  unsigned requests = 8;  ///< at a time; each has a buffer of up to 16 MiB
  /// How long requests that fail with transient errors are retried.
  std::chrono::milliseconds patience = default_patience;
  /// Gets warnings, from any thread: which damaged checkpoint or block is passed over, and why.
  warning_function warn = &warn_on_stderr;
  /// Called with the bytes of each file that is written.
  std::function<void(std::uint64_t)> progress{};
};

/// Writes all tensors of a checkpoint, each whole, as models of the Hub are: `model.safetensors`,
/// or `model-00001-of-00003.safetensors` and so on with `model.safetensors.index.json`, which comes
/// last. Returns the names of the files.
///
/// All bytes are checked.
/// Thread safety: callable from any thread; not twice into one destination at a time.
/// Errors: those of `checkpoint::load`; `errc::invalid_argument` where the destination has a model
/// already, two tensors would have one name, or `cast` is no floating-point type. After a failure
/// the files that were written stay, and have to be removed before another attempt.
/// Cost: memory for the largest file; a request for each 16 MiB that is read.
///
///     mds::export_checkpoint(mds::checkpoint::open(run), mds::store::local("/models/7b"));
std::vector<std::string> export_checkpoint(const checkpoint& from, opened_store into,
                                           const export_options& options = {});

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/export.ipp>
#endif
