#pragma once

/// The yardstick: how well the byte before alone predicts the next.

#include "corpus.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quickstart {

/// Counts of byte pairs over several corpora, each with its share of the mix.
class bigram_table {
 public:
  /// Adds the rows of one corpus so that they weigh `share` of `pairs` counts in all.
  void add(const std::vector<std::uint8_t>& rows, double share, double pairs = 4e6) {
    const double weight = share * pairs / static_cast<double>(rows.size());
    for_each_pair(rows, [&](std::uint8_t before, std::uint8_t byte) {
      counts_[before * 256U + byte] += weight;
      totals_[before] += weight;
    });
  }

  /// Mean loss in nats a byte over rows, with one added to each count.
  [[nodiscard]] double loss(const std::vector<std::uint8_t>& rows) const {
    double sum = 0.0;
    for_each_pair(rows, [&](std::uint8_t before, std::uint8_t byte) {
      sum -= std::log((counts_[before * 256U + byte] + 1.0) / (totals_[before] + 256.0));
    });
    return sum / static_cast<double>(rows.size());
  }

 private:
  // Before the first byte of a row stands a NUL, which is what the model sees there as well.
  template <class Visit>
  static void for_each_pair(const std::vector<std::uint8_t>& rows, Visit visit) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      visit(i % row_bytes == 0 ? std::uint8_t{0} : rows[i - 1], rows[i]);
    }
  }

  std::vector<double> counts_ = std::vector<double>(256 * 256);
  std::array<double, 256> totals_{};
};

}  // namespace quickstart
