#pragma once

/// A number for the samples of a global batch, the same however many ranks share it.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/fnv.hpp>

#include "training.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quickstart {

/// Hashes the rows of a global batch in canonical order. `rows(i)` gives row i of this rank's
/// `count`, a multiple of its groups. Called by all ranks.
template <class Exchange, class Rows>
std::uint64_t batch_digest(Exchange& exchange, std::size_t count, Rows&& rows) {
  const std::size_t ranks = exchange.ranks();
  const std::size_t of_a_group = count * ranks / groups;
  std::vector<std::uint64_t> hashes(of_a_group * groups);
  const auto at = [&](std::size_t position) -> std::uint64_t& {
    return hashes[position % groups * of_a_group + position / groups];
  };
  for (std::size_t i = 0; i < count; ++i) {
    at(i * ranks + exchange.rank()) =
        mdstream::fnv1a{}.add(std::as_bytes(std::span(rows(i)))).value();
  }
  exchange.share(std::span<std::uint64_t>(hashes));
  mdstream::fnv1a digest;
  for (std::size_t position = 0; position < hashes.size(); ++position) digest.add(at(position));
  return digest.value();
}

}  // namespace quickstart
