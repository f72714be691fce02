#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/open.hpp>

#include <mdstream/async/detail/event.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/http.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/system_executor.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/forwarding.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/plain_dataset.hpp"
#include "support/scripted_server.hpp"
#include "support/seed.hpp"

// Opening, reading by index and reading an epoch without blocking, from a web server that answers,
// or that takes requests and says nothing.

// g++ takes the frames of Asio's coroutines for memory of another allocator.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace mds = mdstream;

namespace async_test {

using namespace std::chrono_literals;
using scratch_directory::scratch;
using support::scripted_request;
using support::scripted_server;

using policies = mds::policies<mds::store::http>;
using dataset = mds::dataset<policies>;
using loader = mds::loader<policies>;
using batch_type = loader::batch_type;

/// 100 samples in ten shards. Says nothing to who asks for a file whose name holds `silent_about`,
/// and takes its time for other shards, those that it was asked for before as well.
class server {
 public:
  server() { support::write_plain_dataset(dir_ / "data", std::vector<std::uint64_t>(10, 10)); }

  void fall_silent_about(const std::string& name) {
    const std::lock_guard lock(mutex_);
    silent_about_ = name;
  }
  void take_time(std::chrono::milliseconds for_a_shard) { time_for_a_shard_ = for_a_shard; }
  [[nodiscard]] bool was_asked_about(const std::string& name) const {
    for (const scripted_request& each : web_.requests())
      if (each.target.find(name) != std::string::npos) return true;
    return false;
  }
  void wait_for_question(const std::string& name) const {
    while (!was_asked_about(name)) std::this_thread::sleep_for(1ms);
  }
  [[nodiscard]] mds::byte_size room_for_shards(std::uint64_t count) const {
    return mds::byte_size(std::filesystem::file_size(dir_ / "data/index.json") +
                          count * std::filesystem::file_size(dir_ / "data/shard.00000.mds"));
  }
  [[nodiscard]] dataset::options dataset_options() const {
    return {.remote = web_.url(), .local = fresh()};
  }
  [[nodiscard]] loader::options loader_options(unsigned threads = 2) const {
    return {.remote = web_.url(),
            .local = fresh(),
            .batch_size = 8,
            .predownload = 16,
            .world = mds::world{},
            .threads = threads};
  }

 private:
  [[nodiscard]] std::string fresh() const { return dir_ / ("cache" + std::to_string(caches_++)); }

  [[nodiscard]] bool is_silent_about(const std::string& target) const {
    const std::lock_guard lock(mutex_);
    return !silent_about_.empty() && target.find(silent_about_) != std::string::npos;
  }

  void answer(scripted_server::connection& to, const scripted_request& request) {
    if (is_silent_about(request.target)) {
      to.wait(60s);
      return to.close();
    }
    const auto began = std::chrono::steady_clock::now();
    while (request.target.find("shard") != std::string::npos &&
           std::chrono::steady_clock::now() - began < time_for_a_shard_.load() && to.wait(1ms)) {
    }
    std::ifstream file((dir_ / "data") + request.target, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file) return void(to.answer("404 Not Found", ""));
    if (request.method == "HEAD")
      return void(to.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes.size()) +
                          "\r\n\r\n"));
    to.answer("200 OK", bytes);
  }

  scratch dir_;
  mutable std::atomic<int> caches_{0};
  mutable std::mutex mutex_;
  std::string silent_about_;
  std::atomic<std::chrono::milliseconds> time_for_a_shard_{0ms};
  scripted_server web_{[this](auto& to, const auto& request) { answer(to, request); }};
};

/// How a call without blocking ended.
template <class... Values>
class outcome {
 public:
  /// The handler; its slot is that of `cancel`.
  [[nodiscard]] auto handler() {
    return asio::bind_cancellation_slot(
        signal_->slot(), [end = end_, signal = signal_](std::exception_ptr failure, Values...) {
          end->set_value(mds::code_of(failure));
        });
  }
  void cancel() { signal_->emit(asio::cancellation_type::terminal); }
  /// What it ended with; it has to end soon.
  [[nodiscard]] std::error_code code() {
    auto ended = end_->get_future();
    REQUIRE(ended.wait_for(30s) == std::future_status::ready);
    return ended.get();
  }

 private:
  std::shared_ptr<std::promise<std::error_code>> end_ =
      std::make_shared<std::promise<std::error_code>>();
  std::shared_ptr<asio::cancellation_signal> signal_ =
      std::make_shared<asio::cancellation_signal>();
};

/// Reads samples and an epoch as a coroutine does.
asio::awaitable<std::size_t> read_all(mds::runtime& threads, const server& from) {
  const auto options = from.dataset_options();
  const auto data = co_await mds::async_open<dataset>(threads, options, asio::use_awaitable);
  std::size_t read = 0;
  for (std::uint64_t i = 0; i < data->size(); i += 25) {
    const auto sample = co_await data->async_get(i, asio::use_awaitable);
    read += sample->template get<std::int64_t>("id") == static_cast<std::int64_t>(i) ? 1 : 0;
  }
  const auto more = from.loader_options();
  auto opened = co_await mds::async_open<loader>(threads, more, asio::use_awaitable);
  auto epoch = opened->epoch();
  try {
    while (true) read += (co_await epoch.async_next(asio::use_awaitable)).size();
  } catch (const mds::error& e) {
    CHECK(e.code() == mds::errc::end_of_epoch);
  }
  co_return read;
}

}  // namespace async_test

TEST_CASE("callbacks, futures and coroutines open, read samples and read an epoch") {
  using namespace async_test;
  const server from;
  mds::runtime threads(2);
  asio::io_context mine;
  std::size_t read = 0;
  asio::co_spawn(mine, read_all(threads, from),
                 [&read](std::exception_ptr failure, std::size_t samples) {
                   CHECK(failure == nullptr);
                   read = samples;
                 });
  mine.run();
  CHECK(read == 4 + 100);

  const auto options = from.loader_options();
  auto by_future = mds::async_open<loader>(threads, options, asio::use_future).get();
  REQUIRE(by_future);
  CHECK(by_future->epoch_size() == 100);
  std::promise<std::uint64_t> size;
  const auto more = from.dataset_options();
  mds::async_open<dataset>(threads, more,
                           [&size](std::exception_ptr, std::optional<dataset> opened) {
                             size.set_value(opened ? opened->size() : 0);
                           });
  CHECK(size.get_future().get() == 100);
}

TEST_CASE("what opening throws comes as the exception") {
  using namespace async_test;
  const server from;
  mds::runtime threads(1);
  auto options = from.loader_options();
  options.batch_size = 0;
  auto opened = mds::async_open<loader>(threads, options, asio::use_future);
  CHECK_THROWS_AS(opened.get(), mds::error);
}

TEST_CASE("opening, samples and batches can be cancelled while the server says nothing") {
  using namespace async_test;
  server from;
  mds::runtime threads(1);

  from.fall_silent_about("index.json");
  outcome<std::optional<loader>> opening;
  const auto options = from.loader_options();
  mds::async_open<loader>(threads, options, opening.handler());
  from.wait_for_question("index.json");
  opening.cancel();
  CHECK(opening.code() == mds::errc::canceled);

  from.fall_silent_about("shard");
  const dataset data(from.dataset_options());
  outcome<std::optional<dataset::sample_type>> sample;
  data.async_get(3, sample.handler());
  from.wait_for_question("shard.00000");
  sample.cancel();
  CHECK(sample.code() == mds::errc::canceled);

  loader batches(from.loader_options(1));
  auto epoch = batches.epoch();
  for (int i = 0; i < 3; ++i) {
    outcome<batch_type> batch;
    epoch.async_next(batch.handler());
    if (i != 0) std::this_thread::yield();
    batch.cancel();
    CHECK(batch.code() == mds::errc::canceled);
  }
}

TEST_CASE("a cancelled call consumes nothing: the next one has its batch") {
  using namespace async_test;
  server from;
  loader whole(from.loader_options()), cancelled(from.loader_options());
  auto expected = whole.epoch(), epoch = cancelled.epoch();
  batch_type one, other;
  unsigned cancelled_calls = 0;
  for (unsigned i = 0; expected.next(one); ++i) {
    from.take_time(i == 0 ? 60s : 0s);  // the first call is cancelled while its shard is on its way
    outcome<batch_type> call;
    epoch.async_next(call.handler());
    if (i != 0) std::this_thread::sleep_for(std::chrono::microseconds(20 * i));
    call.cancel();
    const std::error_code code = call.code();
    from.take_time(0s);
    if (code) {
      CHECK(code == mds::errc::canceled);
      ++cancelled_calls;
      REQUIRE(epoch.next(other));
      CHECK(std::ranges::equal(other.ids(), one.ids()));
    }
    CHECK(mds::parse_state(cancelled.state()).at.sample_in_epoch ==
          mds::parse_state(whole.state()).at.sample_in_epoch);
  }
  CHECK(cancelled_calls > 0);
  CHECK_FALSE(epoch.next(other));
}

TEST_CASE("loaders and datasets end while their server says nothing") {
  using namespace async_test;
  server from;
  for (int read = 0; read < 4; ++read) {
    INFO("after " << read << " batches");
    from.fall_silent_about("");
    outcome<batch_type> waiting;
    {
      auto options = from.loader_options(1);
      options.shuffle = false;
      loader one(options);
      auto epoch = one.epoch();
      batch_type batch;
      for (int i = 0; i < read; ++i) REQUIRE(epoch.next(batch));
      from.fall_silent_about("shard");
      if (read % 2 == 0) epoch.async_next(waiting.handler());
    }
    if (read % 2 == 0) {
      const std::error_code code = waiting.code();
      CHECK((!code || code == mds::errc::canceled));
    }
  }
  from.fall_silent_about("");
  outcome<std::optional<dataset::sample_type>> sample;
  {
    mds::runtime threads(1);
    auto options = from.dataset_options();
    options.shared_runtime = &threads;
    const dataset data(options);
    from.fall_silent_about("shard");
    data.async_get(99, sample.handler());
    from.wait_for_question("shard.00009");
    sample.cancel();
    CHECK(sample.code() == mds::errc::canceled);
  }
}

TEST_CASE("an io thread leaves an epoch halfway while the server says nothing") {
  using namespace async_test;
  const bool ahead = GENERATE(false, true);  // batches are put together by the pool
  server from;
  mds::runtime threads(1);
  auto options = from.loader_options();
  options.shared_runtime = &threads;
  options.predownload = 80;
  if (ahead) options.prefetch_limit = mds::byte_size(1 << 20);
  options.shuffle = false;
  from.fall_silent_about("shard.00003");
  loader left(options);
  auto first = left.epoch(), second = left.epoch();
  batch_type batch;
  REQUIRE(first.next(batch));
  from.wait_for_question("shard.00003");
  from.fall_silent_about("");
  outcome<batch_type> call;
  asio::post(threads.get_executor(), [&] { second.async_next(call.handler()); });
  REQUIRE_FALSE(call.code());
  std::size_t rest = 0;
  while (second.next(batch)) rest += batch.size();
  CHECK(rest == 92);
}

TEST_CASE("an epoch that is left gives up its shards before the next one needs their room") {
  using namespace async_test;
  server from;
  auto options = from.loader_options();
  options.shuffle = false;
  options.cache_limit = from.room_for_shards(2);
  loader left(options);
  auto first = left.epoch(), second = left.epoch();
  batch_type batch;
  for (int i = 0; i < 3; ++i) REQUIRE(first.next(batch));
  from.take_time(50ms);
  outcome<batch_type> call;  // of the batch that needs the third shard and the fourth
  first.async_next(call.handler());
  call.cancel();
  const std::error_code code = call.code();
  CHECK((!code || code == mds::errc::canceled));
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (left.counters().shards_fetched < 4 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
  REQUIRE(left.counters().shards_fetched >= 4);  // the cache is full of the first epoch's shards
  from.take_time(0ms);
  std::size_t read = 0;
  while (second.next(batch)) read += batch.size();
  CHECK(read == 100);
}

TEST_CASE("epochs are left and begun at any moment, on any thread, by a slow and silent server") {
  using namespace async_test;
  const unsigned seed = support::test_seed();
  std::mt19937 random(seed);
  const auto below = [&random](unsigned n) { return static_cast<unsigned>(random() % n); };
  server from;
  unsigned canceled = 0, completed = 0;
  for (int round = 0; round < 40; ++round) {
    const bool silent = round == 0, waits = round == 1;  // so both ends of a call are sure to come
    INFO("seed " << seed << ", round " << round);
    mds::runtime threads(1 + below(2));
    auto options = from.loader_options();
    options.shared_runtime = &threads;
    options.predownload = 80;
    options.shuffle = below(2) == 0;
    if (below(2) == 0) options.prefetch_limit = mds::byte_size(1 << 10);
    if (!options.shuffle && below(2) == 0) options.cache_limit = from.room_for_shards(2);
    from.fall_silent_about("");
    from.take_time(std::chrono::milliseconds(below(3)));
    std::optional<loader> left(std::in_place, options);
    const auto ask = [&](loader::epoch_type& epoch, outcome<batch_type>& call) {
      mds::detail::one_time_event asked;
      auto start = [&, handler = call.handler()]() mutable {
        epoch.async_next(std::move(handler));
        asked.set();
      };
      if (const unsigned where = below(3); where == 0)
        std::move(start)();
      else if (where == 1)
        asio::post(threads.get_executor(), std::move(start));
      else
        threads.post(std::move(start));
      asked.wait();
    };
    outcome<batch_type> last;
    for (unsigned leaves = 1 + below(3); leaves != 0; --leaves) {
      if (silent)
        from.fall_silent_about("shard");
      else if (!waits && below(3) == 0)
        from.fall_silent_about("shard.0000" + std::to_string(below(10)));
      auto epoch = left->epoch();
      for (unsigned batches = below(4) + (silent || waits ? 1 : 0); batches != 0; --batches) {
        outcome<batch_type> call;
        ask(epoch, call);
        if (const unsigned k = below(4); k != 0)
          std::this_thread::sleep_for(std::chrono::microseconds(100 * k));
        if (!waits) call.cancel();
        const std::error_code code = call.code();
        CHECK((!code || code == mds::errc::canceled));
        ++(code ? canceled : completed);
      }
      from.fall_silent_about("");
    }
    auto epoch = left->epoch();
    if (below(2) == 0) {
      std::size_t read = 0;
      for (const batch_type& batch : epoch) read += batch.size();
      CHECK(read == 100);
    } else {
      ask(epoch, last);
      left.reset();
      const std::error_code code = last.code();
      CHECK((!code || code == mds::errc::canceled));
    }
  }
  CHECK(canceled > 0);
  CHECK(completed > 0);
}

TEST_CASE("an opening is cancelled at any moment, and the next one has all there is") {
  using namespace async_test;
  server from;
  mds::runtime threads(2);
  unsigned canceled = 0;
  for (unsigned i = 0; i < 40; ++i) {
    from.fall_silent_about(i == 0 ? "index.json" : "");
    outcome<std::optional<dataset>> opening;
    const auto options = from.dataset_options();
    mds::async_open<dataset>(threads, options, opening.handler());
    if (i != 0) std::this_thread::sleep_for(std::chrono::microseconds(i * i / 2));
    opening.cancel();
    const std::error_code code = opening.code();
    CHECK((!code || code == mds::errc::canceled));
    canceled += code ? 1U : 0U;
  }
  CHECK(canceled > 0);
  const auto options = from.dataset_options();
  CHECK(mds::async_open<dataset>(threads, options, asio::use_future).get()->size() == 100);
}

TEST_CASE("openings side by side end when they are cancelled while the server says nothing") {
  using namespace async_test;
  server from;
  from.fall_silent_about("index.json");
  mds::runtime threads(1);
  std::vector<outcome<std::optional<loader>>> openings(4);
  const auto options = from.loader_options();
  for (auto& each : openings) mds::async_open<loader>(threads, options, each.handler());
  from.wait_for_question("index.json");
  for (auto& each : openings) each.cancel();
  for (auto& each : openings) CHECK(each.code() == mds::errc::canceled);
}

namespace async_test {

/// Tells, by its token, when the cache that has it is gone.
struct marked_store : store_test::forwarding<mds::store::http> {
  marked_store(mds::store::http from, std::shared_ptr<int> mark)
      : forwarding{std::move(from)}, token(std::move(mark)) {}
  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    inner.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  static bool serves(std::string_view url) { return mds::store::http::serves(url); }
  static marked_store open(std::string_view url, mds::runtime& threads) {
    return {mds::store::http::open(url, threads), nullptr};
  }
  std::shared_ptr<int> token;
};
using marked = mds::policies<marked_store>;

/// Ends what a handler was called for, in that handler.
template <class Thing, class Start>
void drop_in_handler(std::shared_ptr<Thing> thing, bool on_pool, const Start& start) {
  std::promise<void> dropped;
  Thing& it = *thing;
  auto handler = [&dropped, thing = std::move(thing)](std::exception_ptr, auto&&...) mutable {
    thing.reset();
    dropped.set_value();
  };
  // Where the call completes is the pool.
  if (on_pool)
    start(it, asio::bind_executor(asio::system_executor(), std::move(handler)));
  else
    start(it, std::move(handler));
  REQUIRE(dropped.get_future().wait_for(30s) == std::future_status::ready);
}

}  // namespace async_test

TEST_CASE("a handler may drop the dataset or loader that it was called for") {
  using namespace async_test;
  const bool shared = GENERATE(false, true), on_pool = GENERATE(false, true);
  const bool abandons_fetches = GENERATE(false, true);
  server from;
  mds::runtime threads(1), stores(1);
  const auto mark = [&](auto options) {
    auto token = std::make_shared<int>(0);
    options.streams = {{.local = options.local,
                        .store = marked_store(mds::store::http(stores, options.remote), token)}};
    options.remote.clear();
    options.local.clear();
    options.threads = 1;
    if (shared) options.shared_runtime = &threads;
    return std::pair(options, std::weak_ptr<int>(token));
  };
  const auto wait_until_gone = [](const std::weak_ptr<int>& what) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!what.expired() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    CHECK(what.expired());
  };
  SECTION("a dataset") {
    auto [options, token] = mark(mds::dataset<marked>::options(
        {.remote = from.dataset_options().remote, .local = from.dataset_options().local}));
    auto data = std::make_shared<mds::dataset<marked>>(std::move(options));
    outcome<std::optional<mds::dataset<marked>::sample_type>> other;
    if (abandons_fetches) {
      from.fall_silent_about("shard.00009");
      data->async_get(99, other.handler());
      from.wait_for_question("shard.00009");
      other.cancel();
      CHECK(other.code() == mds::errc::canceled);  // the fetch itself ends later
    }
    drop_in_handler(std::move(data), on_pool,
                    [](auto& it, auto handler) { it.async_get(3, std::move(handler)); });
    wait_until_gone(token);
  }
  SECTION("a loader") {
    const auto plain = from.loader_options();
    auto [options, token] = mark(mds::loader<marked>::options({.remote = plain.remote,
                                                               .local = plain.local,
                                                               .batch_size = 8,
                                                               .shuffle = false,
                                                               .predownload = 80,
                                                               .world = mds::world{}}));
    if (abandons_fetches) from.fall_silent_about("shard.00003");
    auto batches = std::make_shared<mds::loader<marked>>(std::move(options));
    auto epoch = batches->epoch();
    drop_in_handler(std::move(batches), on_pool,
                    [&epoch](auto&, auto handler) { epoch.async_next(std::move(handler)); });
    wait_until_gone(token);
  }
}
