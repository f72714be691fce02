#pragma once

/// What is done to samples between their shard and the batch: the transform, on several threads.

#include <mdstream/collate/transform.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/row_to_mds.hpp>
#include <mdstream/stream/lookahead.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Where an epoch lies: what the generators of its samples are made from.
struct epoch_seed {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t first_place = 0;  ///< of the canonical order, where the first batch begins
  std::uint64_t global_batch_size = 0;
};

/// Makes samples what the batch is collated from. Immutable after it was made: threads share it.
template <class Schema, class Transform>
class preparation {
 public:
  /// Whether samples are changed at all.
  static constexpr bool changes = !std::same_as<Transform, transform::none>;

  explicit preparation(Transform transform) : transform_(std::move(transform)) {}

  /// The columns of prepared samples, where those in the shards are `in`.
  [[nodiscard]] static sample_layout layout(const sample_layout& in) {
    if constexpr (changes)
      return Transform::output::layout();
    else
      return in;
  }

  /// Appends the prepared sample to `memory`. A row, which brings its configuration, is put into
  /// MDS form first, in `scratch`. Throws what the transform throws, `errc::invalid_argument` where
  /// it wrote no sample, and as `append_row_as_mds`.
  void operator()(bytes_view sample, const sample_layout& layout, const shard_config* row,
                  sample_generator random, std::vector<std::byte>& memory,
                  std::vector<std::byte>& scratch) const {
    if (row != nullptr) {
      std::vector<std::byte>& form = changes ? scratch : memory;
      if (changes) form.clear();
      append_row_as_mds(*row, layout, sample, form);
      sample = form;
    }
    if constexpr (changes) {
      const sample_view<Schema> in(sample, layout);
      sample_writer<typename Transform::output> out(memory);
      transform_(in, out, random);
      if (!out.written()) throw error(errc::invalid_argument, "the transform wrote no sample");
    }
  }

 private:
  Transform transform_;
};

/// The samples of one batch on their way through a transform. Workers take samples one by one.
class prepared_samples {
 public:
  /// Begins anew, for `samples` samples and up to `workers` workers; memory is kept.
  void begin(std::size_t samples, std::size_t workers) {
    places_.assign(samples, {});
    if (memory_.size() < workers) memory_.resize(workers);
    if (scratch_.size() < workers) scratch_.resize(workers);
    for (auto& each : memory_) each.clear();
    next_ = 0;
    failed_at_ = none;
    failure_ = nullptr;
  }

  /// Work of one worker: `prepare(i, memory, scratch)` for every sample that no other takes. After
  /// a failure only samples before it are finished, so that the first one of the batch is what is
  /// told.
  template <class Prepare>
  void work(std::size_t worker, const Prepare& prepare) {
    std::vector<std::byte>& memory = memory_[worker];
    for (std::size_t i = next_++; i < places_.size(); i = next_++) {
      if (i > failed_at_.load(std::memory_order_relaxed)) return;
      const std::size_t begin = memory.size();
      try {
        prepare(i, memory, scratch_[worker]);
        places_[i] = {worker, begin, memory.size() - begin};
      } catch (...) {
        fail(i, std::current_exception());
      }
    }
  }

  /// Once all workers have returned.
  [[nodiscard]] std::exception_ptr failure() const noexcept { return failure_; }
  [[nodiscard]] bytes_view operator[](std::size_t i) const noexcept {
    const place& at = places_[i];
    return {memory_[at.worker].data() + at.begin, at.size};
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  struct place {
    std::size_t worker = 0;
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  void fail(std::size_t i, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (i >= failed_at_) return;
    failed_at_ = i;
    failure_ = std::move(failure);
  }

  std::vector<std::vector<std::byte>> memory_, scratch_;  // a worker each
  std::vector<place> places_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> failed_at_{none};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace mdstream::inline v0
