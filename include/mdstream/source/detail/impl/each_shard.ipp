#pragma once

#include <mdstream/async/detail/in_parallel.hpp>
#include <mdstream/source/detail/each_shard.hpp>
#include <mdstream/source/raw_rows.hpp>
#include <mdstream/version.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Shards that one job makes one after the other: those of a compressed object, else a single one.
struct shard_run {
  std::size_t first = 0, count = 0;
};

MDSTREAM_INLINE std::vector<shard_run> runs_of(const raw::detail::row_index& index,
                                               const stream_decoders& decoders, bool whole_files) {
  std::vector<shard_run> out;
  std::size_t next = 0;
  for (const raw::detail::indexed_object& each : index.objects) {
    if (each.cuts.empty()) continue;
    const bool is_packed = !whole_files && open_decoder(decoders, each.file.key) != nullptr;
    for (std::size_t left = each.cuts.size(); left > 0;) {
      out.push_back({next, is_packed ? left : 1});
      next += out.back().count;
      left -= out.back().count;
    }
  }
  return out;
}

/// Passes shards on in their order, in whichever threads they were made.
class shards_in_order {
 public:
  /// Waits for the turn of shard `number`. Throws errc::canceled after a stop.
  void wait(std::size_t number, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return turn_ == number; }))
      throw error(errc::canceled, "the work was cancelled");
  }
  void pass() {
    const std::lock_guard lock(mutex_);
    ++turn_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t turn_ = 0;
};

MDSTREAM_INLINE void for_each_shard(const any_async_store& store, const stream_decoders& decoders,
                                    const raw::source_format& format, raw::detail::row_index index,
                                    const std::function<void(const raw::detail::transcoded&)>& use,
                                    const each_shard_settings& settings) {
  const auto shared = std::make_shared<const raw::detail::row_index>(std::move(index));
  const std::vector<raw::detail::shard_place> places = shared->places();
  const std::vector<shard_run> runs =
      runs_of(*shared, decoders, format.get().takes_whole_objects());
  const unsigned jobs =
      settings.jobs != 0 ? settings.jobs : std::thread::hardware_concurrency() + 2;
  shards_in_order order;
  in_parallel(runs.size(), jobs, settings.stop, [&](std::size_t i, const std::stop_token& stop) {
    raw_rows rows(format, shared, store, decoders, 1);
    for (std::size_t k = runs[i].first; k < runs[i].first + runs[i].count; ++k) {
      const raw::detail::transcoded made = rows.shard(k, stop);
      order.wait(k, stop);
      use(made);
      order.pass();
      if (settings.plain_bytes != nullptr)
        *settings.plain_bytes += shared->objects[places[k].object].cuts[places[k].cut].bytes;
    }
  });
}

}  // namespace mdstream::inline v0::detail
