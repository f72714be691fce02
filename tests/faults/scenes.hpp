#pragma once

// What ends with a file that promises others, and what has to hold where it did not come to its
// end.

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/collate/none.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/raw/formats.hpp>
#include <mdstream/source/formats.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/stream/dataset.hpp>
#include <mdstream/stream/detail/plan_keeper.hpp>
#include <mdstream/writer/merge_index.hpp>
#include <mdstream/writer/writer.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cache/fixture.hpp"
#include "checkpoint/launches.hpp"
#include "store/scratch.hpp"

namespace faults {

namespace mds = mdstream;
using scratch_directory::scratch;
using namespace std::chrono_literals;

using numbers = mds::policies<mds::store::local, mds::schema<mds::column<"number", std::int64_t>>,
                              mds::codec::zstd>;

constexpr std::uint64_t samples = 200;

/// How many promises this process made.
inline std::uint64_t promised = 0;

/// Writes down, where tests/faults/record.cpp does, that what was made up to here has to outlast a
/// loss of power.
inline void promise() {
  ++promised;
  if (const char* const record = std::getenv("MDSTREAM_RECORD"))
    std::ofstream(record, std::ios::app) << "promised\n";
}

inline void write_numbers(const std::string& directory,
                          mds::existing_dataset existing = mds::existing_dataset::error,
                          const std::string& compression = "") {
  mds::writer<numbers> out({.out = mds::store::local(directory),
                            .compression = compression,
                            .size_limit = 1024,
                            .existing = existing});
  const bool resumes = existing == mds::existing_dataset::resume;
  for (std::uint64_t i = resumes ? out.kept_samples() : 0; i < samples; ++i)
    out.write(static_cast<std::int64_t>(i));
  out.finish();
}

inline void write_dataset(const std::string& directory) {
  write_numbers(directory);
  promise();
}

inline void merge_datasets(const std::string& directory) {
  write_dataset(directory + "/0");
  write_dataset(directory + "/1");
  (void)mds::merge_index(mds::opened_store(mds::store::local(directory)));
  promise();
}

/// Each rank has a store of its own, as a process does.
inline void save_checkpoint(const std::string& directory, std::uint64_t step,
                            std::uint64_t ranks = 2) {
  const std::string token = mds::detail::unique_name();
  const std::string failed = launches::on_ranks(ranks, [&](std::uint64_t rank) {
    mds::saver_options options = launches::options_on(mds::store::local(directory));
    options.world = {.ranks_per_node = ranks, .rank = rank};
    options.token = token;
    mds::checkpoint_saver saver(options);
    training::model mine(rank, ranks, training::cut::rows);
    mine.set(step);
    saver.save(step, mine.list(), {.loader_state = "state"});
    saver.finish();
  });
  if (!failed.empty()) throw std::runtime_error(failed);
  promise();
}

inline void save_checkpoints(const std::string& directory) {
  for (const std::uint64_t step : {1, 2}) save_checkpoint(directory, step);
}

/// Opens a dataset in the directory, then reads a shard that nothing can check until it is recorded
/// as flushed.
inline void read_through_cache(const std::string& directory) {
  const cache_test::dataset data({.shards = 2, .hashed = false});
  const scratch remote;
  const mds::store::local store(remote.path());
  data.put(store);
  (void)mds::dataset<>({.remote = remote.path(), .local = directory});

  mds::cache_options options = cache_test::options_of(directory);
  options.flush_after = 0ns;
  mds::runtime threads(2);
  cache_test::cache shards(threads, options, {cache_test::stream_of(data, directory, store)});
  (void)shards.acquire(0);
  const mds::detail::shard_facts facts(directory, 0, mds::detail::boot_identity::present());
  struct stat info{};
  const std::string path = directory + '/' + cache_test::dataset::name(0, false);
  const auto is_flushed = [&] {
    if (::stat(path.c_str(), &info) != 0) throw std::runtime_error("no " + path);
    const auto known = facts.find(0, {mds::detail::file_stamp::of(info)}, false);
    return known && known->flags == mds::detail::flushed;
  };
  while (!is_flushed()) std::this_thread::sleep_for(1ms);
}

inline void read_rows(const std::string& directory,
                      std::chrono::milliseconds patience = mds::default_patience) {
  using policies = mds::policies<mds::store::local, mds::raw::plain_formats, mds::collate::none>;
  const std::string files = directory + "-files";
  mds::store::local(files).write("a.jsonl", mds::as_bytes("{\"a\": 1}\n{\"a\": 2}\n"));
  const mds::dataset<policies> rows(
      {.streams = {{.remote = files, .local = directory, .raw = {.format = "jsonl"}}},
       .download_retry = patience.count() == 0 ? 1U : 2U,
       .patience = patience,
       .warn = [](const std::string&) {}});
  for (std::uint64_t i = 0; i < 2; ++i)
    if (rows.size() != 2 || rows[i].get<std::int64_t>("a") != static_cast<std::int64_t>(i) + 1)
      throw std::runtime_error("other rows");
}

inline void index_rows(const std::string& directory) {
  read_rows(directory);
  promise();
}

inline void keep_plan(const std::string& directory) {
  const std::vector<mds::stream_shards> streams{{.samples = {40, 7, 90, 23}}};
  const mds::detail::plan_keeper::engine_type order(
      streams, {.num_canonical_nodes = 2, .shuffle = true, .shuffle_block_size = std::uint64_t{60}},
      mds::shuffle::py1e());
  const auto ids_with = [&](const mds::detail::plan_keeper& keeper) {
    std::vector<std::int64_t> ids(160);
    keeper.open(order, {}, 4, {.epoch = 1, .num_canonical_nodes = 2, .shuffle_block_size = 60})
        .ids(0, ids);
    return ids;
  };
  if (ids_with(mds::detail::plan_keeper(directory, 0)) != ids_with({}))
    throw std::runtime_error("another order");
  promise();
}

/// An index that is put there before its last shard is flushed.
inline void break_order(const std::string& directory) {
  using mds::detail::durability;
  const scratch whole;
  write_numbers(whole.path());
  const mds::store::local written(whole.path());
  const auto objects = written.list("shard.");
  const auto put = [&](const std::string& key, durability wanted) {
    mds::detail::replace_file(directory + '/' + key, mds::read_all(written, key), wanted);
  };
  for (const auto& each : objects)
    put(each.key, each.key == objects.back().key ? durability::cached : durability::flushed);
  put("index.json", durability::flushed);
}

/// Throws unless a dataset holds the numbers of `write_dataset`, so many times.
inline void check_dataset(const std::string& directory, std::uint64_t times = 1) {
  const scratch local;
  const mds::dataset<numbers> data({.remote = directory, .local = local.path()});
  bool is_right = data.size() == times * samples;
  for (std::uint64_t i = 0; is_right && i < data.size(); ++i)
    is_right = data[i].get<"number">() == static_cast<std::int64_t>(i % samples);
  if (!is_right) throw std::runtime_error("other samples in " + directory);
}

inline bool has_index(const std::string& directory) {
  return mds::exists(mds::store::local(directory), "index.json");
}

/// A compressed dataset that gets as many samples again, and is then replaced.
inline void rewrite_dataset(const std::string& directory) {
  using mds::existing_dataset;
  const auto write_and_check = [&](existing_dataset existing, std::uint64_t times) {
    write_numbers(directory, existing, "zstd");
    check_dataset(directory, times);
  };
  write_and_check(existing_dataset::error, 1);
  write_and_check(existing_dataset::append, 2);
  write_and_check(existing_dataset::replace, 1);
  promise();
}

/// A dataset is whole or absent, and a writer goes on with what there is.
inline void check_write(const std::string& directory, std::uint64_t promises) {
  if (has_index(directory))
    check_dataset(directory);
  else if (promises > 0)
    throw std::runtime_error("the dataset is gone");
  write_numbers(directory, mds::existing_dataset::resume);
  check_dataset(directory);
}

inline void check_merge(const std::string& directory, std::uint64_t promises) {
  if (has_index(directory))
    check_dataset(directory, 2);
  else if (promises > 2)
    throw std::runtime_error("the merged index is gone");
  check_write(directory + "/0", promises);
  check_write(directory + "/1", promises > 1 ? 1 : 0);
  if (has_index(directory)) return;
  (void)mds::merge_index(mds::opened_store(mds::store::local(directory)));
  check_dataset(directory, 2);
}

/// The step of the last checkpoint, which has to be whole; 0: none.
inline std::uint64_t last_step(const std::string& directory) {
  mds::saver_options options = launches::options_on(mds::store::local(directory));
  options.world = mds::world{};
  options.token = mds::detail::unique_name();
  mds::checkpoint_saver saver(options);
  const std::optional<mds::checkpoint> last = saver.resume_point();
  if (!last) return 0;
  training::model mine(0, 1, training::cut::whole);
  last->load(mine.list(), {.check_all = true});
  if (const std::string other = mine.difference(last->step()); !other.empty())
    throw std::runtime_error(other + " is not what was saved");
  return last->step();
}

/// What was saved last is found whole, and the next save is found instead.
inline void check_save(const std::string& directory, std::uint64_t promises) {
  const std::uint64_t step = last_step(directory);
  if (step < promises) throw std::runtime_error("step " + std::to_string(promises) + " is gone");
  save_checkpoint(directory, step + 1, 1);  // ranks wait for each other
  if (last_step(directory) != step + 1) throw std::runtime_error("the next step is not found");
}

}  // namespace faults
