#pragma once

#include <mdstream/core/detail/directory_reader.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/stream/detail/plan_keeper.hpp>
#include <mdstream/version.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE epoch_order plan_keeper::open(const engine_type& engine, const world& parallel,
                                              std::uint64_t batch_size,
                                              const epoch_start& start) const {
  if (!is_worth_keeping(engine)) return engine.epoch(parallel, batch_size, start);
  const plan_store plans = files();
  return engine.epoch(parallel, batch_size, start, &plans);
}

MDSTREAM_INLINE void plan_keeper::prepare(runtime& threads, const engine_type& engine,
                                          const world& parallel, std::uint64_t batch_size,
                                          const progress& run) const {
  if (!is_worth_keeping(engine)) return;
  threads.post([*this, engine, parallel, batch_size, after = progress(run)]() mutable {
    try {
      (void)open(engine, parallel, batch_size, after.begin_epoch(parallel));
    } catch (const std::exception&) {
      // The start of that epoch meets the same failure, and says so.
    }
  });
}

MDSTREAM_INLINE bool plan_keeper::is_worth_keeping(const engine_type& engine) const {
  // The other shuffles have no plan to keep.
  const bool has_plan = engine.options().shuffle && engine.shuffler_model().name() == "py1e";
  return !directory_.empty() && has_plan && engine.epoch_size() >= least_ &&
         (least_ != least_samples || engine.epoch_size() / worth >= engine.shards().shards());
}

MDSTREAM_INLINE plan_store plan_keeper::files() const {
  return {.load =
              [store = store::local(directory_)](std::string_view name) {
                try {
                  return read_all(store, std::string(name));
                } catch (const error&) {
                  return std::vector<std::byte>{};
                }
              },
          .save =
              [store = store::local(directory_), directory = directory_](std::string_view name,
                                                                         bytes_view content) {
                try {
                  make_room(directory);
                  store.publish(name, content);
                } catch (const error&) {
                  // The next run computes it again.
                }
              }};
}

MDSTREAM_INLINE void plan_keeper::make_room(const std::string& directory) {
  std::vector<std::tuple<std::time_t, long, std::string>> found;
  directory_reader entries(directory);
  while (const char* const name = entries.next()) {
    std::string path = directory + '/' + name;
    struct stat info{};
    if (std::string_view(name).starts_with("py1e-") && ::stat(path.c_str(), &info) == 0)
      found.emplace_back(info.st_mtim.tv_sec, info.st_mtim.tv_nsec, std::move(path));
  }
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i + most_files <= found.size(); ++i)
    ::unlink(std::get<std::string>(found[i]).c_str());
}

}  // namespace mdstream::inline v0::detail
