#include <mdstream/store/blocking.hpp>

#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/archetypes.hpp"
#include "store/conformance.hpp"
#include "store/forwarding.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"

namespace blocking_test {

namespace mds = mdstream;
using mds::errc;

struct outcome {
  std::error_code code;
  std::size_t got = 0;
  mds::diagnostics where;
};

template <class S>
outcome read_through(const mds::blocking<S>& store, const std::string& key, mds::mutable_bytes into,
                     std::stop_token stop = {}) {
  outcome result;
  std::promise<void> finished;
  store.async_read(key, 0, into, stop, result.where, [&](std::error_code code, std::size_t got) {
    result.code = code;
    result.got = got;
    finished.set_value();
  });
  finished.get_future().wait();
  return result;
}

TEST_CASE("a blocking store behind the pool conforms", "[store]") {
  mds::runtime threads(2);
  conformance::check_store(mds::blocking(threads, mds::store::memory()));
  conformance::check_store(mds::make_async(threads, archetypes::blocking_only(0)));
}

/// A store of a user, which throws what it likes.
struct rude : mds::store::memory {
  std::size_t read(std::string_view key, std::uint64_t, mds::mutable_bytes) const {
    if (key == "standard") throw std::runtime_error("the tape is stuck");
    throw 42;
  }
};

/// A store of the user's own: what every store has to have, by a directory that knows versions.
struct six_functions {
  mds::store::local inner;

  [[nodiscard]] std::uint64_t size(std::string_view key) const { return inner.size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return inner.read(key, offset, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const { inner.write(key, bytes); }
  [[nodiscard]] std::vector<mds::object_info> list(std::string_view prefix) const {
    return inner.list(prefix);
  }
  void remove(std::string_view key) const { inner.remove(key); }
  [[nodiscard]] std::string url(std::string_view key) const { return inner.url(key); }
};

TEST_CASE("tags that no read can hold do not come through", "[store]") {
  const scratch_directory::scratch dir;
  mds::runtime threads(2);
  const six_functions own{mds::store::local(dir / "own")};
  conformance::check_store(mds::blocking(threads, own));
  own.write("x", mds::as_bytes("content"));
  REQUIRE_FALSE(own.list("x").front().tag.empty());
  CHECK(mds::store_list(mds::blocking(threads, own), "x").front().tag.empty());

  using local_on_pool = mds::blocking<mds::store::local>;
  struct reading : store_test::forwarding<local_on_pool> {
    void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                    std::stop_token stop, mds::diagnostics& where,
                    mds::store_handler<std::size_t> done) const {
      inner.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
    }
  };
  const reading async{{local_on_pool(threads, own.inner)}};
  REQUIRE_FALSE(mds::store_list(async, "x").front().tag.empty());
  const mds::any_async_store erased(async);
  CHECK(mds::store_list(erased, "x").front().tag.empty());
}

TEST_CASE("whatever a store throws becomes an error that names the object", "[store]") {
  mds::runtime threads(1);
  const mds::blocking<rude> store(threads, rude());
  std::vector<std::byte> into(1);
  const outcome known = read_through(store, "standard", into);
  CHECK(known.code == errc::io_error);
  CHECK(known.where.cause == "the tape is stuck");
  CHECK(known.where.url == "(memory)/standard");
  const outcome unknown = read_through(store, "odd", into);
  CHECK(unknown.code == errc::io_error);
  CHECK(unknown.where.url == "(memory)/odd");
}

/// Requests a stop while it is read for the second time.
struct stopping : mds::store::memory {
  std::stop_source* source = nullptr;
  std::atomic<int>* reads = nullptr;
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    if (++*reads == 2) source->request_stop();
    return memory::read(key, offset, into);
  }
};

TEST_CASE("a stop is seen before a call and between the parts of a read", "[store]") {
  mds::runtime threads(1);
  std::stop_source source;
  std::atomic<int> reads{0};
  stopping inner;
  inner.source = &source;
  inner.reads = &reads;
  inner.write("large", std::vector<std::byte>(std::size_t{40} << 20));
  const mds::blocking<stopping> store(threads, inner);
  std::vector<std::byte> into(std::size_t{40} << 20);
  const outcome cut = read_through(store, "large", into, source.get_token());
  CHECK(cut.code == errc::canceled);
  CHECK(reads == 2);
  CHECK(read_through(store, "large", into, source.get_token()).code == errc::canceled);
  CHECK(reads == 2);
}

}  // namespace blocking_test
