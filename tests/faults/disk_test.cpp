// A disk that fails (EIO) or is full (ENOSPC) at any call of a run, once or from then on.

#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cache/fixture.hpp"
#include "faults/scenes.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/failing_disk.hpp"

namespace disk_test {

namespace mds = mdstream;
namespace fs = std::filesystem;
using action = std::function<void(const std::string& directory)>;

/// What is played on a directory, and what has to hold afterwards.
struct scene {
  action before = [](const std::string&) {};
  action run;
  /// The same without faults, in the directory that the faults left; `done`: `run` succeeded.
  std::function<void(const std::string& directory, bool done)> then;
  std::size_t calls;           // on files, at least
  std::size_t calls_for_room;  // of these, at least; 0: none
};

/// In memory, if possible, where flushes are free.
scratch_directory::scratch fast_scratch() {
  return scratch_directory::scratch(::access("/dev/shm", W_OK) == 0
                                        ? "/dev/shm"
                                        : fs::canonical(fs::temp_directory_path()).native());
}

/// Whether a text names the file of a call. A temporary file stands for the one whose place it was
/// to take, in the same directory.
bool names(const std::string& text, const std::string& call) {
  const fs::path path = call.substr(call.find(' ') + 1);
  const bool is_temporary = path.filename().native().starts_with(".mdstream-");
  return text.find(is_temporary ? path.parent_path().native() : path.native()) != text.npos;
}

/// What is wrong with the error of a run in which calls failed; empty: nothing.
std::string fault_of(const mds::error& e, int number, const std::vector<std::string>& calls) {
  const std::string text = e.what();
  if (e.code() != (number == ENOSPC ? mds::errc::no_space : mds::errc::io_error))
    return "another code: " + e.code().message();
  if (text.find(std::strerror(number)) == text.npos) return "it does not say why";
  if (std::ranges::none_of(calls, [&](const auto& each) { return names(text, each); }))
    return "it names no file";
  return "";
}

/// Lets the first call of a scene fail, then the second, and so on, until none is left to fail.
void fail_each_call(const scene& of) {
  const scratch_directory::scratch whole = fast_scratch();
  of.before(whole.path());
  const int number = GENERATE(EIO, ENOSPC);
  const bool lasts = GENERATE(false, true);
  std::size_t call = 1;
  for (;; ++call) {
    const scratch_directory::scratch scratch = fast_scratch();
    const std::string directory = scratch / "of";
    fs::copy(whole.path(), directory, fs::copy_options::recursive);
    support::failing_disk disk(directory, number, call, lasts);
    const std::optional<mds::error> error = support::error_of([&] { of.run(directory); });
    const std::vector<std::string> failed = disk.end();
    INFO("fault at call " << call << ", errno " << number << (lasts ? " from then on: " : ": ")
                          << (failed.empty() ? "none" : failed.front()) << ": "
                          << (error ? error->what() : "no error"));
    if (error) CHECK(fault_of(*error, number, failed) == "");
    CHECK_NOTHROW(of.then(directory, !error));
    if (failed.empty()) break;
  }
  const std::size_t least = number == EIO ? of.calls : of.calls_for_room;
  CHECK(call > least);
  if (least == 0) CHECK(call == 1);  // nothing to fail
}

using numbers = mds::policies<mds::store::local, mds::codec::zstd, mds::hash::xxh64,
                              mds::schema<mds::column<"number", std::int64_t>>>;
constexpr std::int64_t samples = 900;

void write(const std::string& directory, std::string compression,
           mds::existing_dataset existing = mds::existing_dataset::error) {
  mds::writer<numbers> out({.out = directory,
                            .compression = std::move(compression),
                            .size_limit = 4096,
                            .existing = existing,
                            .warn = [](const std::string&) {}});
  const std::uint64_t kept = existing == mds::existing_dataset::resume ? out.kept_samples() : 0;
  for (auto i = static_cast<std::int64_t>(kept); i < samples; ++i) out.write(i);
  out.finish();
}

std::vector<std::int64_t> epoch(const std::string& remote, const std::string& local,
                                std::uint64_t limit = 0) {
  mds::loader<numbers> loader({.remote = remote,
                               .local = local,
                               .cache_limit = mds::byte_size(limit),
                               .batch_size = 64,
                               .shuffle = false,
                               .world = mds::world{},
                               .download_retry = 1,
                               .patience = {},
                               .warn = [](const std::string&) {},
                               .threads = 2});
  std::vector<std::int64_t> out;
  for (auto& batch : loader.epoch())
    for (const std::int64_t each : batch.template get<"number">()) out.push_back(each);
  return out;
}

/// Throws unless an epoch of the dataset has its samples, in their order.
void check_epoch(const std::string& remote, const std::string& local, std::uint64_t limit = 0) {
  static const std::vector<std::int64_t> expected = [] {
    const scratch_directory::scratch dir = fast_scratch();
    write(dir / "data", "");
    return epoch(dir / "data", dir / "cache");
  }();
  if (expected.size() != samples || epoch(remote, local, limit) != expected)
    throw std::runtime_error("other samples");
}

/// How often a dataset has the samples that `write` writes, one after the other.
std::uint64_t times(const std::string& directory) {
  const scratch_directory::scratch local = fast_scratch();
  const mds::dataset<numbers> data({.remote = directory, .local = local.path()});
  for (std::uint64_t i = 0; i < data.size(); ++i)
    if (data[i].get<"number">() != static_cast<std::int64_t>(i) % samples)
      throw std::runtime_error("other samples");
  if (data.size() % samples != 0) throw std::runtime_error("a part of the samples");
  return data.size() / samples;
}

/// The tensors of step `step`, in which each byte is that number.
struct model {
  std::vector<std::byte> small{100}, large{5000};
  mds::tensor_list list;
  explicit model(std::uint64_t step) {
    std::ranges::fill(small, std::byte(step));
    std::ranges::fill(large, std::byte(step));
    list.add("small", mds::tensor_type::u8, {small.size()}, small.data());
    list.add("large", mds::tensor_type::u8, {large.size()}, large.data());
  }
};

mds::saver_options options_of(const std::string& directory) {
  mds::saver_options options = launches::options_on(mds::store::local(directory + "/run"));
  options.keep = {.last = 2, .grace = {}};
  options.patience = std::chrono::milliseconds(1);  // what fails is tried once more
  return options;
}

void save(const std::string& directory, std::uint64_t step) {
  const model mine(step);
  mds::checkpoint_saver saver(options_of(directory));
  saver.save(step, mine.list);
  saver.finish();
}

void save_two(const std::string& directory) {
  for (const std::uint64_t step : {1, 2}) save(directory, step);
}

/// Loads the newest checkpoint, which has to be right; its step.
std::uint64_t load(const std::string& directory) {
  model mine(0);
  const auto last = mds::checkpoint::open(mds::store::local(directory + "/run"), {},
                                          {.patience = {}, .warn = launches::no_warnings});
  last.load(mine.list);
  const model expected(last.step());
  if (mine.small != expected.small || mine.large != expected.large)
    throw std::runtime_error("other tensors");
  return last.step();
}

}  // namespace disk_test

TEST_CASE("an epoch is read through a cache on a disk that fails or is full", "[faults]") {
  using namespace disk_test;
  struct kind {
    std::string compression;
    bool is_warm;
    std::uint64_t limit;
  };
  const kind of = GENERATE(kind{"zstd", false, 100000}, kind{"", true, 0});
  const action read = [&](const std::string& directory) {
    check_epoch(directory + "/remote", directory + "/cache", of.limit);
  };
  fail_each_call({.before =
                      [&](const std::string& directory) {
                        write(directory + "/remote", of.compression);
                        if (of.is_warm) read(directory);
                      },
                  .run = read,
                  .then = [&](const std::string& directory, bool) { read(directory); },
                  .calls = 100,
                  .calls_for_room = 20});
}

TEST_CASE("room that was reserved is free after a claim that a failed call ended", "[faults]") {
  using namespace disk_test;
  const cache_test::dataset data({.shards = 2});
  std::size_t faults = 0;
  for (bool some_fail = true; some_fail;) {
    const scratch_directory::scratch root = fast_scratch();
    const mds::detail::shard_catalog catalog(
        root.path(),
        cache_test::described({cache_test::stream_of(data, root.path(), mds::store::memory())}));
    mds::detail::cache_directory directory(root.path(), 20'000, catalog, {});
    const std::uint64_t before = directory.usage();
    support::failing_disk disk(root.path(), EIO, faults + 1, false);
    const auto error = support::error_of([&] {
      mds::detail::shard_claim claim;
      (void)directory.claim(1, catalog.footprint(1), mds::detail::urgency::now, claim);
      directory.abandon(1, std::move(claim));
    });
    const std::vector<std::string> failed = disk.end();
    some_fail = !failed.empty();
    if (!some_fail) break;
    ++faults;
    INFO(faults << ": " << failed.front() << ": " << (error ? error->what() : "no error"));
    CHECK(directory.usage() == before);
  }
  CHECK(faults >= 20);
}

TEST_CASE("a dataset is written to a disk that fails or is full", "[faults]") {
  using namespace disk_test;
  using enum mds::existing_dataset;
  const auto existing = GENERATE(error, append, replace);
  const action run = [&](const std::string& directory) {
    write(directory + "/data", "zstd", existing);
  };
  fail_each_call({.before =
                      [&](const std::string& directory) {
                        if (existing != error) write(directory + "/data", "zstd");
                      },
                  .run = run,
                  .then =
                      [&](const std::string& directory, bool done) {
                        const std::uint64_t before =
                            faults::has_index(directory + "/data") ? times(directory + "/data") : 0;
                        const std::uint64_t least = existing == append ? 1 : 0;
                        if (before < least + (done ? 1 : 0))
                          throw std::runtime_error("samples are gone");
                        write(directory + "/data", "zstd", existing == error ? resume : existing);
                        if (times(directory + "/data") != (existing == append ? before + 1 : 1))
                          throw std::runtime_error("other samples after another run");
                      },
                  .calls = 30,
                  .calls_for_room = 15});
}

TEST_CASE("a key that could not be created on a disk that fails is not there", "[faults]") {
  using namespace disk_test;
  std::size_t faults = 0;
  for (bool some_fail = true; some_fail;) {
    const scratch_directory::scratch scratch = fast_scratch();
    const mds::store::local store(scratch / "of");
    support::failing_disk disk(scratch.path(), EIO, faults + 1, false);
    bool made = false;
    const std::optional<mds::error> error =
        support::error_of([&] { made = store.create("in/key", mds::as_bytes("text")); });
    const std::vector<std::string> failed = disk.end();
    some_fail = !failed.empty();
    if (some_fail) ++faults;
    INFO(faults << ": " << (some_fail ? failed.front() : "none"));
    CHECK(made == !error);
    CHECK(mds::exists(store, "in/key") == made);
    CHECK(store.create("in/key", mds::as_bytes("text")) != made);
  }
  CHECK(faults > 10);
}

TEST_CASE("a checkpoint is saved on a disk that fails or is full", "[faults]") {
  using namespace disk_test;
  fail_each_call({.before = save_two,
                  .run = [](const std::string& directory) { save(directory, 3); },
                  .then =
                      [](const std::string& directory, bool done) {
                        const std::uint64_t step = load(directory);
                        if (step != 3 && (done || step != 2))
                          throw std::runtime_error("step " + std::to_string(step));
                        save(directory, 4);
                        if (load(directory) != 4) throw std::runtime_error("step 4 is gone");
                      },
                  .calls = 50,
                  .calls_for_room = 30});
}

TEST_CASE("a checkpoint is loaded from a disk that fails", "[faults]") {
  using namespace disk_test;
  const action right = [](const std::string& directory) {
    if (const std::uint64_t step = load(directory); step != 2)
      throw std::runtime_error("step " + std::to_string(step));
  };
  fail_each_call({.before = save_two,
                  .run = right,
                  .then = [&](const std::string& directory, bool) { right(directory); },
                  .calls = 10,
                  .calls_for_room = 0});
}

TEST_CASE("rows are indexed on a disk that fails or is full", "[faults]") {
  using namespace disk_test;
  const action run = [](const std::string& directory) {
    faults::read_rows(directory + "/rows", {});
  };
  fail_each_call({.run = run,
                  .then = [&](const std::string& directory, bool) { run(directory); },
                  .calls = 60,
                  .calls_for_room = 40});
}

TEST_CASE("a plan is optional on a disk that fails or is full", "[faults]") {
  using namespace disk_test;
  const action run = [](const std::string& directory) { faults::keep_plan(directory + "/plan"); };
  fail_each_call({.run = run,
                  .then =
                      [&](const std::string& directory, bool done) {
                        if (!done) throw std::runtime_error("there is no order");
                        run(directory);
                      },
                  .calls = 10,
                  .calls_for_room = 5});
}
