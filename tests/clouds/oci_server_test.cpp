// What OCI's store has that others have not, under `tests/servers/with.sh oci`.

#include <mdstream/store/oci.hpp>

#include <mdstream/store/full.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <string>
#include <vector>

#include "store/conformance.hpp"
#include "support/catch.hpp"

namespace clouds_oci_server_test {

namespace mds = mdstream;

TEST_CASE("an object of OCI is created once, whole or in parts", "[clouds][server]") {
  const char* const url = std::getenv("MDSTREAM_TEST_URL");
  if (url == nullptr || !std::string(url).starts_with("oci:")) {
    SUCCEED("of OCI alone");
    return;
  }
  mds::runtime threads(2);
  const mds::store::oci store(threads, std::string(url) + "/c" + std::to_string(::getpid()),
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

/// Whether a store that a URL opens is told whom to warn.
template <class S>
constexpr bool warns = requires(mds::runtime& threads, mds::warning_function warn) {
  S::open("", threads, warn);
} || requires(mds::warning_function warn) { S::open("", warn); };
static_assert(warns<mds::store::s3> && warns<mds::store::azure> && warns<mds::store::gs> &&
              warns<mds::store::oci> && warns<mds::store::dbfs> && warns<mds::store::hf> &&
              warns<mds::store::sftp> && warns<mds::full_store>);

TEST_CASE("who is warned may be named where a URL opens a store", "[clouds][server]") {
  const char* const url = std::getenv("MDSTREAM_TEST_URL");
  if (url == nullptr || !std::string(url).starts_with("oci:")) {
    SUCCEED("of OCI alone");
    return;
  }
  const std::string config = std::getenv("OCI_CLI_CONFIG_FILE");
  REQUIRE(::chmod(config.c_str(), 0644) == 0);
  mds::runtime threads(2);
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  const mds::full_store store = mds::full_store::open(url, threads, warn);
  REQUIRE(::chmod(config.c_str(), 0600) == 0);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find(config) != std::string::npos);
}

}  // namespace clouds_oci_server_test
