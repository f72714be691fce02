#pragma once

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/read_soon.hpp>
#include <mdstream/collate/detail/measure.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/epoch_feed.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE epoch_feed::epoch_feed(corpus& from, detail::batch_builder& builder,
                                       lookahead ahead, epoch_seed seed, std::uint64_t first_number,
                                       const feed_limits& limits, std::function<void()> when_spent,
                                       std::function<void(std::uint32_t)> before_drop)
    : corpus_(from),
      builder_(builder),
      seed_(seed),
      first_number_(first_number),
      substitute_samples_(limits.substitute_samples),
      disk_(limits.disk),
      pages_(file_mapping::whole_pages(1), most_read_soon),
      delivery_(from, from.threads(), under_way_, std::move(ahead), limits.delivery,
                std::move(before_drop)) {
  if (prepares() || limits.prefetch_limit != 0)
    ring_.emplace(static_cast<batch_source&>(*this), from.threads(), under_way_,
                  from.threads().threads(),
                  ring_limits{.bytes = limits.prefetch_limit,
                              .batches = builder.about.prefetched_batches,
                              .one_at_a_time = from.limited()},
                  std::move(when_spent));
}

MDSTREAM_INLINE void epoch_feed::async_end(unique_function<void()> ended) {
  if (ring_) ring_->stop();
  delivery_.stop();
  if (under_way_.is_idle()) return ended();
  under_way_.when_idle([&threads = corpus_.threads(), ended = std::move(ended)]() mutable {
    threads.post(std::move(ended));
  });
}

MDSTREAM_INLINE bool epoch_feed::next(batch_pointer& into) {
  if (ring_) return ring_->next(into);
  while (delivery_.wait())
    if (build(*into)) return true;
  return false;
}

MDSTREAM_INLINE void epoch_feed::async_next(std::stop_token stop, batch_ring::handler done) {
  if (ring_) return ring_->async_next(std::move(stop), std::move(done));
  auto built = std::make_shared<batch_pointer>(builder_.make());
  delivery_.async_next(
      std::move(stop), [this, built] { return build(**built); },
      [built, done = std::move(done)](std::exception_ptr failure) mutable {
        done(std::move(failure), std::move(*built));
      });
}

MDSTREAM_INLINE std::string epoch_feed::waits_for() const {
  if (const std::size_t count = ready(); count != 0)
    return "nothing: " + std::to_string(count) + (count == 1 ? " batch is" : " batches are") +
           " ready and not asked for";
  const std::optional<delivery::awaited> next = delivery_.waits_for();
  if (!next) return "nothing: no batch is asked for";
  std::string out = "batch " + std::to_string(first_number_ + next->number) + " of epoch " +
                    std::to_string(seed_.epoch) + ": ";
  if (next->missing.empty())
    return out + "its " + std::to_string(next->needs) + " shards are here, it is being built";
  out += std::to_string(next->missing.size()) + " of its " + std::to_string(next->needs) +
         " shards are on their way";
  constexpr std::size_t most = 4;
  for (std::size_t i = 0; i < std::min(most, next->missing.size()); ++i)
    out += "; " + corpus_.placed({}, next->missing[i]).where();
  return next->missing.size() > most ? out + "; ..." : out;
}

MDSTREAM_INLINE bool epoch_feed::build(detail::untyped_batch& into) {
  const upcoming_batch& from = delivery_.front();
  disk_count counted(watch_of(from));
  read_soon();
  try {
    detail::read_mapped([&] {
      if (found_of_ != from.number) find(from);
      found_of_.reset();  // what is built once more is looked up once more
      static_cast<void>(assemble(from, into));
    });
  } catch (...) {
    recover(from, true);
    return false;
  }
  if (counted)
    for (const collate::sample_bytes& sample : found_) counted.needs(sample.size);
  delivery_.pop();
  look_beyond();
  return true;
}

MDSTREAM_INLINE std::uint64_t epoch_feed::assemble(const upcoming_batch& from,
                                                   detail::untyped_batch& into) {
  // Padding comes last.
  const auto last =
      std::find_if(from.ids.rbegin(), from.ids.rend(), [](std::int64_t id) { return id >= 0; });
  const auto rows = static_cast<std::uint64_t>(from.ids.rend() - last);
  into.made = {.samples = rows, .results = rows};
  return assemble(from, {.ids = from.ids, .samples = found_}, into);
}

MDSTREAM_INLINE std::uint64_t epoch_feed::assemble(const upcoming_batch& from,
                                                   const batch_rows& rows,
                                                   detail::untyped_batch& into) {
  into.epoch = seed_.epoch;
  into.number = first_number_ + from.number;
  into.samples = from.ids.size();
  return builder_.build(rows, into);
}

MDSTREAM_INLINE void epoch_feed::read_soon() {
  if (disk_ == nullptr || delivery_.copied() != nullptr) return;
  read_soon(delivery_.front());
  if (const upcoming_batch* const next = delivery_.upcoming(1)) read_soon(*next);
}

MDSTREAM_INLINE void epoch_feed::read_soon(const upcoming_batch& batch) {
  if (!disk_->has_asked() || batch.number < read_soon_until_) return;
  const auto tell = [&](bool randomly) {
    for (std::size_t i = 0; i < batch.own_needs; ++i)
      delivery_.ref(batch.needs[i].shard).read_randomly(randomly);
  };
  const bool asks = disk_->asks();
  tell(asks);  // first of all: to find samples may take reading where they are
  if (!asks) return;
  if (!find_soon(batch)) return tell(false);
  detail::read_soon(pages_.of(soon_));
  read_soon_until_ = batch.number + 1;
}

MDSTREAM_INLINE bool epoch_feed::find_soon(const upcoming_batch& batch) {
  soon_.clear();
  std::uint64_t bytes = 0;
  try {
    detail::read_mapped([&] {
      for (const sample_location at : batch.locations) {
        soon_.push_back(mapped(at));
        bytes += soon_.back().size();
      }
    });
  } catch (const error&) {
    return false;  // building the batch says so
  }
  return bytes <= disk_->most();
}

MDSTREAM_INLINE void epoch_feed::find(const upcoming_batch& batch) {
  const std::span<const sample_location> locations = batch.locations;
  found_.resize(locations.size());
  collate::sample_bytes* const found = found_.data();
  const copied_samples* const copied = delivery_.copied();
  for (std::size_t i = 0; i < locations.size(); ++i) {
    const bytes_view bytes = copied != nullptr ? (*copied)[i] : mapped(locations[i]);
    found[i] = {bytes.data(), bytes.size()};
    prefetch_lines(bytes);
  }
  found_of_ = batch.number;
}

MDSTREAM_INLINE void epoch_feed::look_beyond() {
  const upcoming_batch* const next = delivery_.upcoming();
  if (next == nullptr) return;
  if (corpus_.sample_size() != 0) return find(*next);
  for (const sample_location at : next->locations) delivery_.shard(at.shard).prefetch(at.index);
}

MDSTREAM_INLINE void epoch_feed::recover(const upcoming_batch& from, bool alone) {
  try {
    throw;
  } catch (const collate::detail::bad_sample& bad) {
    const sample_location at = from.locations[bad.index()];
    if (bad.code() == errc::corrupt && delivery_.recover(at.shard, alone)) return;
    throw error(
        bad.code(),
        corpus_.placed({.what = bad.what(), .sample = at.index, .byte = bad.byte()}, at.shard));
  } catch (const error& e) {
    const std::optional<std::uint32_t> shard = shard_of_bad_sample(from);
    if (!shard) throw;
    diagnostics where = corpus_.placed(e.where(), *shard);
    if (delivery_.recover(*shard, alone)) return;
    throw error(e.code(), std::move(where));
  }
}

MDSTREAM_INLINE std::optional<std::uint32_t> epoch_feed::shard_of_bad_sample(
    const upcoming_batch& from) {
  if (delivery_.copied() != nullptr) return std::nullopt;  // then they were good
  for (const sample_location at : from.locations) {
    try {
      detail::read_mapped([&] { detail::touch_pages(mapped(at)); });
    } catch (const error&) {
      return at.shard;
    }
  }
  return std::nullopt;
}

MDSTREAM_INLINE void epoch_feed::announce(std::stop_token stop, unique_function<bool()> take,
                                          unique_function<void(std::exception_ptr)> done) {
  delivery_.async_next(std::move(stop), std::move(take), std::move(done));
}

MDSTREAM_INLINE bool epoch_feed::take(batch_job& into) {
  const upcoming_batch& from = delivery_.front();
  disk_count counted(watch_of(from));
  read_soon();
  try {
    find_mapped(from, into.samples);
  } catch (const collate::detail::bad_sample& bad) {
    const std::uint32_t shard = from.locations[bad.index()].shard;
    // While others in the making hold a shard, it cannot be fetched once more. It is not given up
    // for that: which samples are bad must not depend on them.
    if (!substitute_samples_ || !into.alone)
      recover(from, into.alone);
    else if (!delivery_.recover(shard))
      given_up_.push_back(shard);
    return false;
  } catch (...) {
    recover(from, into.alone);
    return false;
  }
  if (counted)
    for (const bytes_view sample : into.samples) counted.needs(sample.size());
  into.from = from;
  delivery_.share_front(into.shards);
  if (copied_samples* const copied = delivery_.copied()) into.copied = std::move(*copied);
  delivery_.pop();
  return true;
}

MDSTREAM_INLINE void epoch_feed::find_mapped(const upcoming_batch& from,
                                             std::vector<bytes_view>& into) {
  into.clear();
  detail::read_mapped([&] {
    for (std::size_t i = 0; i < from.locations.size(); ++i) {
      bytes_view sample;
      try {
        find_checked(from, i, sample);
      } catch (const error& e) {
        if (std::ranges::find(given_up_, from.locations[i].shard) == given_up_.end())
          throw collate::detail::bad_sample(i, e.where().byte.value_or(0), e.where().what);
      }
      into.push_back(sample);
    }
  });
}

MDSTREAM_INLINE void epoch_feed::find_checked(const upcoming_batch& from, std::size_t i,
                                              bytes_view& sample) {
  const sample_location at = from.locations[i];
  const copied_samples* const copied = delivery_.copied();
  sample = copied != nullptr ? (*copied)[i] : mapped(at);
  corpus_.form(at.shard).check(sample);
}

MDSTREAM_INLINE void epoch_feed::prepare(batch_job& of, std::size_t worker) const {
  if (!prepares()) return;
  const disk_count counted(watch_of(of.from));
  builder_.prepare({corpus_, of.from, of.samples, seed_, substitute_samples_ ? &of.shards : nullptr,
                    &warned_of_sample_},
                   of.prepared, worker);
}

MDSTREAM_INLINE void epoch_feed::note_replaced(batch_job& of, std::size_t i, sample_location by) {
  const auto id_of = [&](sample_location at) {
    return static_cast<std::int64_t>(corpus_.locate().first_sample(at.shard) + at.index);
  };
  of.batch->bad_samples.push_back(id_of(of.from.locations[i]));
  of.from.locations[i] = by;
  if (of.from.ids[i] >= 0) of.from.ids[i] = id_of(by);  // padding stays padding
}

MDSTREAM_INLINE std::uint64_t epoch_feed::finish(batch_job& of) {
  const disk_count counted(watch_of(of.from));
  if (!of.batch) of.batch = builder_.make();
  of.batch->bad_samples.clear();
  for (std::size_t i = 0; i < of.from.ids.size(); ++i)
    if (const auto& instead = of.prepared.replaced(i)) note_replaced(of, i, *instead);
  if (builder_.about.results_vary) return finish_results(of);
  found_.resize(of.from.ids.size());
  for (std::size_t i = 0; i < found_.size(); ++i) {
    const bytes_view bytes = prepares() ? of.prepared[i] : of.samples[i];
    found_[i] = {bytes.data(), bytes.size()};
    prefetch_lines(bytes);
  }
  std::uint64_t bytes = 0;
  try {
    detail::read_mapped([&] { bytes = assemble(of.from, *of.batch); });
  } catch (const collate::detail::bad_sample& bad) {
    throw_misfit(of, bad, bad.index());
  }
  return bytes;
}

MDSTREAM_INLINE std::uint64_t epoch_feed::finish_results(batch_job& of) {
  found_.clear();
  row_ids_.clear();
  made_of_.clear();
  result_counts made;
  std::uint64_t stored = 0;
  for (std::size_t i = 0; i < of.from.ids.size(); ++i) {
    if (of.from.ids[i] < 0) continue;  // padding
    const std::size_t before = found_.size();
    of.prepared.for_each_result(i, [&](bytes_view bytes) {
      found_.push_back({bytes.data(), bytes.size()});
      row_ids_.push_back(of.from.ids[i]);
      made_of_.push_back(i);
    });
    ++made.samples;
    made.vetoed += found_.size() == before ? 1 : 0;
    stored += of.samples[i].size();
  }
  made.results = found_.size();
  of.batch->made = made;
  try {
    const batch_rows rows{.ids = row_ids_, .samples = found_, .made_of = made_of_};
    return std::max(assemble(of.from, rows, *of.batch), stored);
  } catch (const collate::detail::bad_sample& bad) {
    throw_misfit(of, bad, made_of_[bad.index()]);
  }
}

MDSTREAM_INLINE void epoch_feed::throw_misfit(const batch_job& of,
                                              const collate::detail::bad_sample& bad,
                                              std::size_t i) const {
  const sample_location at = of.from.locations[i];
  throw error(bad.code(), corpus_.placed({.what = bad.what(), .sample = at.index}, at.shard));
}

}  // namespace mdstream::inline v0::detail
