#include <mdstream/store/any_store.hpp>

#include <mdstream/async/detail/event.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "store/archetypes.hpp"
#include "store/conformance.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace any_store_test {

namespace mds = mdstream;
using mds::errc;
using scratch_directory::scratch;
using support::expect_error;

/// An asynchronous store that a URL opens, on the io thread it is given.
struct remote_archetype : archetypes::async_only {
  using async_only::async_only;
  /// Of this store's runtimes, those that live.
  inline static std::atomic<int> runtimes = 0;
  struct counted {
    explicit counted(asio::io_context&) { ++runtimes; }
    ~counted() { --runtimes; }
  };
  static constexpr std::string_view schemes = "toy";
  static bool serves(std::string_view url) { return mds::url_scheme(url) == "toy"; }
  static remote_archetype open(std::string_view, mds::runtime& threads) {
    (void)threads.service<counted>();
    return remote_archetype(threads);
  }
};

using both = mds::any_store<mds::store::local, remote_archetype>;
static_assert(mds::openable_store<both> && mds::blocking_store<both>);
static_assert(std::same_as<mds::async_store_t<both>, mds::any_async_store>);

TEST_CASE("any store conforms, whatever is in it and however it is called", "[store]") {
  const scratch root;
  mds::runtime threads(2);
  conformance::check_store(both(mds::store::memory()));
  conformance::check_store(both(archetypes::blocking_only(0)));
  conformance::check_store(both(archetypes::async_only(threads)));
  conformance::check_store(both::open(root / "a"));
  conformance::check_store(both::open("toy://x", threads));
  conformance::check_store(both::open("toy://x"));
  conformance::check_store(both::open(root / "b", threads).on(threads));
  conformance::check_store(both::open("toy://x").on(threads));
}

TEST_CASE("an opened store stands for any store, and keeps the runtime that one has of its own",
          "[store]") {
  const mds::store::memory memory;
  const mds::opened_store plain = memory;
  conformance::check_store(plain);
  memory.write("x", mds::as_bytes("1"));
  const both listed = plain;
  const mds::opened_store again = listed;
  CHECK(again.size("x") == 1);
  CHECK(remote_archetype::runtimes == 0);
  std::optional<mds::opened_store> kept = both::open("toy://x");
  CHECK(remote_archetype::runtimes == 1);
  const mds::opened_store copy = *kept;
  kept.reset();
  CHECK(remote_archetype::runtimes == 1);
  conformance::check_store(copy);
}

TEST_CASE("a store is opened by URL without a runtime where it can", "[store]") {
  const scratch root;
  CHECK(mds::detail::opener_of<mds::store::local>()(root.path()).url("") == root.path());
  CHECK(mds::detail::opener_of<both>()("toy://x").list("").empty());
  CHECK(mds::detail::opener_of<mds::store::memory>() == nullptr);
  CHECK(mds::detail::opener_of<remote_archetype>() == nullptr);
}

TEST_CASE("the asynchronous face keeps the runtime that a store has of its own", "[store]") {
  mds::runtime threads(1);
  const mds::any_async_store face = both::open("toy://x").on(threads);
  CHECK(remote_archetype::runtimes == 1);
  conformance::check_store(face);
}

TEST_CASE("the last owner of a store with a runtime of its own may go in a completion", "[store]") {
  mds::runtime threads(1);
  auto face = std::make_shared<mds::any_async_store>(both::open("toy://x").on(threads));
  mds::diagnostics where;
  mds::detail::one_time_event dropped;
  std::atomic<long> owners{0};
  face->async_size("x", {}, where, [&, face](std::error_code, std::uint64_t) mutable {
    dropped.wait();
    owners = face.use_count();
    face.reset();
  });
  face.reset();
  dropped.set();
  while (remote_archetype::runtimes != 0) std::this_thread::yield();
  CHECK(owners == 1);
}

TEST_CASE("a URL that no store of the list serves names what is served and what to do", "[store]") {
  mds::runtime threads(1);
  expect_error([] { (void)both::open("s3://bucket/x"); }, errc::unsupported,
               {"\"s3\"", "local paths, toy", "include", "link"});
  expect_error([&] { (void)both::open("S3://bucket/x", threads); }, errc::unsupported, {"\"S3\""});
  expect_error([] { (void)both::open("file:///data"); }, errc::unsupported, {"local path"});
  expect_error([] { (void)both::open(""); }, errc::invalid_argument);
  CHECK(both::serves("toy://x"));
  CHECK_FALSE(both::serves("s3://x"));
}

TEST_CASE("open_store opens stores of either kind", "[store]") {
  const scratch root;
  mds::runtime threads(1);
  CHECK(mds::open_store<mds::store::local>(root.path(), threads).url("") == root.path());
  conformance::check_store(mds::open_store<remote_archetype>("toy://x", threads));
  conformance::check_store(mds::open_store<both>("toy://x", threads));
}

TEST_CASE("any store publishes as the store in it does", "[store]") {
  const scratch root;
  const both store = both::open(root.path());
  store.write("x", mds::as_bytes("1"));
  mds::publish(store, "y", mds::as_bytes("22"));
  CHECK(store.size("y") == 2);
}

}  // namespace any_store_test
