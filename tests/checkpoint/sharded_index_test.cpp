#include <mdstream/checkpoint/detail/sharded_index.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace {

namespace mds = mdstream;
using mds::detail::read_sharded_index;

void refused_index(const std::string& text, std::initializer_list<std::string_view> pieces) {
  support::expect_error([&] { (void)read_sharded_index(text, {.url = "hf://org/model"}); },
                        mds::errc::corrupt, pieces);
}

}  // namespace

TEST_CASE("an index that is written is read as the same", "[checkpoint]") {
  const mds::detail::sharded_index index{.total_size = 9'800'000'000,
                                         .files = {{"a", mds::detail::sharded_file_name(0, 2)},
                                                   {"b\n", mds::detail::sharded_file_name(1, 2)},
                                                   {"c", mds::detail::sharded_file_name(0, 2)}}};
  CHECK(read_sharded_index(mds::detail::write_sharded_index(index)) == index);
  CHECK(index.file_names() == std::vector<std::string>{"model-00001-of-00002.safetensors",
                                                       "model-00002-of-00002.safetensors"});
  CHECK(mds::detail::sharded_file_name(0, 1) == "model.safetensors");
}

TEST_CASE("indexes as others write them are read", "[checkpoint]") {
  CHECK(
      read_sharded_index(R"({"metadata":{"total_size":12.0},"weight_map":{"a":"x"}})").total_size ==
      12);
  CHECK(read_sharded_index(R"({"weight_map":{}})").files.empty());
}

TEST_CASE("an index that can not be right is refused", "[checkpoint]") {
  refused_index("", {"hf://org/model"});
  refused_index("[]", {"weight_map"});
  refused_index("{}", {"\"weight_map\" is missing", "hf://org/model"});
  refused_index(R"({"weight_map":{"a":1}})", {"\"a\"", "hf://org/model"});
  refused_index(R"({"weight_map":{"a":"../etc/passwd"}})", {"\"a\"", "../etc/passwd"});
  refused_index(R"({"weight_map":{"a":"/etc/passwd"}})", {"not a file's name"});
  refused_index(R"({"weight_map":{"a":"x/y"}})", {"not a file's name"});
  refused_index(R"({"weight_map":{"a":""}})", {"not a file's name"});
  refused_index(R"({"metadata":{"total_size":-1},"weight_map":{}})", {"total_size"});
  refused_index(R"({"metadata":{"total_size":1e300},"weight_map":{}})", {"total_size"});
  refused_index(R"({"metadata":{"total_size":NaN},"weight_map":{}})", {"total_size"});
}
