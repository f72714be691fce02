#pragma once

#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/stream/detail/sample_lookup.hpp>
#include <mdstream/version.hpp>

#include <numeric>
#include <thread>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE sample_lookup::sample_lookup(const dataset_options& given,
                                             const corpus_policies& policies,
                                             opened_streams* opened)
    : corpus_(given, policies, opened) {
  if (const std::uint64_t cost = given.range_request_cost.value; cost != 0)
    ranges_.emplace(corpus_, cost);
}

MDSTREAM_INLINE void sample_lookup::require_shard(std::uint64_t number) const {
  if (number >= corpus_.shards())
    throw error(errc::out_of_range, "shard " + std::to_string(number) + " of a dataset of " +
                                        std::to_string(corpus_.shards()) + " shards");
}

MDSTREAM_INLINE sample_subset sample_lookup::part(shard_span of) const {
  const std::uint64_t first = corpus_.locate().first_sample(of.begin);
  std::vector<std::uint64_t> ids(corpus_.locate().first_sample(of.end) - first);
  std::iota(ids.begin(), ids.end(), first);
  return {std::move(ids), corpus_.samples()};
}

MDSTREAM_INLINE sample_location sample_lookup::located(std::uint64_t i) const {
  if (i >= corpus_.samples()) [[unlikely]]
    fail_index(i);
  return corpus_.locate()(i);
}

MDSTREAM_INLINE found_sample sample_lookup::find(sample_location at) const {
  if (std::optional<shard_ref> shard = corpus_.cache().try_acquire(at.shard))
    return found(*std::move(shard), at);
  require_here();
  if (ranges_ && ranges_->serves(at)) return found(ranges_->read(at), at);
  return found(corpus_.cache().acquire(at.shard), at);
}

MDSTREAM_INLINE void sample_lookup::async_find(std::uint64_t i,
                                               const std::shared_ptr<find_call>& call) const {
  corpus_.threads().post([this, i, call] { start(i, call); });
}

MDSTREAM_INLINE found_sample sample_lookup::found(shard_ref shard, sample_location at) const {
  const bytes_view bytes = corpus_.bytes(shard, at);
  if (!corpus_.converts() || corpus_.form(at.shard).as_stored())
    return {std::move(shard), bytes, nullptr, &corpus_.layout(at.shard)};
  auto row = std::make_shared<sample_row>();
  row->raw = bytes;
  convert(*row, at);
  return {std::move(shard), {}, std::move(row), &corpus_.layout(at.shard)};
}

MDSTREAM_INLINE void sample_lookup::convert(sample_row& row, sample_location at) const {
  try {
    const sample_form& form = corpus_.form(at.shard);
    read_mapped([&] {
      form.check(row.raw);
      form.append(row.raw, row.mds);
    });
  } catch (const error& e) {
    diagnostics where = e.where();
    where.sample = at.index;
    throw error(e.code(), corpus_.placed(std::move(where), at.shard));
  }
}

MDSTREAM_INLINE found_sample sample_lookup::found(const bytes_ptr& bytes,
                                                  sample_location at) const {
  auto row = std::make_shared<sample_row>();
  if (corpus_.form(at.shard).as_stored()) {
    row->mds = std::move(*bytes);
    row->raw = row->mds;
  } else {
    row->alone = std::move(*bytes);
    row->raw = row->alone;
    convert(*row, at);
  }
  return {shard_ref(), {}, std::move(row), &corpus_.layout(at.shard)};
}

MDSTREAM_INLINE void sample_lookup::start(std::uint64_t i,
                                          const std::shared_ptr<find_call>& call) const {
  std::exception_ptr failure;
  try {
    const sample_location at = located(i);
    const auto ended = [this, at, call](std::error_code code, auto from) {
      complete(*call, code, [&] { return found(std::move(from), at); });
    };
    if (ranges_ && !corpus_.cache().try_acquire(at.shard) && ranges_->serves(at))
      return ranges_->async_read(at, call->stop.get_token(), call->where, ended);
    return corpus_.cache().async_acquire(at.shard, call->stop.get_token(), call->where, ended);
  } catch (...) {
    failure = std::current_exception();
  }
  call->done(std::move(failure), std::nullopt);
}

MDSTREAM_INLINE void ends_off_own_threads::operator()(sample_lookup* gone) const {
  if (gone->from().owns_threads() && gone->from().threads().runs_here())
    std::thread([gone] { delete gone; }).detach();
  else
    delete gone;
}

}  // namespace mdstream::inline v0::detail
