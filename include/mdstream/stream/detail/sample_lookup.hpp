#pragma once

/// The samples of a dataset by number, whatever their columns: on disk, in a remote shard, or as a
/// row of text.

#include <mdstream/core/detail/process.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/sample_ranges.hpp>
#include <mdstream/stream/sample.hpp>
#include <mdstream/stream/subset.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// What a dataset's slower ways to a sample share. Thread-safe.
class sample_lookup {
 public:
  using handler = unique_function<void(std::exception_ptr, std::optional<found_sample>)>;

  /// A call of `async_find`.
  struct find_call {
    std::stop_source stop{};
    diagnostics where{};
    handler done{};
  };

  sample_lookup(const dataset_options& given, const corpus_policies& policies,
                opened_streams* opened);

  [[nodiscard]] const corpus& from() const noexcept { return corpus_; }

  /// Throws `errc::unsupported` in a forked child.
  void require_here() const { made_.require_here("dataset"); }
  /// In a forked child: unmaps what nobody there uses.
  void abandon() noexcept { corpus_.abandon(); }

  /// Throws `errc::out_of_range` unless there is such a shard.
  void require_shard(std::uint64_t number) const;
  /// The samples of some shards.
  [[nodiscard]] sample_subset part(shard_span of) const;

  /// Where a sample lies. Throws `errc::out_of_range`.
  [[nodiscard]] sample_location located(std::uint64_t i) const;

  /// A sample, wherever it is. Waits for its shard; never on a thread of the runtime.
  [[nodiscard]] found_sample find(sample_location at) const;

  /// The same without blocking. `done` of the call is called once, on any thread, but not on the
  /// caller's stack.
  void async_find(std::uint64_t i, const std::shared_ptr<find_call>& call) const;

 private:
  using bytes_ptr = sample_ranges::bytes_ptr;

  [[noreturn, gnu::noinline]] void fail_index(std::uint64_t i) const {
    throw error(errc::out_of_range, "sample " + std::to_string(i) + " of a dataset of " +
                                        std::to_string(corpus_.samples()) + " samples");
  }

  [[nodiscard]] found_sample found(shard_ref shard, sample_location at) const;

  /// A sample that was read by itself.
  [[nodiscard]] found_sample found(const bytes_ptr& bytes, sample_location at) const;

  /// Fills `row.mds` from `row.raw`.
  void convert(sample_row& row, sample_location at) const;

  void start(std::uint64_t i, const std::shared_ptr<find_call>& call) const;

  template <class Make>
  static void complete(find_call& call, std::error_code failure, const Make& make) {
    std::optional<found_sample> found;
    std::exception_ptr thrown;
    try {
      if (failure) throw error(failure, std::move(call.where));
      found.emplace(make());
    } catch (...) {
      thrown = std::current_exception();
    }
    call.done(std::move(thrown), std::move(found));
  }

  maker made_;
  corpus corpus_;
  mutable std::optional<sample_ranges> ranges_;  // where samples may be read by themselves
};

/// A handler that holds the last reference to a dataset destroys it on one of its own threads,
/// which cannot end themselves.
struct ends_off_own_threads {
  void operator()(sample_lookup* gone) const;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/sample_lookup.ipp>
#endif
