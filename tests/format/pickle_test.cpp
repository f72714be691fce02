#include <mdstream/core/detail/hex.hpp>
#include <mdstream/format/pickle.hpp>

#include <mdstream/hash/hash.hpp>

#include <random>
#include <string>
#include <vector>

#include "format/golden.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace pickle_test {

using mdstream::errc;
using mdstream::pickle_value;
using mdstream::detail::pickle_kind;

// Made by Python 3.11 with NumPy 1.24: pickle.dumps(...).hex()
const char* const dict_pickle =
    "8004951a000000000000007d94288c0161945d94284b014b02658c0162944e88898794752e";
const char* const nums_pickle =
    "8004956d000000000000005d94284b004bff4d00014a000001004affffffff4affffff7f4a000000"
    "808a090000000000000080008a0800000000000000808a11000000000061f5b9abbfa45cc3f12963"
    "1d8a1100000000009f0a4654405ba33c0ed69ce2473ff800000000000047fff0000000000000652e";
const char* const text_pickle =
    "80049535000000000000005d94288c06c3a9f09f998294430200ff948c086275696c74696e73948c"
    "09627974656172726179949394430278799485945294652e";
const char* const p5_pickle =
    "80059543010000000000005d9428960200000000000000787994582c010000787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "787878787878787878787894652e";
const char* const set_pickle = "80049513000000000000005d94288f94284b014b0290284b03919429652e";
const char* const p2_pickle =
    "80025d710028635f636f646563730a656e636f64650a71015803000000c3bf00710258060000006c"
    "6174696e3171038671045271055801000000787106635f5f6275696c74696e5f5f0a7365740a7107"
    "5d71084b016185710952710a635f5f6275696c74696e5f5f0a6279746561727261790a710b680158"
    "0100000071710c680386710d52710e85710f527110652e";
const char* const p3_pickle = "80035d7100284302ff007101284b014b024b034b04747102652e";
const char* const arr_pickle =
    "80049596000000000000008c156e756d70792e636f72652e6d756c74696172726179948c0c5f7265"
    "636f6e7374727563749493948c056e756d7079948c076e6461727261799493944b00859443016294"
    "87945294284b014b024b03869468038c0564747970659493948c02753294898887945294284b038c"
    "013c944e4e4e4affffffff4affffffff4b0074946289430c00000100020003000400050094749462"
    "2e";
const char* const fort_pickle =
    "800495a2000000000000008c156e756d70792e636f72652e6d756c74696172726179948c0c5f7265"
    "636f6e7374727563749493948c056e756d7079948c076e6461727261799493944b00859443016294"
    "87945294284b014b024b03869468038c0564747970659493948c02693494898887945294284b038c"
    "013c944e4e4e4affffffff4affffffff4b0074946288431800000000030000000100000004000000"
    "0200000005000000947494622e";
const char* const scalar_pickle =
    "8004959e000000000000005d94288c156e756d70792e636f72652e6d756c74696172726179948c06"
    "7363616c61729493948c056e756d7079948c0564747970659493948c02663494898887945294284b"
    "038c013c944e4e4e4affffffff4affffffff4b0074946243040000c03f9486945294680368068c02"
    "693894898887945294284b03680a4e4e4e4affffffff4affffffff4b007494624308fdffffffffff"
    "ffff9486945294652e";
const char* const arr2_pickle =
    "8002636e756d70792e636f72652e6d756c746961727261790a5f7265636f6e7374727563740a7100"
    "636e756d70790a6e6461727261790a71014b00857102635f636f646563730a656e636f64650a7103"
    "580100000062710458060000006c6174696e317105867106527107877108527109284b014b028571"
    "0a636e756d70790a64747970650a710b58020000006638710c898887710d52710e284b0358010000"
    "003c710f4e4e4e4affffffff4affffffff4b00747110628968035812000000000000000000c3b83f"
    "00000000000000c38071116805867112527113747114622e";
const char* const arr5_pickle =
    "80059579000000000000008c126e756d70792e636f72652e6e756d65726963948c0b5f66726f6d62"
    "75666665729493942896040000000000000000010203948c056e756d7079948c0564747970659493"
    "948c02753194898887945294284b038c017c944e4e4e4affffffff4affffffff4b007494624b024b"
    "0286948c014394749452942e";
const char* const shared_pickle =
    "8004951a000000000000005d94285d94284b014b026568018c06616263646566946802652e";
const char* const evil_pickle =
    "80049525000000000000008c05706f736978948c0673797374656d9493948c0a6563686f2070776e"
    "656494859452942e";
const char* const evil2_pickle =
    "800263706f7369780a73797374656d0a7100580a0000006563686f2070776e656471018571025271"
    "032e";
const char* const cycle_pickle = "80049506000000000000005d946800612e";
const char* const od_pickle =
    "80049529000000000000008c0b636f6c6c656374696f6e73948c0b4f726465726564446963749493"
    "942952948c0161944b01732e";
const char* const be_pickle =
    "8004958c000000000000008c156e756d70792e636f72652e6d756c74696172726179948c0c5f7265"
    "636f6e7374727563749493948c056e756d7079948c076e6461727261799493944b00859443016294"
    "87945294284b014b02859468038c0564747970659493948c02753294898887945294284b038c013e"
    "944e4e4e4affffffff4affffffff4b0074946289430400000001947494622e";
const char* const bool_pickle =
    "80049589000000000000008c156e756d70792e636f72652e6d756c74696172726179948c0c5f7265"
    "636f6e7374727563749493948c056e756d7079948c076e6461727261799493944b00859443016294"
    "87945294284b014b01859468038c0564747970659493948c02623194898887945294284b038c017c"
    "944e4e4e4affffffff4affffffff4b0074946289430101947494622e";
const char* const obj_pickle =
    "80049589000000000000008c156e756d70792e636f72652e6d756c74696172726179948c0c5f7265"
    "636f6e7374727563749493948c056e756d7079948c076e6461727261799493944b00859443016294"
    "87945294284b014b01859468038c0564747970659493948c024f3894898887945294284b038c017c"
    "944e4e4e4affffffff4affffffff4b3f749462895d944e617494622e";
const char* const laugh_pickle =
    "80049521010000000000005d94285d94285d94285d94285d94285d94285d94285d94285d94285d94"
    "285d94285d94285d94284b004b004b004b004b004b004b004b004b004b0065680c680c680c680c68"
    "0c680c680c680c680c65680b680b680b680b680b680b680b680b680b65680a680a680a680a680a68"
    "0a680a680a680a656809680968096809680968096809680968096568086808680868086808680868"
    "08680868086568076807680768076807680768076807680765680668066806680668066806680668"
    "06680665680568056805680568056805680568056805656804680468046804680468046804680468"
    "04656803680368036803680368036803680368036568026802680268026802680268026802680265"
    "680168016801680168016801680168016801652e";
const char* const cplx_pickle =
    "8004952e000000000000008c086275696c74696e73948c07636f6d706c6578949394470000000000"
    "000000473ff0000000000000869452942e";

pickle_value read(const std::string& hex) {
  const std::string bytes = format_golden::from_hex(hex);
  return mdstream::read_pickle(mdstream::as_bytes(bytes));
}

/// Python's notation, as far as these tests need it.
std::string repr(const pickle_value& v) {
  const auto items = [&](const char* open, const char* close) {
    std::string out = open;
    for (std::size_t i = 0; i < v.items.size(); ++i) out += (i > 0 ? ", " : "") + repr(v.items[i]);
    return out + close;
  };
  switch (v.type) {
    case pickle_kind::none: return "None";
    case pickle_kind::boolean: return v.flag ? "True" : "False";
    case pickle_kind::integer: return v.text;
    case pickle_kind::real: return std::to_string(v.number);
    case pickle_kind::text: return "'" + v.text + "'";
    case pickle_kind::bytes: return "b" + mdstream::detail::to_hex(mdstream::as_bytes(v.text));
    case pickle_kind::list: return items("[", "]");
    case pickle_kind::tuple: return items("(", ")");
    case pickle_kind::set: return items("{", "}");
    case pickle_kind::dict: return items("dict(", ")");
    case pickle_kind::array: {
      std::string out(to_string(v.elements));
      for (const std::uint64_t extent : v.shape) out += "," + std::to_string(extent);
      return out + ":" + mdstream::detail::to_hex(mdstream::as_bytes(v.text));
    }
    default: return "?";
  }
}

}  // namespace pickle_test

TEST_CASE("plain data come out of pickles", "[pickle]") {
  using namespace pickle_test;
  CHECK(repr(read(dict_pickle)) == "dict('a', [1, 2], 'b', (None, True, False))");
  CHECK(repr(read(nums_pickle)) ==
        "[0, 255, 256, 65536, -1, 2147483647, -2147483648, 9223372036854775808, "
        "-9223372036854775808, 10000000000000000000000000000000000000000, "
        "-10000000000000000000000000000000000000000, 1.500000, -inf]");
  CHECK(repr(read(text_pickle)) == "['\xC3\xA9\xF0\x9F\x99\x82', b00ff, b7879]");
  CHECK(repr(read(p5_pickle)) == "[b7879, '" + std::string(300, 'x') + "']");
  CHECK(repr(read(set_pickle)) == "[{1, 2}, {3}, ()]");
  CHECK(repr(read(p2_pickle)) == "[bff00, 'x', {1}, b71]");
  CHECK(repr(read(p3_pickle)) == "[bff00, (1, 2, 3, 4)]");
  CHECK(repr(read(shared_pickle)) == "[[1, 2], [1, 2], 'abcdef', 'abcdef']");
}

TEST_CASE("NumPy arrays come out of pickles in C order", "[pickle]") {
  using namespace pickle_test;
  CHECK(repr(read(arr_pickle)) == "uint16,2,3:000001000200030004000500");
  CHECK(repr(read(fort_pickle)) == "int32,2,3:000000000100000002000000030000000400000005000000");
  CHECK(repr(read(arr2_pickle)) == "float64,2:000000000000f83f00000000000000c0");
  CHECK(repr(read(arr5_pickle)) == "uint8,2,2:00010203");
  CHECK(repr(read(scalar_pickle)) == "[float32:0000c03f, int64:fdffffffffffffff]");
}

TEST_CASE("an array whose shape wraps around to the size of its elements is refused", "[pickle]") {
  using namespace pickle_test;
  const std::string_view shape = "4b024b0386";  // (2, 3), of two bytes each
  std::string wraps(arr_pickle);
  const std::size_t at = wraps.find(shape);
  REQUIRE(at != wraps.npos);
  wraps.replace(at, shape.size(), "4b028a08030000000000004086");  // (2, 2^62 + 3)
  support::expect_error([&] { (void)read(wraps); }, errc::unsupported, {"too few elements"});
}

TEST_CASE("an array whose shape is none is refused", "[pickle]") {
  using namespace pickle_test;
  std::string none(arr_pickle);
  none.replace(none.find("4b024b0386"), 10, "4e4b0386");  // (None, 3)
  support::expect_error([&] { (void)read(none); }, errc::unsupported, {"shape is none"});
}

TEST_CASE("pickles that are programs are refused, with what they ask for", "[pickle]") {
  using namespace pickle_test;
  for (const char* hex : {evil_pickle, evil2_pickle})
    support::expect_error([&] { (void)read(hex); }, errc::unsupported,
                          {"posix.system", "nothing is executed"});
  support::expect_error([] { (void)read(od_pickle); }, errc::unsupported,
                        {"collections.OrderedDict"});
  support::expect_error([] { (void)read(cplx_pickle); }, errc::unsupported, {"builtins.complex"});
  support::expect_error([] { (void)read(be_pickle); }, errc::unsupported, {"little-endian"});
  support::expect_error([] { (void)read(bool_pickle); }, errc::unsupported, {"\"b1\""});
  support::expect_error([] { (void)read(obj_pickle); }, errc::unsupported, {"\"O8\""});
}

TEST_CASE("pickles that hold themselves or grow without end are refused", "[pickle]") {
  using namespace pickle_test;
  support::expect_error([] { (void)read(cycle_pickle); }, errc::unsupported, {"nests too deeply"});
  support::expect_error([] { (void)read(laugh_pickle); }, errc::unsupported, {"repeats itself"});
  // Arrays that are all made of the same 4,000 bytes.
  const auto arrays = [](int count) {
    std::string hex(arr_pickle);
    hex.replace(hex.find("4b024b0386"), 10, "4b024de80386");  // (2, 1000)
    hex.replace(hex.find("430c"), 4 + 2 * 12, "42a00f0000" + std::string(2 * 4000, '0'));
    hex.replace(4, 2 * 9, "28");  // the frame, whose length is another now; a tuple begins
    hex.pop_back();
    hex.pop_back();
    for (int i = 1; i < count; ++i) hex += "6802680852681362";  // made, and its state set
    return hex + "742e";
  };
  CHECK(read(arrays(2)).items.back().text.size() == 4000);
  support::expect_error([&] { (void)read(arrays(300)); }, errc::unsupported, {"repeats itself"});
}

TEST_CASE("pickles that are cut short or changed are refused", "[pickle]") {
  using namespace pickle_test;
  support::expect_error([] { (void)read(""); }, errc::corrupt);
  support::expect_error([] { (void)read("800a4e2e"); }, errc::unsupported, {"protocol 10"});
  support::expect_error([] { (void)read("80044e4e2e"); }, errc::corrupt, {"left over", "byte 4"});
  support::expect_error([] { (void)read("8004652e"); }, errc::corrupt, {"mark"});
  support::expect_error([] { (void)read("8004942e"); }, errc::corrupt, {"missing"});
  support::expect_error([] { (void)read("800468002e"); }, errc::corrupt, {"recalls"});
  support::expect_error([] { (void)read("80044e8152"); }, errc::unsupported, {"129"});
  const unsigned seed = support::test_seed(GENERATE(range(0U, 3U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const char* hex :
       {dict_pickle, nums_pickle, arr_pickle, fort_pickle, arr2_pickle, p2_pickle}) {
    const std::string good = format_golden::from_hex(hex);
    for (std::size_t size = 0; size < good.size(); ++size)
      support::expect_error(
          [&] { (void)mdstream::read_pickle(mdstream::as_bytes(good).first(size)); },
          errc::corrupt);
    const auto is_refused = [](const std::string& changed) {
      std::string first;
      try {
        first = repr(mdstream::read_pickle(mdstream::as_bytes(changed)));
      } catch (const mdstream::error&) {
        return true;
      }
      CHECK(repr(mdstream::read_pickle(mdstream::as_bytes(changed))) == first);
      return false;
    };
    for (int i = 0; i < 300; ++i) {
      std::string changed = good;
      changed[random() % changed.size()] = static_cast<char>(random());
      (void)is_refused(changed);
    }
    // Its first instruction, its protocol and its last instruction can be no others.
    const std::string from_2_to_5("\2\3\4\5");
    for (int byte = 0; byte < 256; ++byte)
      for (const std::size_t at : {std::size_t{0}, std::size_t{1}, good.size() - 1}) {
        std::string changed = good;
        changed[at] = static_cast<char>(byte);
        INFO("byte " << at << " is " << byte);
        CHECK(is_refused(changed) ==
              (at == 1 ? from_2_to_5.find(changed[at]) == std::string::npos : changed != good));
      }
  }
}
