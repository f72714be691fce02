#pragma once

/// A part of a dataset: some of its samples, by their ids.

#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mdstream::inline v0 {

/// Some samples of a dataset, as `dataset::subset`, `split` and `filter` return them. As
/// `loader_options::subset` it makes a loader read only these.
///
/// A range of ids, ascending, each once. Copies share the ids, and a move is a copy. Memory: 8
/// bytes an id.
/// Thread safety: any thread may read.
///
///     mds::dataset<> all({.remote = "/data/c4"});
///     const auto parts = all.split({0.9, 0.1}, 17);
///     mds::loader<> train({.remote = "/data/c4", .subset = parts[0], .batch_size = 32});
class sample_subset {
 public:
  /// These samples, in any order, of a dataset of `whole` samples. Throws `errc::out_of_range` for
  /// an id that is not below `whole`, `errc::invalid_argument` for an id that comes twice.
  sample_subset(std::vector<std::uint64_t> ids, std::uint64_t whole);
  sample_subset(const sample_subset&) = default;  // without a move, which would leave no ids
  sample_subset& operator=(const sample_subset&) = default;

  /// All samples of a dataset of that size.
  [[nodiscard]] static sample_subset all(std::uint64_t whole);

  /// Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return ids_->size(); }
  [[nodiscard]] bool empty() const noexcept { return ids_->empty(); }
  /// In ascending order. Valid as long as this subset or a copy of it, so not of a temporary.
  [[nodiscard]] std::span<const std::uint64_t> ids() const& noexcept { return *ids_; }
  void ids() const&& = delete;
  [[nodiscard]] auto begin() const noexcept { return ids().begin(); }
  [[nodiscard]] auto end() const noexcept { return ids().end(); }
  /// The id of the subset's sample `i`. Precondition: `i < size()`.
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept { return (*ids_)[i]; }
  /// Number of samples of the whole dataset.
  [[nodiscard]] std::uint64_t whole() const noexcept { return whole_; }

  /// Parts of these samples, drawn at random, that have none in common. `fractions` are their
  /// shares, such as {0.9, 0.1}; if the sum is below 1, the rest is in no part. The same
  /// subset, fractions and seed give the same parts on any machine: part k takes the samples whose
  /// places are `numpy.random.default_rng(seed).permutation(size())[b[k]:b[k+1]]`, where `b` are
  /// the sums of the fractions times `size()`, rounded. Throws `errc::invalid_argument` for
  /// fractions that are negative or more than 1 together. O(size()).
  [[nodiscard]] std::vector<sample_subset> split(const std::vector<double>& fractions,
                                                 std::uint64_t seed) const;

  friend bool operator==(const sample_subset& a, const sample_subset& b) noexcept {
    return a.whole_ == b.whole_ && *a.ids_ == *b.ids_;
  }

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> ids_;
  std::uint64_t whole_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/subset.ipp>
#endif
