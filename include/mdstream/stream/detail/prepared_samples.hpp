#pragma once

/// The samples of a batch between their shards and the batch, where they are changed on several
/// threads.

#include <mdstream/core/bytes.hpp>
#include <mdstream/stream/detail/shard_locator.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

namespace mdstream::inline v0::detail {

/// The samples of one batch on their way through a transform. Workers take samples one by one.
class prepared_samples {
 public:
  /// Of one worker.
  struct memory {
    std::vector<std::byte> samples{};  ///< one after another
    std::vector<std::size_t> ends{};   ///< of results in `samples`, where their number varies
    std::vector<std::byte> scratch{};
  };

  /// Begins anew, for `samples` samples and up to `workers` workers; memory is kept.
  void begin(std::size_t samples, std::size_t workers);

  /// Work of one worker: `prepare(i, memory)` for every sample that no other takes. After a failure
  /// only samples before it are finished, so that the first one of the batch is what is told.
  template <class Prepare>
  void work(std::size_t worker, const Prepare& prepare) {
    memory& own = memory_[worker];
    for (std::size_t i = next_++; i < places_.size(); i = next_++) {
      if (i > failed_at_.load(std::memory_order_relaxed)) return;
      const std::size_t begin = own.samples.size(), results = own.ends.size();
      try {
        prepare(i, own);
        places_[i] = {worker, begin, own.samples.size() - begin, results,
                      own.ends.size() - results};
      } catch (...) {
        fail(i, std::current_exception());
      }
    }
  }

  /// Another sample was prepared in the place of sample `i`. By the worker that has it.
  void replace(std::size_t i, sample_location by) { instead_[i] = by; }

  /// Once all workers have returned.
  [[nodiscard]] const std::optional<sample_location>& replaced(std::size_t i) const noexcept {
    return instead_[i];
  }
  /// Once all workers have returned.
  [[nodiscard]] std::exception_ptr failure() const noexcept { return failure_; }
  [[nodiscard]] bytes_view operator[](std::size_t i) const noexcept;
  /// Calls `visit(bytes)` for each result of sample `i`, where their number varies. Once all
  /// workers have returned.
  template <class Visit>
  void for_each_result(std::size_t i, const Visit& visit) const {
    const place& at = places_[i];
    const memory& of = memory_[at.worker];
    std::size_t begin = at.begin;
    for (std::size_t k = at.first_result; k < at.first_result + at.results; ++k) {
      visit(bytes_view(of.samples).subspan(begin, of.ends[k] - begin));
      begin = of.ends[k];
    }
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  struct place {
    std::size_t worker = 0;
    std::size_t begin = 0;
    std::size_t size = 0;
    std::size_t first_result = 0;
    std::size_t results = 0;
  };

  void fail(std::size_t i, std::exception_ptr failure);

  std::vector<memory> memory_;  // a worker each
  std::vector<place> places_;
  std::vector<std::optional<sample_location>> instead_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> failed_at_{none};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/prepared_samples.ipp>
#endif
