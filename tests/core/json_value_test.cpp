#include <mdstream/core/json/value.hpp>

#include <cstdint>
#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("typed access names the key and what is there instead", "[json]") {
  const auto tree = mdstream::json::parse(R"({"n": 300, "f": 1.5, "s": "x", "neg": -1})");
  CHECK(tree.get<std::uint64_t>("n") == 300);
  CHECK(tree.get<double>("n") == 300.0);
  CHECK(tree.get<double>("f") == 1.5);
  CHECK(tree.get<std::string>("s") == "x");
  CHECK(tree.get<int>("neg") == -1);
  CHECK(tree.find("absent") == nullptr);
  using mdstream::errc;
  support::expect_error([&] { (void)tree.get<std::uint8_t>("n"); }, errc::corrupt, {"\"n\""});
  support::expect_error([&] { (void)tree.get<unsigned>("neg"); }, errc::corrupt, {"\"neg\""});
  support::expect_error([&] { (void)tree.get<int>("f"); }, errc::corrupt, {"\"f\"", "integer"});
  support::expect_error([&] { (void)tree.get<bool>("s"); }, errc::corrupt, {"\"s\"", "a string"});
  support::expect_error([&] { (void)tree.at("absent"); }, errc::corrupt, {"\"absent\"", "missing"});
  support::expect_error([&] { (void)tree.at("n").at("m"); }, errc::corrupt, {"\"m\""});
}

TEST_CASE("integers of any size are kept, and given where they fit", "[json]") {
  const auto tree = mdstream::json::parse("[18446744073709551616, -9223372036854775808]");
  const auto& items = tree.as<mdstream::json::array>();
  CHECK(items[0].digits() == "18446744073709551616");
  CHECK(items[0].as<double>() == 18446744073709551616.0);
  support::expect_error([&] { (void)items[0].as<std::uint64_t>(); }, mdstream::errc::corrupt,
                        {"64 bits"});
  CHECK(items[1].as<std::int64_t>() == INT64_MIN);
}

TEST_CASE("of equal keys the last counts, in the place of the first", "[json]") {
  const auto tree = mdstream::json::parse(R"({"a":1,"b":2,"a":3,"c":4,"b":5})");
  CHECK(tree == mdstream::json::object{{"a", 3}, {"b", 5}, {"c", 4}});
}
