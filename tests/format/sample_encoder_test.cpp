#include <mdstream/format/detail/sample_encoder.hpp>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "format/golden.hpp"
#include "format/typed_values.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace sample_encoder_test {

std::string bytes_of(const mdstream::detail::encoded_value& part) {
  return std::visit(
      [](const auto& p) {
        std::string out(p.size(), '\0');
        if (!out.empty()) p.copy_to(reinterpret_cast<std::byte*>(out.data()));
        return out;
      },
      part);
}

/// What the reference stores although it is not the value that was given: refused here.
bool damages(const format_golden::ordered_json& each) {
  const auto encoding = mdstream::parse_encoding(each.at("encoding").get<std::string>());
  const auto& value = each.at("value");
  const auto t = value.at("t").get<std::string>();
  if (encoding.kind == mdstream::encoding_kind::str_int && t == "bool") return true;
  const auto size = mdstream::fixed_size(encoding);
  if (t == "bytes" && size)
    return *size != format_golden::from_base64(value.at("b64").get<std::string>()).size();
  const auto type = mdstream::scalar_dtype(encoding.kind);
  if (type == mdstream::dtype::none || mdstream::is_floating(type)) return false;
  if (t == "float" || t == "float32") {
    const double number = typed_values::number_of(value);
    return mdstream::visit_dtype(type, [&]<class T>(T) {
      return !(std::trunc(number) >= static_cast<double>(std::numeric_limits<T>::min()) &&
               std::trunc(number) <= static_cast<double>(std::numeric_limits<T>::max()));
    });
  }
  if (t != "int") return false;
  const mdstream::json::big_integer whole{value.at("v").get<std::string>()};
  return mdstream::visit_dtype(type, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      return !whole.as<T>();
    else
      return false;
  });
}

TEST_CASE("a sample is made of values in any order; others are left out", "[sample_encoder]") {
  const std::vector<mdstream::column_spec> specs{
      {"text", "str"}, {"id", "uint16"}, {"more", "bytes"}};
  const auto layout = mdstream::sample_layout::mds(specs);
  mdstream::detail::sample_encoder encoder(layout);
  const mdstream::named_value values[] = {{"text", std::string_view("early")},
                                          {"more", mdstream::as_bytes("xyz")},
                                          {"other", std::uint64_t{1}},
                                          {"text", std::string_view("t")},  // the last one counts
                                          {"id", std::uint64_t{0x0102}}};
  encoder.encode(values, std::size(values));
  std::string made(static_cast<std::size_t>(encoder.size()), '\0');
  encoder.copy_to(reinterpret_cast<std::byte*>(made.data()));
  // In the order of names: id, more, text; first the sizes of those that have none of their own.
  CHECK(made == std::string("\3\0\0\0\1\0\0\0\2\1xyzt", 14));

  const auto refused = [&](const mdstream::named_value& value, const char* column) {
    support::expect_error([&] { mdstream::detail::sample_encoder(layout).encode(&value, 1); },
                          mdstream::errc::invalid_argument, {column});
  };
  refused({"text", std::string_view("t")}, "id");
  refused({"id", std::uint64_t{70'000}}, "id");
}

}  // namespace sample_encoder_test

TEST_CASE("values are encoded as the reference encodes them", "[sample_encoder]") {
  using sample_encoder_test::bytes_of;
  const auto golden = format_golden::read_json(format_golden::root() + "encodings.json");
  int same = 0;
  int refused = 0;
  for (const auto& each : golden.at("encode")) {
    INFO(each.dump().substr(0, 300));
    typed_values::arena keep;
    const auto text = each.at("encoding").get<std::string>();
    const auto type = mdstream::parse_encoding(text);
    const auto value = typed_values::value_of(each.at("value"), keep);
    if (!value) {
      REQUIRE(each.contains("error"));
      continue;
    }
    if (each.at("value").at("t") == "ndarray" && type.kind == mdstream::encoding_kind::json)
      continue;  // nested lists of an array: C++ has none to give
    if (each.contains("error") || sample_encoder_test::damages(each)) {
      // NumPy's scalars are no types of their own in C++
      const auto t = each.at("value").at("t").get<std::string>();
      if (t == "int64" || t == "float32") continue;
      support::expect_error([&] { (void)mdstream::detail::encode_value(type, *value); },
                            mdstream::errc::invalid_argument);
      ++refused;
    } else {
      const bool is_json_number =
          type.kind == mdstream::encoding_kind::json && each.at("value").at("t") == "float";
      const mdstream::json::value tree =
          is_json_number ? typed_values::number_of(each.at("value")) : 0.0;
      const auto part = mdstream::detail::encode_value(
          type, is_json_number ? mdstream::column_value(&tree) : *value);
      const std::string expected = format_golden::from_hex(each.at("hex").get<std::string>());
      if (each.at("value").value("repr", "") == "nan" &&
          type.kind == mdstream::encoding_kind::float16)
        CHECK(bytes_of(part).size() == 2);
      else
        CHECK(bytes_of(part) == expected);
      ++same;
    }
  }
  CHECK(same > 300);
  CHECK(refused > 40);
}

TEST_CASE("of a number with a fraction the whole part goes into a column of integers, if it fits",
          "[sample_encoder]") {
  using sample_encoder_test::bytes_of;
  struct bounds {
    const char* encoding;
    double below, first, last, beyond;  // what just fits lies between
  };
  for (const auto& each :
       {bounds{"int8", -129.0, -128.5, 127.5, 128.0}, bounds{"uint8", -1.0, -0.5, 255.5, 256.0},
        bounds{"int32", -2147483649.0, -2147483648.5, 2147483647.5, 2147483648.0},
        bounds{"int64", -0x1.0000000000001p63, -0x1p63, 0x1.fffffffffffffp62, 0x1p63},
        bounds{"uint64", -1.0, -0.5, 0x1.fffffffffffffp63, 0x1p64}}) {
    INFO(each.encoding);
    const auto type = mdstream::parse_encoding(each.encoding);
    const auto encode = [&](double value) {
      return bytes_of(mdstream::detail::encode_value(type, mdstream::column_value(value)));
    };
    CHECK(encode(each.first) == encode(std::trunc(each.first)));
    CHECK(encode(each.last) == encode(std::trunc(each.last)));
    CHECK(encode(each.first) != encode(each.last));
    for (const double wrong : {each.below, each.beyond})
      support::expect_error([&] { (void)encode(wrong); }, mdstream::errc::invalid_argument,
                            {"does not fit into", each.encoding});
  }
}

TEST_CASE("images and lists of them are encoded and read back", "[sample_encoder]") {
  using mdstream::decode_value;
  using mdstream::parse_encoding;
  using mdstream::detail::encode_value;
  using sample_encoder_test::bytes_of;
  const std::string pixels(12, 'p');
  const mdstream::pil_image image{2, 2, "RGB", mdstream::as_bytes(pixels)};
  const std::string one = bytes_of(encode_value(parse_encoding("pil"), image));
  CHECK(decode_value(parse_encoding("pil"), mdstream::as_bytes(one)).as<mdstream::pil_image>() ==
        image);

  const std::vector<mdstream::pil_image> images{image, {1, 1, "L", mdstream::as_bytes("x")}};
  const std::string list = bytes_of(encode_value(parse_encoding("list[pil]"), images));
  CHECK(decode_value(parse_encoding("list[pil]"), mdstream::as_bytes(list))
            .as<std::vector<mdstream::pil_image>>() == images);

  const mdstream::image_files files{mdstream::as_bytes("one"), {}, mdstream::as_bytes("three")};
  for (const char* name : {"jpeg_array", "jpegarray", "list[jpeg]", "list[png]"}) {
    const std::string bytes = bytes_of(encode_value(parse_encoding(name), files));
    const auto back = decode_value(parse_encoding(name), mdstream::as_bytes(bytes));
    REQUIRE(back.as<mdstream::image_files>().size() == 3);
    CHECK(mdstream::as_text(back.as<mdstream::image_files>()[2]) == "three");
  }
  using mdstream::errc;
  support::expect_error(
      [&] { (void)encode_value(parse_encoding("jpeg_array"), mdstream::image_files()); },
      errc::invalid_argument, {"at least one"});
  support::expect_error(
      [&] {
        (void)encode_value(parse_encoding("pil"),
                           mdstream::pil_image{3, 2, "RGB", mdstream::as_bytes(pixels)});
      },
      errc::invalid_argument, {"pixels"});
}

TEST_CASE("JSON columns take text and trees, and refuse what is not JSON", "[sample_encoder]") {
  using mdstream::detail::encode_value;
  using sample_encoder_test::bytes_of;
  const auto type = mdstream::parse_encoding("json");
  CHECK(bytes_of(encode_value(type, "{\"b\":[1,2.50],\"a\":\"\xC3\xA9\"}")) ==
        R"({"b": [1, 2.5], "a": "\u00e9"})");
  const mdstream::json::value tree = mdstream::json::array{1, nullptr};
  CHECK(bytes_of(encode_value(type, &tree)) == "[1, null]");
  support::expect_error([&] { (void)encode_value(type, "{"); }, mdstream::errc::invalid_argument,
                        {"byte 1"});
  support::expect_error([&] { (void)encode_value(mdstream::parse_encoding("str"), &tree); },
                        mdstream::errc::invalid_argument);
}
