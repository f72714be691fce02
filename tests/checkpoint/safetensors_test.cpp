#include <mdstream/checkpoint/detail/safetensors.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace {

namespace mds = mdstream;
using mds::tensor_type;
using mds::detail::safetensors_entry;
using mds::detail::safetensors_head;

std::string file_of(const std::string& text, const std::string& data = {}) {
  std::string out(8, '\0');
  mds::store_to(reinterpret_cast<std::byte*>(out.data()), std::uint64_t{text.size()});
  return out + text + data;
}

safetensors_head read_head(const std::string& file) {
  const auto bytes = mds::as_bytes(file);
  const auto head = mds::detail::safetensors_head_bytes(bytes, file.size());
  return mds::detail::read_safetensors(bytes.first(static_cast<std::size_t>(head)), file.size());
}

std::string tensor(const std::string& name, const std::string& type, const std::string& shape,
                   const std::string& offsets) {
  return '"' + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + '}';
}

void refused_head(const std::string& file, std::initializer_list<std::string_view> pieces) {
  support::expect_error([&] { (void)read_head(file); }, mds::errc::corrupt, pieces);
}

}  // namespace

TEST_CASE("a head that is written is read as the same", "[checkpoint]") {
  std::vector<safetensors_entry> tensors{{"b", tensor_type::u8, {3}},
                                         {"a", tensor_type::u8, {}},
                                         {"wide", tensor_type::f64, {2, 2}},
                                         {"none", tensor_type::bf16, {0, 7}},
                                         {"small", tensor_type::f4, {2}}};
  const std::vector<std::pair<std::string, std::string>> metadata{{"format", "pt"}, {"x", "\n\""}};
  const std::string head = mds::detail::write_safetensors(tensors, metadata);
  CHECK(head.size() % 8 == 0);
  const safetensors_head got = read_head(head + std::string(32 + 0 + 4 + 1, '\0'));
  CHECK(got.metadata == metadata);
  CHECK(got.tensors == tensors);
  CHECK(got.tensors.front().name == "wide");
  CHECK(got.tensors.back().name == "small");
  CHECK(got.data_at == head.size());
  CHECK(got.data_bytes == 37);
}

TEST_CASE("a tensor of more than 2^32 elements has 64-bit offsets", "[checkpoint]") {
  std::vector<safetensors_entry> tensors{{"huge", tensor_type::bf16, {70'000, 70'000}}};
  const std::string head = mds::detail::write_safetensors(tensors, {});
  CHECK(tensors[0].end == 9'800'000'000);
  const auto got = mds::detail::read_safetensors(mds::as_bytes(head), head.size() + tensors[0].end);
  CHECK(got.tensors == tensors);
}

TEST_CASE("heads that can not be right are refused, naming the tensor", "[checkpoint]") {
  refused_head("1234567", {"shorter than 8 bytes"});
  refused_head(std::string(7, '\0') + "\x01", {"more than 100,000,000"});
  refused_head(file_of("{}").substr(0, 9), {"header would have 2 bytes", "9"});
  refused_head(file_of(""), {"an object is expected"});
  refused_head(file_of("{} x"), {"text follows"});
  refused_head(file_of("{\"\xff\":1}"), {"not UTF-8", "byte 10"});
  refused_head(file_of("{}", "1"), {"0 bytes", "are 1"});
  refused_head(file_of('{' + tensor("a", "F32", "[1]", "[0,4]") + '}', "123"),
               {"have 4 bytes", "are 3"});
  refused_head(file_of('{' + tensor("a", "F32", "[1]", "[4,8]") + '}', "12345678"),
               {"\"a\"", "4 to 8"});
  refused_head(file_of('{' + tensor("a", "F32", "[1]", "[4,0]") + '}', ""), {"\"a\""});
  refused_head(file_of('{' + tensor("a", "F32", "[2]", "[0,4]") + '}', "1234"), {"[2]", "4 bytes"});
  refused_head(file_of('{' + tensor("a", "F4", "[1]", "[0,1]") + '}', "1"), {"\"a\""});
  refused_head(file_of('{' + tensor("a", "U8", "[9223372036854775808,4,0]", "[0,0]") + '}'),
               {"\"a\""});
  refused_head(file_of('{' + tensor("a", "F99", "[]", "[0,4]") + '}', "1234"), {"\"F99\""});
  refused_head(file_of('{' + tensor("a", "U8", "[1]", "[0,1,2]") + '}', "1"), {"not two"});
  refused_head(file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", "1"), {"missing"});
  refused_head(file_of('{' + tensor("a", "U8", "[1]", "[0,1]") + ',' +
                           tensor("a", "U8", "[1]", "[1,2]") + '}',
                       "12"),
               {"two tensors are named \"a\""});
  refused_head(file_of("{\"__metadata__\":{\"a\":1}}"), {"string"});
  refused_head(file_of("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}"), {"twice"});
  refused_head(file_of("{\"__metadata__\":{\"\\ud800\":\"1\"}}"), {"not Unicode"});
}

TEST_CASE("heads of other writers are read: any order, null metadata, spaces", "[checkpoint]") {
  const safetensors_head got = read_head(
      file_of("\n {" + tensor("late", "U8", "[2]", "[1,3]") + ", \"__metadata__\": null, " +
                  tensor("empty", "F32", "[0,9223372036854775808]", "[1,1]") + ',' +
                  tensor("first", "I8", "[]", "[0,1]") + "} \n",
              "123"));
  REQUIRE(got.tensors.size() == 3);
  CHECK(got.tensors[0].name == "first");
  CHECK(got.tensors[1].name == "empty");
  CHECK(got.tensors[2].name == "late");
}

TEST_CASE("every type of the format has its name and width", "[checkpoint]") {
  for (unsigned i = 0; i < 22; ++i) {
    const auto type = static_cast<tensor_type>(i);
    CHECK(mds::find_tensor_type(to_string(type)) == type);
    if (i > 0)
      CHECK((mds::bits_of(type) >= mds::bits_of(static_cast<tensor_type>(i - 1)) || i < 3));
  }
  CHECK(!mds::find_tensor_type("f32"));
}
