#include <mdstream/format/detail/row_shard.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace row_shard_test {

struct files {
  std::string data;
  std::string meta;
};

files shard_of(const std::vector<std::string>& rows, const std::string& head = "") {
  mdstream::detail::row_shard_builder builder(head, "{}");
  for (const std::string& row : rows) builder.add(row);
  builder.finish();
  return {std::string(mdstream::as_text(builder.data())),
          std::string(mdstream::as_text(builder.meta()))};
}

mdstream::detail::row_shard_view view_of(const files& f, std::uint64_t samples) {
  return {mdstream::as_bytes(f.data), mdstream::as_bytes(f.meta), samples};
}

void set_u32(std::string& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, 4);
}

}  // namespace row_shard_test

TEST_CASE("rows are views of the data", "[row_shard]") {
  using namespace row_shard_test;
  const files f = shard_of({"1,a\n", "22,bb\n"}, "x,y\n");
  const auto shard = view_of(f, 2);
  CHECK(f.data == "x,y\n1,a\n22,bb\n");
  CHECK(f.meta.substr(16) == "{}");
  CHECK(mdstream::as_text(shard[0]) == "1,a\n");
  CHECK(mdstream::as_text(shard[1]) == "22,bb\n");
  CHECK(view_of(shard_of({}), 0).empty());
}

TEST_CASE("shards of rows that contradict themselves are refused at row and byte", "[row_shard]") {
  using namespace row_shard_test;
  using mdstream::errc;
  const files good = shard_of({"one\n", "two\n"});
  support::expect_error([&] { (void)view_of(good, 1); }, errc::corrupt, {"2 rows", "says 1"});
  support::expect_error([&] { (void)view_of(good, 5); }, errc::corrupt, {"too few"});
  support::expect_error([&] { (void)view_of(good, 0xFFFFFFFFFFFFFFFF); }, errc::corrupt);
  support::expect_error([&] { (void)view_of(good, 2)[2]; }, errc::out_of_range, {"sample 2"});
  for (std::size_t size = 0; size < 16; ++size) {
    const files cut{good.data, good.meta.substr(0, size)};
    support::expect_error([&] { (void)view_of(cut, 2); }, errc::corrupt,
                          {"byte " + std::to_string(size)});
  }
  files bad = good;
  set_u32(bad.meta, 8, 0);
  support::expect_error([&] { (void)view_of(bad, 2)[0]; }, errc::corrupt,
                        {"forwards", "sample 0", "byte 4"});
  set_u32(bad.meta, 8, 9);
  support::expect_error([&] { (void)view_of(bad, 2)[0]; }, errc::corrupt, {"beyond", "sample 0"});
  support::expect_error([&] { (void)view_of(bad, 2)[1]; }, errc::corrupt, {"sample 1", "byte 8"});
}

TEST_CASE("rows that can not be stored are refused", "[row_shard]") {
  mdstream::detail::row_shard_builder builder("", "{}");
  support::expect_error([&] { builder.add(""); }, mdstream::errc::invalid_argument);
  CHECK(builder.samples() == 0);
  builder.add("x");
  CHECK(builder.row_bytes() == 1);
  builder.clear();
  CHECK(builder.samples() == 0);
  CHECK(builder.row_bytes() == 0);
}
