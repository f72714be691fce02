#include <mdstream/store/detail/dbfs/read.hpp>

#include <mdstream/store/dbfs.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/operations.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/scripted_server.hpp"

namespace clouds_dbfs_read_test {

namespace mds = mdstream;
using mds::errc;

/// Reads three bytes of the version `held`, where the file is of "2".
std::size_t read(const std::string& held, const char* bytes, mds::diagnostics& failure) {
  support::scripted_server workspace([&](auto& to, const auto& request) {
    const bool asks = request.target.find("get-status") != std::string::npos;
    to.answer("200 OK", asks ? R"({"is_dir":false,"file_size":3,"modification_time":2})" : bytes);
  });
  mds::runtime threads(1);
  mds::store::dbfs_options options;
  options.endpoint = workspace.url();
  options.credentials = mds::net::anonymous_access();
  options.variables = [](const std::string&) { return std::nullopt; };
  const mds::store::dbfs store(threads, "dbfs:/c4", options);
  std::vector<std::byte> into(3);
  try {
    return mds::detail::wait_for<std::size_t>([&](mds::diagnostics& where, auto done) {
      store.async_read_version("x", {.bytes = 3, .tag = held}, 0, into, {}, where, std::move(done));
    });
  } catch (const mds::error& e) {
    CHECK(e.code() == errc::corrupt);
    failure = e.where();
    return 0;
  }
}

mds::diagnostics failure_of_read(const std::string& held, const char* bytes) {
  mds::diagnostics failure;
  CHECK(read(held, bytes, failure) == 0);
  return failure;
}

TEST_CASE("a version of a file of Databricks that has no tag is any of its size", "[clouds]") {
  mds::diagnostics none;
  CHECK(read("", R"({"bytes_read":3,"data":"YWJj"})", none) == 3);
  CHECK(failure_of_read("", R"({"bytes_read":2,"data":"YWI="})").what ==
        "the file changed while it was read");
}

TEST_CASE("a file of Databricks that is another than it was is not asked for again", "[clouds]") {
  const mds::diagnostics other = failure_of_read("1", R"({"bytes_read":3,"data":"YWJj"})");
  CHECK(other.what == "the object changed while it was read");
  CHECK(other.url == "dbfs:/c4/x");
  CHECK(other.is_final);
  // What came short of a file that is the same may come whole.
  CHECK_FALSE(failure_of_read("2", R"({"bytes_read":2,"data":"YWI="})").is_final);
}

}  // namespace clouds_dbfs_read_test
