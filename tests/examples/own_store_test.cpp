#include "../../examples/own_store/tape.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "store/conformance.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"

namespace own_store_test {

namespace mds = mdstream;
using own_store::tape;
using scratch_directory::scratch;

TEST_CASE("the example's own store conforms", "[examples]") {
  const scratch root;
  conformance::check_store(tape(root / "a"));
}

TEST_CASE("it finds again what was written, but nothing of a torn record", "[examples]") {
  const scratch root;
  const std::string path = root / "b";
  {
    const tape first(path);
    first.write("kept", mds::as_bytes("old"));
    first.write("gone", mds::as_bytes("x"));
    first.write("kept", mds::as_bytes("whole"));
    first.remove("gone");
    first.write("torn", std::vector<std::byte>(100));  // which look like records, too
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  const tape second = tape::open("tape://" + path);
  CHECK(conformance::keys_of(second, "") == std::vector<std::string>{"kept"});
  CHECK(mds::as_text(mds::read_all(second, "kept")) == "whole");
  second.write("torn", mds::as_bytes("again"));
  const tape third(path);
  CHECK(mds::as_text(mds::read_all(third, "torn")) == "again");
  CHECK(conformance::keys_of(third, "") == std::vector<std::string>{"kept", "torn"});
}

TEST_CASE("a read that fails leaves the others", "[examples]") {
  const scratch root;
  const std::string path = root / "c";
  const tape store(path);
  store.write("a", mds::as_bytes("first"));
  const auto whole = std::filesystem::file_size(path);
  store.write("b", std::vector<std::byte>(1 << 20));
  std::filesystem::resize_file(path, whole);
  CHECK_THROWS_WITH(mds::read_all(store, "b"), "cannot read " + path);
  CHECK(mds::as_text(mds::read_all(store, "a")) == "first");
}

}  // namespace own_store_test
