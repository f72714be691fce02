#pragma once

/// The one way from the plain code of an epoch to what the policies do with every sample: a call a
/// batch.

#include <mdstream/cache/detail/shard_ref.hpp>
#include <mdstream/collate/plan.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/format/sample_layout.hpp>
#include <mdstream/stream/detail/batch_reader.hpp>
#include <mdstream/stream/detail/prepared_samples.hpp>
#include <mdstream/stream/stream_info.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

class corpus;

/// Where an epoch lies: what the generators of its samples are made from.
struct epoch_seed {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t first_place = 0;  ///< of the canonical order, where the first batch begins
  std::uint64_t global_batch_size = 0;
};

/// A batch whose type only its builder knows.
class untyped_batch {
 public:
  untyped_batch() = default;
  untyped_batch(const untyped_batch&) = delete;
  untyped_batch& operator=(const untyped_batch&) = delete;
  virtual ~untyped_batch() = default;
  /// Gives the memory of the samples back.
  virtual void clear() = 0;

  std::uint64_t epoch = 0;
  std::uint64_t number = 0;                 ///< of the global batch in its epoch
  std::size_t samples = 0;                  ///< of the order, padding too: what a state counts
  result_counts made{};                     ///< of them, without padding
  std::vector<std::int64_t> bad_samples{};  ///< ids of those in whose place others are
};

/// The samples of a batch as they lie in their shards.
struct mapped_samples {
  const corpus& from;
  const upcoming_batch& batch;
  std::span<const bytes_view> bytes;  ///< of `batch.ids`; null: its place in the shard is bad
  const epoch_seed& seed;
  /// The shards of `batch.needs`, in this order, where other samples may be read in place of bad
  /// ones; empty where they are not held. Null: a bad sample fails its batch.
  const std::vector<shard_ref>* shards = nullptr;
  /// Set after the first warning of the epoch.
  std::atomic<bool>* warned = nullptr;
};

/// What a batch is built of.
struct batch_rows {
  std::span<const std::int64_t> ids;               ///< of the sample of each row
  std::span<const collate::sample_bytes> samples;  ///< one for each row
  /// For each row the number of its sample in the batch, where results vary; otherwise empty.
  std::span<const std::uint64_t> made_of{};
};

/// What the policies make of samples: schema, transform, collator and stager behind one interface.
class batch_builder {
 public:
  struct traits {
    bool transforms = false;             ///< samples are changed on their way
    bool results_vary = false;           ///< any number of rows may be made of a sample
    bool in_stretches = false;           ///< as `lookahead_rules` say
    std::size_t prefetched_batches = 1;  ///< buffers that the stager has
  };

  explicit batch_builder(const traits& of) noexcept : about(of) {}
  batch_builder(const batch_builder&) = delete;
  batch_builder& operator=(const batch_builder&) = delete;
  virtual ~batch_builder() = default;

  /// To be called first, with the columns in the shards. Throws `errc::unsupported`, naming the
  /// column, where the collator does not take one.
  virtual void open(const sample_layout& layout) = 0;
  /// A batch to be filled.
  [[nodiscard]] virtual std::unique_ptr<untyped_batch> make() const = 0;
  /// Prepares samples: reads rows, applies the transform. Work of one worker; any thread. What goes
  /// wrong with a sample is kept in `into`.
  virtual void prepare(const mapped_samples& of, prepared_samples& into,
                       std::size_t worker) const = 0;
  /// Fills `into` with these rows and returns the bytes of the batch; `epoch` and `number` are set
  /// already. Not thread-safe. Throws `collate::bad_sample` for a row that cannot be collated.
  virtual std::uint64_t build(const batch_rows& rows, untyped_batch& into) = 0;

  const traits about;
};

}  // namespace mdstream::inline v0::detail
