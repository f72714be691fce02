// scenes SCENE DIRECTORY: does what ends with a file that promises others, for
// tests/faults/flushes.py.

#include <mdstream/checkpoint/saver.hpp>
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
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cache/fixture.hpp"
#include "checkpoint/launches.hpp"
#include "store/scratch.hpp"

namespace {

namespace mds = mdstream;
using scratch_directory::scratch;
using namespace std::chrono_literals;

using numbers = mds::policies<mds::store::local, mds::schema<mds::column<"number", std::int64_t>>>;

void write_dataset(const std::string& directory) {
  mds::writer<numbers> out({.out = mds::store::local(directory), .size_limit = 1024});
  for (std::int64_t i = 0; i < 1000; ++i) out.write(i);
  out.finish();
}

void merge_datasets(const std::string& directory) {
  write_dataset(directory + "/0");
  write_dataset(directory + "/1");
  (void)mds::merge_index(mds::opened_store(mds::store::local(directory)));
}

/// Each rank has a store of its own, as a process does.
void save_checkpoint(const std::string& directory) {
  const std::string failed = launches::on_ranks(2, [&](std::uint64_t rank) {
    mds::saver_options options = launches::options_on(mds::store::local(directory));
    options.world = {.ranks_per_node = 2, .rank = rank};
    options.token = "launch";
    mds::checkpoint_saver saver(options);
    training::model mine(rank, 2, training::cut::rows);
    mine.set(1);
    saver.save(1, mine.list(), {.loader_state = "state"});
    saver.finish();
  });
  if (!failed.empty()) throw std::runtime_error(failed);
}

/// Opens a dataset in the directory, then reads a shard that nothing can check until it is recorded
/// as flushed.
void read_through_cache(const std::string& directory) {
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

void index_rows(const std::string& directory) {
  using policies = mds::policies<mds::store::local, mds::raw::plain_formats, mds::collate::none>;
  const scratch files;
  mds::store::local(files.path()).write("a.jsonl", mds::as_bytes("{\"a\": 1}\n{\"a\": 2}\n"));
  (void)mds::dataset<policies>(
      {.streams = {{.remote = files.path(), .local = directory, .raw = {.format = "jsonl"}}}});
}

void keep_plan(const std::string& directory) {
  const std::vector<mds::stream_shards> streams{{.samples = {40, 7, 90, 23}}};
  const mds::detail::plan_keeper::engine_type order(
      streams, {.num_canonical_nodes = 2, .shuffle = true, .shuffle_block_size = std::uint64_t{60}},
      mds::shuffle::py1e());
  (void)mds::detail::plan_keeper(directory, 0)
      .open(order, {}, 4, {.epoch = 1, .num_canonical_nodes = 2, .shuffle_block_size = 60});
}

/// An index that is put there before its shards are flushed.
void break_order(const std::string& directory) {
  using mds::detail::durability;
  const auto put = [&](const std::string& name, durability wanted) {
    mds::detail::replace_file(directory + '/' + name, mds::as_bytes("bytes"), wanted);
  };
  put("shard.00000.mds", durability::flushed);
  put("shard.00001.mds", durability::cached);
  put("index.json", durability::flushed);
}

}  // namespace

int main(int count, char** arguments) try {
  const std::map<std::string_view, std::function<void(const std::string&)>> scenes{
      {"write", write_dataset}, {"merge", merge_datasets},     {"save", save_checkpoint},
      {"rows", index_rows},     {"cache", read_through_cache}, {"plan", keep_plan},
      {"broken", break_order},
  };
  if (count != 3) throw std::runtime_error("usage: scenes SCENE DIRECTORY");
  scenes.at(arguments[1])(arguments[2]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
