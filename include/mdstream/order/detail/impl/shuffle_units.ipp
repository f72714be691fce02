#pragma once

#include <mdstream/order/detail/drawn_part.hpp>
#include <mdstream/order/detail/numpy_random.hpp>
#include <mdstream/order/shuffle_units.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE void shuffle_units::fill_part(std::size_t unit, std::uint64_t offset,
                                              std::span<std::int64_t> out) const {
  const detail::drawn_part& p = own_->parts[own_->source[unit].part];
  numpy::generator random(own_->seed);
  random.restore(p.before);
  std::vector<std::uint64_t> chosen = random.choice(p.shard_size, end(unit) - begin(unit));
  std::sort(chosen.begin(), chosen.end());
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::int64_t>(own_->source[unit].base + chosen[offset + i]);
}

}  // namespace mdstream::inline v0
