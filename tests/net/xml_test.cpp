#include <mdstream/net/xml.hpp>

#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace xml_test {

using mdstream::errc;
using mdstream::net::xml_reader;
using support::expect_error;

/// The whole document as `name[children]` or `name"text"`.
std::string outline(xml_reader& in, std::string_view name) {
  std::string out(name);
  out += '[';
  while (const auto child = in.next_child()) out += outline(in, *child);
  return out + ']';
}

std::string outline(const std::string& text) {
  xml_reader in(text);
  const std::string name(in.begin());
  std::string out = outline(in, name);
  in.finish();
  return out;
}

std::string text_of(const std::string& document) {
  xml_reader in(document);
  (void)in.begin();
  std::string out = in.text();
  in.finish();
  return out;
}

TEST_CASE("attributes are those of the element that was entered last", "[net]") {
  xml_reader in("<a x='1' ><b Encoded=\"true\" x=\"&amp;\">t</b><b/></a>");
  (void)in.begin();
  CHECK(in.attribute("x") == "1");
  CHECK(in.next_child());
  CHECK(in.attribute("Encoded") == "true");
  CHECK(in.attribute("x") == "&amp;");
  CHECK(in.attribute("encoded").empty());
  CHECK(in.text() == "t");
  CHECK(in.next_child());
  CHECK(in.attribute("Encoded").empty());
}

TEST_CASE("a listing is read as it comes", "[net][xml]") {
  const std::string answer =
      "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- from a store -->\n"
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
      "  <Name>bucket</Name><Prefix/><Empty a='1' b = \"2\" />\n"
      "  <Contents><Key>a &amp; b&#x2F;&#99;<![CDATA[<&>]]></Key><Size>12</Size>"
      "<Owner><ID>x</ID></Owner></Contents>\n"
      "</ListBucketResult >\n<!-- end -->\n";
  xml_reader in(answer);
  in.begin("ListBucketResult");
  REQUIRE(in.next_child() == "Name");
  CHECK(in.text() == "bucket");
  REQUIRE(in.next_child() == "Prefix");
  CHECK(in.text().empty());
  REQUIRE(in.next_child() == "Empty");
  in.skip();
  REQUIRE(in.next_child() == "Contents");
  REQUIRE(in.next_child() == "Key");
  CHECK(in.text() == "a & b/c<&>");
  REQUIRE(in.next_child() == "Size");
  in.skip();
  REQUIRE(in.next_child() == "Owner");
  in.skip();
  CHECK_FALSE(in.next_child());
  CHECK_FALSE(in.next_child());
  in.finish();
}

TEST_CASE("names come without prefixes, comments are nowhere", "[net][xml]") {
  CHECK(outline("<a:x xmlns:a='u'><!----><a:y/><?p i?><z><y></y></z></a:x>") == "x[y[]z[y[]]]");
  CHECK(text_of("<x>a<!-- b -->c<?d?>e</x>") == "ace");
  CHECK(text_of("<x> &#65;&#x1F600;&lt;&gt;&quot;&apos; </x>") == " A😀<>\"' ");
}

TEST_CASE("what is not well-formed is refused, with the byte", "[net][xml]") {
  for (const char* text : {"",
                           " ",
                           "x",
                           "<",
                           "<>",
                           "<x",
                           "<x>",
                           "<x></y>",
                           "<x><y></x></y>",
                           "</x>",
                           "<x/><y/>",
                           "<x/>z",
                           "<x a>",
                           "<x a=1/>",
                           "<x a='1/>",
                           "<x a='<'/>",
                           "<x><!--</x>",
                           "<x><![CDATA[</x>",
                           "<?xml",
                           "<x>&amp</x>",
                           "<x>&nbsp;</x>",
                           "<x>&#;</x>",
                           "<x>&#0;</x>",
                           "<x>&#xD800;</x>",
                           "<x>&#x110000;</x>",
                           "<x>&#99999999999;</x>",
                           "<x>&#x;</x>",
                           "<x>&#-1;</x>",
                           "<x></x",
                           "<x><!ELEMENT y></x>"}) {
    INFO(text);
    expect_error(
        [&] {
          xml_reader in(text);
          (void)in.begin();
          in.skip();
          in.finish();
        },
        errc::corrupt, {"not the XML", "byte"});
  }
}

TEST_CASE("no document can grow while it is read", "[net][xml]") {
  expect_error([] { (void)text_of("<!DOCTYPE x [<!ENTITY a \"aaaa\">]><x>&a;</x>"); },
               errc::corrupt, {"document types"});
  expect_error([] { (void)text_of("<x><!DOCTYPE y>&a;</x>"); }, errc::corrupt, {"document types"});
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  expect_error([&] { (void)outline(deep); }, errc::corrupt, {"too deeply"});
  xml_reader in(deep);
  (void)in.begin();
  expect_error([&] { in.skip(); }, errc::corrupt, {"too deeply"});
}

TEST_CASE("what is asked for and not there is refused", "[net][xml]") {
  const auto begun = [](const char* text, auto use) {
    expect_error(
        [&] {
          xml_reader in(text, {.url = "s3://bucket"});
          (void)in.begin();
          use(in);
        },
        errc::corrupt, {"s3://bucket"});
  };
  begun("<x><y/></x>", [](xml_reader& in) { (void)in.text(); });
  begun("<x>text</x>", [](xml_reader& in) { (void)in.next_child(); });
  begun("<x/>", [](xml_reader& in) {
    in.skip();
    in.skip();
  });
  begun("<x/>", [](xml_reader& in) {
    in.skip();
    (void)in.next_child();
  });
  begun("<x/>", [](xml_reader& in) { (void)in.begin(); });
  begun("<x><y/></x>", [](xml_reader& in) { in.finish(); });
  expect_error([] { xml_reader("<Error/>").begin("ListBucketResult"); }, errc::corrupt,
               {"ListBucketResult"});
}

TEST_CASE("random markup is read or refused, never read out of bounds", "[net][xml]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::vector<std::string> pieces = {"<a>", "</a>", "<b/>", "x",         "&amp;", "&#6",
                                           ";",   "<!--", "-->",  "<![CDATA[", "]]>",   "<?",
                                           "?>",  " ",    "'",    "="};
  for (int i = 0; i < 3000; ++i) {
    std::string text = "<a>";
    for (auto n = random() % 12; n > 0; --n) text += pieces[random() % pieces.size()];
    text += "</a>";
    try {
      xml_reader in(text);
      (void)in.begin();
      in.skip();
      in.finish();
    } catch (const mdstream::error& e) {
      CHECK(e.code() == errc::corrupt);
    }
  }
}

}  // namespace xml_test
