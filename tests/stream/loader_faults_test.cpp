#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/loader.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <asio/use_future.hpp>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

// What happens beside the loop: calls in unusual order, handlers that outlive what they wait for,
// bytes that lie.

namespace mds = mdstream;

namespace loader_faults {

using scratch_directory::scratch;
using loader = mds::loader<>;
using ids_list = std::vector<std::int64_t>;

struct one_stream {
  scratch dir;
  explicit one_stream(std::vector<std::uint64_t> shards = std::vector<std::uint64_t>(10, 10)) {
    support::write_plain_dataset(dir / "data", shards);
  }
  [[nodiscard]] loader::options options() const {
    return {.local = dir / "data", .batch_size = 10, .world = mds::world{}, .threads = 1};
  }
};

ids_list ids_of(const loader::batch_type& batch) {
  return {batch.ids().begin(), batch.ids().end()};
}

std::uint64_t position(const std::string& state) {
  return mds::parse_state(state).at.sample_in_epoch;
}

/// A store that says of every object that it has far more bytes than there are.
class boaster {
 public:
  [[nodiscard]] static bool serves(std::string_view) { return true; }
  [[nodiscard]] static boaster open(std::string_view url) { return boaster(std::string(url)); }
  explicit boaster(std::string root) : from_(std::move(root)) {}
  [[nodiscard]] std::uint64_t size(std::string_view) const { return says; }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return from_.read(key, offset, into.first(std::min<std::size_t>(into.size(), 4096)));
  }
  void write(std::string_view, mds::bytes_view) const {}
  [[nodiscard]] std::vector<mds::object_info> list(std::string_view) const { return {}; }
  void remove(std::string_view) const {}
  [[nodiscard]] std::string url(std::string_view key) const { return from_.url(key); }

  std::uint64_t says = ~std::uint64_t{0};

 private:
  mds::store::local from_;
};

/// One shard of one sample with these bytes, and an index with these columns (JSON).
void write_hostile(const std::string& where, const std::string& names, const std::string& encodings,
                   const std::string& sizes, const std::string& sample) {
  std::filesystem::create_directories(where);
  std::string shard;
  for (const std::uint64_t word : {std::uint64_t{1}, std::uint64_t{12}, 12 + sample.size()})
    support::detail::append_u32(shard, word);
  shard += sample;
  std::ofstream(where + "/shard.00000.mds", std::ios::binary) << shard;
  std::ofstream(where + "/index.json")
      << R"({"shards": [{"column_encodings": [)" << encodings << R"(], "column_names": [)" << names
      << R"(], "column_sizes": [)" << sizes
      << R"(], "compression": null, "format": "mds", "hashes": [], "raw_data": {"basename": )"
      << R"("shard.00000.mds", "bytes": )" << shard.size() << R"(, "hashes": {}}, "samples": 1, )"
      << R"("size_limit": null, "version": 2, "zip_data": null}], "version": 2})";
}

}  // namespace loader_faults

TEST_CASE("an index whose sizes contradict its encodings is refused before a byte is copied") {
  using namespace loader_faults;
  const auto refused = [](const std::string& encodings, const std::string& sizes,
                          const std::string& sample, const std::string& names = R"("a")") {
    const scratch dir;
    write_hostile(dir / "data", names, encodings, sizes, sample);
    support::expect_error(
        [&] {
          loader one({.local = dir / "data", .batch_size = 1, .world = mds::world{}});
          for (auto& batch : one.epoch()) static_cast<void>(batch);
        },
        mds::errc::corrupt, {"shard 0"});
  };
  refused(R"("str")", "4096", std::string(4096, '\xff'));
  refused(R"("int")", "null", std::string(8, 'x'));
  refused(R"("int")", "9", std::string(9, 'x'));
  refused(R"("ndarray:uint8:18446744073709551608")", "null", std::string(24, 'x'));
  refused(R"("ndarray:uint8:18446744073709551608", "ndarray:uint8:24")", "18446744073709551608, 24",
          std::string(24, 'x'), R"("a", "b")");
  refused(R"("ndarray:uint8:5000000000")", "5000000000", std::string(24, 'x'));
  // Sizes in a sample's own header: beyond its end.
  refused(R"("str")", "null", std::string("\xff\xff\xff\xffhello", 9));
}

TEST_CASE("calls without blocking give the batches that the loop gives, padding left out") {
  using namespace loader_faults;
  const one_stream data;
  auto options = data.options();
  options.num_workers = 4;  // ten batches in rounds of four: two of the last round are padding
  loader blocking(options);
  std::vector<ids_list> expected, got;
  for (auto& batch : blocking.epoch()) expected.push_back(ids_of(batch));
  CHECK(expected.size() == 10);
  loader other(options);
  auto epoch = other.epoch();
  try {
    while (true) got.push_back(ids_of(epoch.async_next(asio::use_future).get()));
  } catch (const mds::error& e) {
    CHECK(e.code() == mds::errc::end_of_epoch);
  }
  CHECK(got == expected);
}

TEST_CASE("a batch counts when it is handed out, and one call is outstanding at a time") {
  using namespace loader_faults;
  const one_stream data;
  loader one(data.options());
  auto epoch = one.epoch();
  loader::batch_type batch;
  REQUIRE(epoch.next(batch));
  asio::io_context mine;
  bool arrived = false;
  epoch.async_next(
      asio::bind_executor(mine, [&](std::exception_ptr, loader::batch_type) { arrived = true; }));
  auto second = epoch.async_next(asio::use_future);
  support::expect_error([&] { second.get(); }, mds::errc::invalid_argument, {"not completed"});
  CHECK(position(one.state()) ==
        10);  // the second batch is built by now, or will be; nobody has it
  mds::run_state later = mds::parse_state(one.state());
  later.at.epoch = 4;
  support::expect_error([&] { one.load_state(mds::to_text(later)); }, mds::errc::invalid_argument,
                        {"not completed"});
  mine.run();
  CHECK(arrived);
  CHECK(position(one.state()) == 20);
  REQUIRE(epoch.next(batch));
  CHECK(position(one.state()) == 30);
}

TEST_CASE("asking for the state changes nothing, also before another state is loaded") {
  using namespace loader_faults;
  const one_stream data;
  const auto first_batches = [&](bool look) {
    auto options = data.options();
    options.num_canonical_nodes = 4;
    loader saved(options);
    loader::batch_type batch;
    saved.epoch().next(batch);
    const std::string state = saved.state();
    options.num_canonical_nodes.reset();
    loader one(options);
    if (look) static_cast<void>(one.state());
    one.load_state(state);
    CHECK(one.state() == state);
    auto epoch = one.epoch();
    epoch.next(batch);
    return ids_of(batch);
  };
  CHECK(first_batches(true) == first_batches(false));
}

TEST_CASE("a state that comes while an epoch runs waits for the next, or is refused as stale") {
  using namespace loader_faults;
  const one_stream data;
  loader one(data.options());
  loader::batch_type batch;
  {
    auto epoch = one.epoch();
    for (int i = 0; i < 3; ++i) epoch.next(batch);
    const std::string state = one.state();
    for (int i = 0; i < 5; ++i) epoch.next(batch);
    support::expect_error([&] { one.load_state(state); }, mds::errc::state_mismatch,
                          {"of epoch 0, which this loader has begun already"});
    CHECK(position(one.state()) == 80);
    epoch.next(batch);
    CHECK(position(one.state()) == 90);
  }
  mds::run_state later = mds::parse_state(one.state());
  later.at.epoch = 4;
  later.at.sample_in_epoch = 20;
  one.load_state(mds::to_text(later));
  CHECK(one.state() == mds::to_text(later));
  auto epoch = one.epoch();
  epoch.next(batch);
  CHECK(batch.epoch() == 4);
  CHECK(batch.number() == 2);
  CHECK(position(one.state()) == 30);
}

TEST_CASE("a state of an epoch that can not begin is refused, and changes nothing") {
  using namespace loader_faults;
  const one_stream data;
  loader one(data.options());
  mds::run_state beyond = mds::parse_state(one.state());
  beyond.at.epoch = 5;
  beyond.at.sample_in_epoch = 1000;
  const std::string before = one.state();
  for (int i = 0; i < 2; ++i)
    support::expect_error([&] { (void)one.load_state(mds::to_text(beyond)); },
                          mds::errc::invalid_argument, {"1000"});
  CHECK(one.state() == before);
  loader::batch_type batch;
  beyond.at.sample_in_epoch = 50;
  one.load_state(mds::to_text(beyond));
  auto epoch = one.epoch();
  REQUIRE(epoch.next(batch));
  CHECK(batch.epoch() == 5);
  CHECK(batch.number() == 5);
}

TEST_CASE("a damaged shard fails the batches that need it, and no others, in every epoch") {
  using namespace loader_faults;
  const one_stream data;
  {
    std::fstream file(data.dir / "data/shard.00007.mds",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4 + 4 * 3);
    file.put('\x01');
  }
  auto options = data.options();
  options.shuffle = false;
  loader one(options);
  for (int e = 0; e < 3; ++e) {
    auto epoch = one.epoch();
    loader::batch_type batch;
    for (int i = 0; i < 7; ++i) REQUIRE(epoch.next(batch));
    for (int again = 0; again < 2; ++again)
      support::expect_error([&] { epoch.next(batch); }, mds::errc::corrupt, {"shard 7", "byte"});
  }
}

TEST_CASE("a loader may be moved while its epoch is read, and dropped by its own handler") {
  using namespace loader_faults;
  const one_stream data;
  loader one(data.options());
  auto epoch = one.epoch();
  loader::batch_type batch;
  REQUIRE(epoch.next(batch));
  auto moved = std::make_shared<loader>(std::move(one));
  REQUIRE(epoch.next(batch));
  CHECK(batch.number() == 1);

  std::promise<bool> done;
  epoch.async_next(
      [&done, moved = std::move(moved)](std::exception_ptr failure, loader::batch_type) mutable {
        moved.reset();  // on the loader's own io thread
        done.set_value(failure == nullptr);
      });
  CHECK(done.get_future().get());
}

TEST_CASE("canonical nodes of 0 are none, a block of 0 is an error, an unfilled batch says so") {
  using namespace loader_faults;
  const one_stream data;
  auto options = data.options();
  options.num_canonical_nodes = 0;
  loader one(options);
  const std::string state = one.state();
  loader(options).load_state(state);
  options.shuffle_block_size = 0;
  options.shuffle_algo = "py1s";
  support::expect_error([&] { loader refused(options); }, mds::errc::invalid_argument,
                        {"shuffle_block_size"});
  const loader::batch_type nothing;
  support::expect_error([&] { static_cast<void>(nothing.scalar<std::int64_t>("id")); },
                        mds::errc::invalid_argument, {"not been filled"});
}

TEST_CASE("a remote that says its index has more bytes than there is memory is refused") {
  using namespace loader_faults;
  using policies = mds::policies<boaster>;
  const one_stream data;
  boaster remote(data.dir / "data");
  remote.says = GENERATE(~std::uint64_t{0}, std::uint64_t{1} << 62, std::uint64_t{1} << 50);
  const mds::loader<policies>::options options{.streams = {{.store = remote}},
                                               .local = data.dir / "cache",
                                               .batch_size = 10,
                                               .world = mds::world{},
                                               .download_retry = 1,
                                               .threads = 1};
  support::expect_error([&] { mds::loader<policies> refused(options); }, mds::errc::corrupt,
                        {"index.json", std::to_string(remote.says)});
  mds::runtime threads(1);
  auto opening = mds::async_open<mds::loader<policies>>(threads, options, asio::use_future);
  support::expect_error([&] { opening.get(); }, mds::errc::corrupt, {"index.json"});
}
