// Checkpoints of a model with 124 million parameters and Adam: saved to a directory and to an S3
// server, and loaded from there, beside programs that do the same; what the training loop waits
// for; and what is counted: bytes fetched, memory, requests.
//
// bench_checkpoint ROOT: the tensors lie in a file beneath ROOT, directories beneath /dev/shm:
// disks are not what is measured. Peers are those of MDSTREAM_BENCH_PEERS. The S3 server is the one
// that S3_ENDPOINT_URL and AWS_… name; without one the cases with buckets are left out.

#include "checkpoint_state.hpp"
#include "support/harness.hpp"
#include "support/peer.hpp"
#include "support/program.hpp"
#include "support/s3_bucket.hpp"
#include "transfer_files.hpp"

#include <mdstream/checkpoint/detail/layout_text.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/s3.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace mds = mdstream;
using bench::contender;
using bench::folder;
using bench::state_memory;
using bench::turn;
using std::chrono::steady_clock;

const std::string shm = "/dev/shm/mdstream-bench-checkpoint";
const std::string bucket = "bench-checkpoint";

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

mds::saver_options options_of(const mds::opened_store& run) {
  return {.run = run, .token = std::to_string(std::random_device()()), .keep = {.last = 1}};
}

/// A saver that lives as long as a run does, saving step after step: all but the first find its
/// memory warm.
struct running_saver {
  explicit running_saver(const mds::opened_store& run) : saver(options_of(run)) {}
  mds::checkpoint_saver saver;
  std::uint64_t step = 0;
  void save(const mds::tensor_list& tensors) { saver.save(++step, tensors); }
};

/// Empties the place of a store before each turn, outside of the time.
contender after(const std::function<void()>& prepare, contender of) {
  of.take_turn = [prepare, work = std::move(of.take_turn)] {
    prepare();
    return work();
  };
  return of;
}

/// A checkpoint by `ranks` ranks, each row of which one of them holds.
void save_by(std::uint64_t ranks, const mds::opened_store& run, const state_memory& state) {
  std::vector<std::thread> threads;
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      mds::saver_options options = options_of(run);
      options.world = {.ranks_per_node = ranks, .rank = rank};
      options.token = "ranks " + std::to_string(ranks);
      options.memory.value /= ranks;
      mds::checkpoint_saver saver(options);
      saver.save(1, state.list(rank, ranks));
      saver.finish();
    });
  for (std::thread& each : threads) each.join();
}

void bench_save_directory(const std::string& file) {
  const std::string name = "save, directory";
  if (!bench::is_wanted(name)) return;
  const folder scratch(shm);
  const state_memory state(file);
  const auto tensors = state.list();
  auto saver = std::make_shared<running_saver>(mds::store::local(scratch / "run"));
  const auto save = [&, saver] {
    saver->save(tensors);
    saver->saver.finish();
    return std::uint64_t{state_memory::bytes()};
  };
  const auto sweep = [&] { fs::remove_all(scratch / "run/data"); };
  const auto write = [&] {
    const mds::store::local out(scratch / "plain");
    out.write("file", mds::bytes_view(state.data(), state_memory::bytes()));
    fs::remove_all(scratch / "plain");
    return std::uint64_t{state_memory::bytes()};
  };
  bench::run_case("checkpoint", name, "B/s",
                  bench::with({after(sweep, {"mdstream", save}), {"limit:write", write}},
                              bench::peers_of("checkpoint", name, file + '\t' + scratch.path())),
                  5);
}

mds::opened_store bucket_store(mds::runtime& threads, const std::string& prefix) {
  return mds::store::s3::open("s3://" + bucket + '/' + prefix, threads);
}

void bench_save_s3(const std::string& file) {
  const std::string name = "save, S3";
  if (!bench::is_wanted(name) || std::getenv("S3_ENDPOINT_URL") == nullptr) return;
  const folder scratch(shm);
  const state_memory state(file);
  const auto tensors = state.list();
  // The same files, for `mdstream copy`.
  {
    running_saver once(mds::store::local(scratch / "run"));
    once.save(tensors);
    once.saver.finish();
  }
  mds::runtime threads(1);
  bench::make_anew(bucket);
  auto saver = std::make_shared<running_saver>(bucket_store(threads, "run"));
  const auto save = [&, saver] {
    saver->save(tensors);
    saver->saver.finish();
    return std::uint64_t{state_memory::bytes()};
  };
  const auto copy = [&] {
    const auto cost = bench::run_program(
        {BENCH_MDSTREAM, "copy", scratch / "run/data", "s3://" + bucket + "/copy/"});
    return turn{static_cast<double>(state_memory::bytes()), cost.seconds, cost.cpu_s,
                cost.resident_mb};
  };
  std::vector<contender> turns =
      bench::with({{"mdstream", save}, contender::measured("mdstream copy", copy)},
                  bench::peers_of("checkpoint", name, file + "\ts3://" + bucket));
  // The start of the run stays: an object of no bytes would do.
  for (contender& each : turns) each = after([] { bench::make_anew(bucket); }, std::move(each));
  bench::run_case("checkpoint", name, "B/s", std::move(turns), 5);
}

void bench_load_s3(const std::string& file) {
  const std::string name = "load, S3";
  if (!bench::is_wanted(name) || std::getenv("S3_ENDPOINT_URL") == nullptr) return;
  const folder scratch(shm);
  mds::runtime threads(1);
  bench::make_anew(bucket);
  const mds::opened_store one = bucket_store(threads, "one"), four = bucket_store(threads, "four");
  {
    const state_memory state(file);
    save_by(1, one, state);
    save_by(4, four, state);
  }
  const state_memory mine;
  const auto load = [&] {
    mds::checkpoint::open(one).load(mine.list());
    return std::uint64_t{state_memory::bytes()};
  };
  // As six ranks on one machine do: all at once.
  const auto load_by_six = [&] {
    std::vector<std::thread> ranks;
    for (std::uint64_t rank = 0; rank < 6; ++rank)
      ranks.emplace_back(
          [&, rank] { mds::checkpoint::open(four).load(mine.list(rank, 6), {.requests = 2}); });
    for (std::thread& each : ranks) each.join();
    return std::uint64_t{state_memory::bytes()};
  };
  const auto copy = [&] {
    const auto cost = bench::run_program(
        {BENCH_MDSTREAM, "copy", "s3://" + bucket + "/one/data", scratch / "copy"});
    fs::remove_all(scratch / "copy");
    return turn{static_cast<double>(state_memory::bytes()), cost.seconds, cost.cpu_s,
                cost.resident_mb};
  };
  bench::run_case("checkpoint", name, "B/s",
                  bench::with({{"mdstream", load},
                               {"mdstream, 4 to 6 row shards", load_by_six},
                               contender::measured("mdstream copy", copy)},
                              bench::peers_of("checkpoint", name, file + "\ts3://" + bucket)),
                  5);
}

/// What a training loop waits for, beside a copy of the same bytes.
void bench_blocked(const std::string& file) {
  const std::string name = "training loop blocked";
  if (!bench::is_wanted(name)) return;
  const folder scratch(shm);
  const state_memory state(file);
  const auto tensors = state.list();
  auto saver = std::make_shared<running_saver>(mds::store::local(scratch / "run"));
  const auto blocked = [&, saver](double compute) {
    fs::remove_all(scratch / "run/data");
    const double cpu = bench::cpu_seconds();
    const auto begin = steady_clock::now();
    saver->save(tensors);
    const double saving = seconds_since(begin);
    // Forward and backward on a device: the processor has nothing to do.
    std::this_thread::sleep_for(std::chrono::duration<double>(compute));
    const auto again = steady_clock::now();
    saver->saver.wait_snapshot();
    const double waited = saving + seconds_since(again);
    saver->saver.finish();
    return turn{static_cast<double>(state_memory::bytes()), waited, bench::cpu_seconds() - cpu,
                bench::resident_mb()};
  };
  const state_memory to;
  const auto copy = [&](std::size_t threads) {
    std::vector<std::thread> others;
    const std::size_t part = state_memory::bytes() / threads;
    for (std::size_t i = 0; i < threads; ++i)
      others.emplace_back(
          [&, i] { std::memcpy(to.data() + i * part, state.data() + i * part, part); });
    for (std::thread& each : others) each.join();
    return std::uint64_t{part * threads};
  };
  bench::run_case("checkpoint", name, "B/s",
                  {contender::measured("mdstream", [&] { return blocked(0); }),
                   contender::measured("mdstream, 2 s of compute", [&] { return blocked(2); }),
                   {"limit:memcpy, 1 thread", [&] { return copy(1); }},
                   {"limit:memcpy, 4 threads", [&] { return copy(4); }}},
                  5);
}

void print(const std::string& name, const std::string& who, double value, const char* unit) {
  std::printf(
      "{\"bench\":\"checkpoint\",\"case\":\"%s\",\"who\":\"%s\",\"value\":%.4g,\"unit\":\"%s\"}\n",
      name.c_str(), who.c_str(), value, unit);
  std::fflush(stdout);
}

/// Counts what is asked of a store.
class counting {
 public:
  struct counts {
    std::atomic<std::uint64_t> requests{0}, bytes{0};
  };
  counting(mds::opened_store inner, std::shared_ptr<counts> to)
      : inner_(std::move(inner)), to_(std::move(to)) {}

  std::uint64_t size(std::string_view key) const { return ++to_->requests, inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    ++to_->requests;
    const std::size_t got = inner_.read(key, offset, into);
    to_->bytes += got;
    return got;
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    ++to_->requests;
    inner_.write(key, bytes);
  }
  std::vector<mds::object_info> list(std::string_view prefix) const {
    return ++to_->requests, inner_.list(prefix);
  }
  void remove(std::string_view key) const {
    ++to_->requests;
    inner_.remove(key);
  }
  std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  mds::opened_store inner_;
  std::shared_ptr<counts> to_;
};

void count_fetched(const std::string& file) {
  const std::string name = "fetched / wanted";
  if (!bench::is_wanted(name)) return;
  const folder scratch(shm);
  {
    const state_memory state(file);
    save_by(4, mds::store::local(scratch / "run"), state);
  }
  const auto counts = std::make_shared<counting::counts>();
  const auto found = mds::checkpoint::open(counting(mds::store::local(scratch / "run"), counts));
  const state_memory mine;
  const auto fetched = [&](std::uint64_t ranks, bool columns) {
    counts->bytes = counts->requests = 0;
    double wanted = 0;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const auto list = mine.list(rank, ranks, columns);
      wanted += static_cast<double>(list.saved_bytes());
      found.load(list);
    }
    return static_cast<double>(counts->bytes) / wanted;
  };
  print(name, "4 to 6 row shards", fetched(6, false), "");
  print(name, "4 to 6 row shards", static_cast<double>(counts->requests), "requests");
  print(name, "4 row shards to 2 of columns", fetched(2, true), "");
}

/// Of this process, in MiB.
double status_mb(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kib = 0; word == field && status >> kib) return kib / 1024;
  return 0;
}

/// The most resident memory while `work` runs, above what there was before.
double growth_mb(const std::function<void()>& work) {
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = status_mb("VmRSS:");
  work();
  return status_mb("VmHWM:") - before;
}

void count_memory(const std::string& file) {
  const std::string name = "memory";
  if (!bench::is_wanted(name)) return;
  const folder scratch(shm);
  const mds::opened_store run = mds::store::local(scratch / "run");
  {
    const state_memory state(file);
    const auto tensors = state.list();
    mds::saver_options options = options_of(run);
    options.memory.value = std::uint64_t{512} << 20;
    print(name, "growth by a save beside .memory", growth_mb([&] {
                                                     mds::checkpoint_saver saver(options);
                                                     saver.save(1, tensors);
                                                     saver.finish();
                                                   }) - 512,
          "MiB");
  }
  const state_memory mine;
  print(name, "growth by a load", growth_mb([&] { mds::checkpoint::open(run).load(mine.list()); }),
        "MiB");
}

void count_many() {
  const std::string name = "many";
  if (!bench::is_wanted(name)) return;
  const mds::opened_store run = mds::store::memory();
  {
    std::vector<float> values(8);
    mds::tensor_list tensors;
    tensors.add("w", mds::tensor_type::f32, {8}, values.data());
    mds::saver_options options = options_of(run);
    options.keep = {};
    mds::checkpoint_saver saver(options);
    for (std::uint64_t step = 1; step <= 1000; ++step) saver.save(step, tensors);
    saver.finish();
  }
  const auto counts = std::make_shared<counting::counts>();
  (void)mds::checkpoint::open(counting(run, counts));
  print(name, "newest of 1000 checkpoints", static_cast<double>(counts->requests), "requests");

  mds::detail::data_layout layout;
  constexpr std::uint64_t ranks = 512, tensors = 1954;  // a million boxes
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    layout.files.push_back({.name = "r" + std::to_string(rank) + "-0.safetensors",
                            .bytes = 8 + tensors * 4096,
                            .crcs = {1}});
  for (std::uint64_t i = 0; i < tensors; ++i) {
    mds::detail::stored_tensor each{.name = "layers." + std::to_string(1'000'000 + i),
                                    .type = mds::tensor_type::f32,
                                    .shape = {ranks * 8, 128}};
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      each.add(rank, 8 + i * 4096, mds::box{{rank * 8, 0}, {8, 128}});
    layout.tensors.push_back(std::move(each));
  }
  const auto begin = steady_clock::now();
  const std::string text = mds::detail::write_layout(layout);
  print(name, "layout of a million boxes, written", seconds_since(begin), "s");
  print(name, "layout of a million boxes", static_cast<double>(text.size()) / 1e6, "MB");
  const auto again = steady_clock::now();
  const auto read = mds::detail::read_layout(text);
  print(name, "layout of a million boxes, read", seconds_since(again), "s");
  if (read != layout) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argc > 1 ? argv[1] : "build/bench-data";
  fs::create_directories(root);
  const std::string file = root + "/state";
  bench_blocked(file);
  bench_save_directory(file);
  bench_save_s3(file);
  bench_load_s3(file);
  count_fetched(file);
  count_memory(file);
  count_many();
}
