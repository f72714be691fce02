// What OCI's store has that others have not, under `tests/servers/with.sh oci`.

#include <mdstream/store/oci.hpp>

#include <unistd.h>
#include <cstdlib>
#include <string>
#include <vector>

#include "store/conformance.hpp"
#include "support/catch.hpp"

namespace clouds_oci_server_test {

namespace mds = mdstream;

TEST_CASE("an object of OCI is created once, whole or in parts", "[clouds][server]") {
  const char* const place = std::getenv("MDSTREAM_TEST_URL");
  if (place == nullptr || !std::string(place).starts_with("oci:")) return;
  mds::runtime threads(2);
  const mds::store::oci store(threads, std::string(place) + "/c" + std::to_string(::getpid()),
                              {{.part_bytes = mds::byte_size(100'000)}});
  const auto create = [&](const std::string& key, const std::vector<std::byte>& bytes) {
    return mds::detail::wait_for<bool>([&](mds::diagnostics& where, auto done) {
      store.async_create(key, bytes, {}, where, std::move(done));
    });
  };
  for (const std::size_t size : {std::size_t{10}, std::size_t{350'001}}) {
    const std::string key = "once " + std::to_string(size);
    const auto first = conformance::noise(size, 1), second = conformance::noise(size, 2);
    CHECK(create(key, first));
    CHECK_FALSE(create(key, second));
    CHECK(mds::read_all(store, key) == first);
    mds::store_remove(store, key);
    CHECK(create(key, second));
    CHECK(mds::read_all(store, key) == second);
  }
}

}  // namespace clouds_oci_server_test
