#include <mdstream/store/operations.hpp>

#include <mdstream/store/memory.hpp>

#include <stdexcept>
#include <string>

#include "store/archetypes.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace operations_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;

/// Says that it has more bytes than it gives.
struct shrinking : mds::store::memory {
  [[nodiscard]] std::uint64_t size(std::string_view key) const { return memory::size(key) + 1; }
};

/// Fails in a way that has nothing to do with absence.
struct failing : mds::store::memory {
  [[nodiscard]] std::uint64_t size(std::string_view) const {
    throw mds::error(errc::permission_denied, "no");
  }
};

struct publishing : mds::store::memory {
  void publish(std::string_view key, mds::bytes_view) const { write(key, mds::as_bytes("p")); }
};

TEST_CASE("an object that shrinks while it is read is an error", "[store]") {
  const shrinking store;
  store.write(
      "x", mds::as_bytes(std::string(std::size_t{256} << 10, 'a')));  // less is read by one request
  expect_error([&] { (void)mds::read_all(store, "x"); }, errc::corrupt, {"shorter", "x"});
}

TEST_CASE("only absence is absence", "[store]") {
  expect_error([] { (void)mds::exists(failing(), "x"); }, errc::permission_denied);
}

TEST_CASE("publish uses what the store has for it", "[store]") {
  const publishing special;
  mds::publish(special, "x", mds::as_bytes("abc"));
  CHECK(special.size("x") == 1);
  const mds::store::memory plain;
  mds::publish(plain, "x", mds::as_bytes("abc"));
  CHECK(plain.size("x") == 3);
}

TEST_CASE("the waiting form of an asynchronous store throws what it reported", "[store]") {
  mds::runtime threads(1);
  const archetypes::async_only store(threads);
  expect_error([&] { (void)mds::store_size(store, "absent"); }, errc::not_found, {"absent"});
}

}  // namespace operations_test
