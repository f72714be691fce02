#pragma once

/// A model that lies in plain files as the first checkpoint of a run.

#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/core/sizes.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mdstream::inline v0 {

/// What an import makes of a model, and how.
///
///     mds::import_checkpoint(model, run, {.step = 1000, .cast = mds::tensor_type::f32});
struct import_options {
  std::uint64_t step = 0;  ///< of the new checkpoint
  /// Size of a file, at most. Larger tensors are divided.
  byte_size file_bytes{std::uint64_t{512} << 20};
  /// Maps a tensor's name to its name in the run.
  std::function<std::string(const std::string&)> rename{};
  /// The type that floating-point tensors (F16, BF16, F32, F64) are converted to; default: their
  /// own.
  std::optional<tensor_type> cast{};
  unsigned requests = 8;  ///< at a time; each has a buffer of up to 16 MiB
  /// How long requests that fail with transient errors are retried.
  std::chrono::milliseconds patience = default_patience;
  /// Gets warnings, from any thread, such as the first failure of a store.
  warning_function warn = &warn_on_stderr;
  /// Called with the bytes of each file that is stored, from several threads.
  std::function<void(std::uint64_t)> progress{};
};

/// Makes a checkpoint of all tensors of another, as of `checkpoint::open_files`, in a run that has
/// none. Jobs that start on the run go on from it. Returns its name.
///
/// All that is stored is read back and compared before the checkpoint is complete. Metadata are
/// kept, a loader's state is not.
/// Thread safety: callable from any thread; one import into a run at a time.
/// Errors: those of `checkpoint::load`; `errc::invalid_argument` where the run has checkpoints, two
/// tensors would have one name, or `cast` is no floating-point type; `errc::corrupt` where the
/// store does not give back what it took; what the stores fail with. After a failure there is no
/// checkpoint, and the same call can be made again.
/// Cost: memory for two files; all bytes are read, stored and read back.
///
///     auto model = mds::checkpoint::open_files(mds::full_store::open("hf://org/name"));
///     mds::import_checkpoint(model, mds::full_store::open("s3://bucket/7b"));
std::string import_checkpoint(const checkpoint& from, opened_store run,
                              const import_options& options = {});

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/import.ipp>
#endif
