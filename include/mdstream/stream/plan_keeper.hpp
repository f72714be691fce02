#pragma once

/// Plans of huge epochs in the cache directory: what opening one computes is computed once for a
/// node, and for the next epoch while this one is read.

#include <mdstream/async/runtime.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/plan_store.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/operations.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Opens epochs. Plans are a convenience: where they cannot be read or written, or are damaged, the
/// epoch is opened without. Thread-safe; copies are the same keeper. Processes that share the
/// directory share the plans.
class plan_keeper {
 public:
  /// Opening costs about 2 ns a sample, and a kept plan some 30 ns and 64 bytes a unit of the
  /// shuffle: fewer samples than this, or than `worth` for each shard, are not worth a file.
  static constexpr std::uint64_t least_samples = std::uint64_t{1} << 26, worth = 64;

  /// Keeps nothing.
  plan_keeper() : plan_keeper(std::string()) {}
  /// `directory` is made when it is needed; empty: nothing is kept.
  explicit plan_keeper(std::string directory, std::uint64_t least = least_samples)
      : directory_(std::move(directory)), least_(least) {}

  /// As `engine.epoch`, and what it throws.
  template <class Engine>
  [[nodiscard]] epoch_order open(const Engine& engine, const world& parallel,
                                 std::uint64_t batch_size, const epoch_start& start) const {
    if (!is_worth_keeping(engine)) return engine.epoch(parallel, batch_size, start);
    const plan_store plans = files();
    return engine.epoch(parallel, batch_size, start, &plans);
  }

  /// Makes the plan of the epoch after those of `run`, on a thread of the pool.
  template <class Engine>
  void prepare(runtime& threads, const Engine& engine, const world& parallel,
               std::uint64_t batch_size, const progress& run) const {
    if (!is_worth_keeping(engine)) return;
    threads.post([*this, engine, parallel, batch_size, after = progress(run)]() mutable {
      try {
        (void)open(engine, parallel, batch_size, after.begin_epoch(parallel));
      } catch (const std::exception&) {
        // Whoever begins that epoch meets the same failure, and says so.
      }
    });
  }

 private:
  /// The plan at hand, the next one, and one more for a run that was reset.
  static constexpr std::size_t most_files = 3;

  template <class Engine>
  [[nodiscard]] bool is_worth_keeping(const Engine& engine) const {
    // The other shuffles have no plan to keep.
    const bool has_plan = engine.options().shuffle && engine.shuffler_model().name() == "py1e";
    return !directory_.empty() && has_plan && engine.epoch_size() >= least_ &&
           (least_ != least_samples || engine.epoch_size() / worth >= engine.shards().shards());
  }

  [[nodiscard]] plan_store files() const {
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
                    store.write(name, content);
                  } catch (const error&) {
                    // The next run computes it again.
                  }
                }};
  }

  /// Removes the oldest plans until there is room for one more.
  static void make_room(const std::string& directory) {
    namespace fs = std::filesystem;
    std::error_code failure;
    std::vector<std::pair<fs::file_time_type, fs::path>> found;
    for (fs::directory_iterator at(directory, failure), end; !failure && at != end;
         at.increment(failure)) {
      if (at->path().filename().native().starts_with("py1e-"))
        found.emplace_back(fs::last_write_time(at->path(), failure), at->path());
    }
    std::sort(found.begin(), found.end());
    for (std::size_t i = 0; i + most_files <= found.size(); ++i)
      fs::remove(found[i].second, failure);
  }

  std::string directory_;
  std::uint64_t least_;
};

}  // namespace mdstream::inline v0
