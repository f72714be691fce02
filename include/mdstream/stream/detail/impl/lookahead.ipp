#pragma once

#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/stream/detail/lookahead.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE lookahead::lookahead(const shard_locator& locate, std::size_t shards,
                                     epoch_order order, const world& position,
                                     std::uint64_t batch_size, lookahead_rules rules,
                                     substitutions bad, read_ahead::executor elsewhere)
    : locate_(&locate),
      order_(batch_reader(locate, shards, std::move(order), position, batch_size, rules),
             std::move(elsewhere)),
      bad_(std::move(bad)),
      first_use_(shards, never),
      first_slot_(shards),
      last_use_(shards),
      last_slot_(shards) {}

MDSTREAM_INLINE bool lookahead::extend() {
  if (!order_.read(spare_)) return false;
  if (bad_.empty())
    for (std::size_t slot = 0; slot < spare_.needs.size(); ++slot) link(spare_, slot);
  else
    replace(spare_);
  samples_ahead_ += spare_.ids.size();
  read_ = spare_.number + 1;
  batches_.push_back(std::move(spare_));
  return true;
}

MDSTREAM_INLINE void lookahead::pop_front() {
  upcoming_batch& batch = batches_.front();
  for (const upcoming_batch::need& need : batch.needs) {
    first_use_[need.shard] = need.following;
    first_slot_[need.shard] = need.following_slot;
  }
  samples_ahead_ -= batch.ids.size();
  spare_ = std::move(batch);
  batches_.pop_front();
}

MDSTREAM_INLINE std::uint64_t lookahead::next_use(std::uint32_t shard,
                                                  std::uint64_t from) const noexcept {
  std::uint64_t use = first_use_[shard];
  std::uint32_t slot = first_slot_[shard];
  while (use < from) {
    const upcoming_batch::need& need = batches_[use - batches_.front().number].needs[slot];
    use = need.following;
    slot = need.following_slot;
  }
  return use;
}

MDSTREAM_INLINE void lookahead::exclude(std::uint32_t shard) {
  bad_.add(shard);
  std::ranges::fill(first_use_, never);
  for (upcoming_batch& batch : batches_) replace(batch);
}

MDSTREAM_INLINE std::int64_t lookahead::id_of(sample_location at) const noexcept {
  return static_cast<std::int64_t>(locate_->first_sample(at.shard) + at.index);
}

MDSTREAM_INLINE void lookahead::replace(upcoming_batch& batch) {
  const std::vector<upcoming_batch::need> others(
      batch.needs.begin() + static_cast<std::ptrdiff_t>(batch.own_needs), batch.needs.end());
  batch.needs.clear();
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    const sample_location now = bad_(batch.locations[i], *locate_);
    if (batch.ids[i] >= 0 && !(now == batch.locations[i])) batch.ids[i] = id_of(now);
    batch.locations[i] = now;
    note(batch, now.shard);
  }
  batch.own_needs = batch.needs.size();
  for (const upcoming_batch::need& other : others) note(batch, bad_(other.shard));
}

MDSTREAM_INLINE void lookahead::note(upcoming_batch& batch, std::uint32_t shard) {
  if (first_use_[shard] != never && last_use_[shard] == batch.number) return;
  batch.needs.push_back({.shard = shard});
  link(batch, batch.needs.size() - 1);
}

MDSTREAM_INLINE void lookahead::link(const upcoming_batch& batch, std::size_t of) {
  const std::uint32_t shard = batch.needs[of].shard;
  const auto slot = static_cast<std::uint32_t>(of);
  if (first_use_[shard] == never) {
    first_use_[shard] = batch.number;
    first_slot_[shard] = slot;
  } else {
    const std::uint64_t ahead = last_use_[shard] - batches_.front().number;
    upcoming_batch::need& before = batches_[ahead].needs[last_slot_[shard]];
    before.following = batch.number;
    before.following_slot = slot;
  }
  last_use_[shard] = batch.number;
  last_slot_[shard] = slot;
}

}  // namespace mdstream::inline v0::detail
