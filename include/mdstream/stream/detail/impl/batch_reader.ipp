#pragma once

#include <mdstream/stream/detail/batch_reader.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE batch_reader::batch_reader(const shard_locator& locate, std::size_t shards,
                                           epoch_order order, const world& position,
                                           std::uint64_t batch_size, lookahead_rules rules)
    : locate_(&locate),
      order_(std::move(order)),
      rules_(rules),
      position_(position),
      batch_size_(batch_size),
      batches_(std::min(order_.filled_batches(), rules.most_batches)),
      seen_(shards) {}

MDSTREAM_INLINE bool batch_reader::read(upcoming_batch& into) {
  if (next_ == batches_) return false;
  into.number = next_;
  into.places.clear();
  into.needs.clear();
  if (rules_.in_stretches)
    read_stretches();
  else
    read_node();
  ++next_;
  fill(into);
  return true;
}

MDSTREAM_INLINE std::uint64_t batch_reader::samples_read() const noexcept {
  return rules_.in_stretches ? order_.global_batch_size() : position_.ranks_per_node * batch_size_;
}

MDSTREAM_INLINE void batch_reader::read_node() {
  node_ids_.resize(position_.ranks_per_node * batch_size_);
  const std::uint64_t first = position_.node() * position_.ranks_per_node * batch_size_;
  order_.ids(next_ * order_.global_batch_size() + first, node_ids_);
  own_first_ = position_.rank_of_node() * batch_size_;
  own_samples_ = batch_size_;
  first_place_ = first + own_first_;
  padding_ = rules_.pads && node_ids_.back() < 0 ? last_of_batch() : -1;
}

MDSTREAM_INLINE std::int64_t batch_reader::last_of_batch() {
  batch_ids_.resize(order_.global_batch_size());
  order_.ids(next_ * order_.global_batch_size(), batch_ids_);
  const auto last =
      std::find_if(batch_ids_.rbegin(), batch_ids_.rend(), [](std::int64_t id) { return id >= 0; });
  return last == batch_ids_.rend() ? -1 : *last;
}

MDSTREAM_INLINE void batch_reader::read_stretches() {
  const std::uint64_t samples = order_.global_batch_size();
  batch_ids_.resize(samples);
  order_.ids(next_ * samples, batch_ids_);
  canonical_ids_.assign(samples, -1);
  for (std::uint64_t i = 0; i < samples; ++i)
    canonical_ids_[order_.deal().place(i)] = batch_ids_[i];
  std::erase_if(canonical_ids_, [](std::int64_t id) { return id < 0; });
  const auto begin_of = [this](std::uint64_t rank) {
    return rank * canonical_ids_.size() / position_.num_ranks();
  };
  const std::uint64_t first_rank = position_.node() * position_.ranks_per_node;
  const std::uint64_t first = begin_of(first_rank);
  const std::uint64_t end = begin_of(first_rank + position_.ranks_per_node);
  node_ids_.assign(canonical_ids_.begin() + static_cast<std::ptrdiff_t>(first),
                   canonical_ids_.begin() + static_cast<std::ptrdiff_t>(end));
  first_place_ = begin_of(position_.rank);
  own_first_ = first_place_ - first;
  own_samples_ = begin_of(position_.rank + 1) - first_place_;
  padding_ = -1;
  if (!rules_.pads || own_samples_ != 0 || canonical_ids_.empty()) return;
  padding_ = canonical_ids_.back();  // an empty batch is left out, and ranks take the same steps
  node_ids_.insert(node_ids_.begin() + static_cast<std::ptrdiff_t>(own_first_), -1);
  own_samples_ = 1;
}

MDSTREAM_INLINE void batch_reader::fill(upcoming_batch& batch) {
  const std::span ids(node_ids_);
  const auto own = ids.subspan(own_first_, own_samples_);
  const auto is_left_out = [this](std::int64_t id) { return id < 0 && padding_ < 0; };
  for (std::uint64_t i = 0; rules_.places && i < own.size(); ++i) {
    const std::uint64_t at = first_place_ + i;
    if (!is_left_out(own[i]))
      batch.places.push_back(rules_.in_stretches ? at : order_.deal().place(at));
  }
  batch.ids.assign(own.begin(), own.end());
  std::erase_if(batch.ids, is_left_out);
  batch.locations.resize(batch.ids.size());
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    const std::int64_t read = batch.ids[i] < 0 ? padding_ : batch.ids[i];
    batch.locations[i] = (*locate_)(static_cast<std::uint64_t>(read));
    note(batch, batch.locations[i].shard);
  }
  batch.own_needs = batch.needs.size();
  note_all(batch, ids.first(own_first_));
  note_all(batch, ids.subspan(own_first_ + own_samples_));
}

MDSTREAM_INLINE void batch_reader::note_all(upcoming_batch& batch,
                                            std::span<const std::int64_t> ids) {
  for (const std::int64_t id : ids)
    if (id >= 0) note(batch, (*locate_)(static_cast<std::uint64_t>(id)).shard);
}

MDSTREAM_INLINE void batch_reader::note(upcoming_batch& batch, std::uint32_t shard) {
  if (seen_[shard] == next_) return;  // which is one more than the batch's number
  seen_[shard] = next_;
  batch.needs.push_back({.shard = shard});
}

}  // namespace mdstream::inline v0::detail
