#include <mdstream/store/detail/s3/messages.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace s3_messages_test {

using namespace mdstream::store;
using mdstream::errc;
using mdstream::object_info;
using support::expect_error;

TEST_CASE("a page of a listing is its objects and where it goes on", "[s3]") {
  const mdstream::detail::s3_page page = mdstream::detail::parse_s3_page(
      "<?xml version='1.0'?><ListBucketResult xmlns='x'><Name>b</Name><Prefix>a</Prefix>"
      "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t/+=</NextContinuationToken>"
      "<Contents><Key>a%2Fb+c%2B%C3%BC</Key><Size>12</Size><Owner><ID>1</ID></Owner></Contents>"
      "<Contents><Key>a</Key><LastModified>x</LastModified><Size>0</Size>"
      "<ETag>&quot;D41d8cd98f00b204e9800998ecf8427e&quot;</ETag></Contents>"
      "<CommonPrefixes><Prefix>z</Prefix></CommonPrefixes></ListBucketResult>",
      {});
  CHECK(page.objects == std::vector<object_info>{{"a/b c+ü", 12},
                                                 {"a", 0, "md5:d41d8cd98f00b204e9800998ecf8427e"}});
  CHECK(page.objects[0].tag.empty());
  CHECK(page.objects[1].tag == "\"D41d8cd98f00b204e9800998ecf8427e\"");  // as a header has it
  CHECK(page.next == "t/+=");
  const mdstream::detail::s3_page plain = mdstream::detail::parse_s3_page(
      "<ListBucketResult><Contents><Key>a%2Fb+c</Key><Size>1</Size></Contents>"
      "<NextContinuationToken>old</NextContinuationToken></ListBucketResult>",
      {});
  CHECK(plain.objects.front().key == "a%2Fb+c");
  CHECK(plain.next.empty());
}

TEST_CASE("what is no listing is refused", "[s3]") {
  const std::string begin = "<ListBucketResult>", end = "</ListBucketResult>";
  const auto object = [](const std::string& of) { return "<Contents>" + of + "</Contents>"; };
  for (const std::string& text :
       {std::string(), std::string("<html/>"), begin, begin + object("<Key>a</Key>") + end,
        begin + object("<Size>1</Size>") + end, begin + object("<Key>a</Key><Size>-1</Size>") + end,
        begin + object("<Key>a</Key><Size>99999999999999999999</Size>") + end,
        begin + object("<Key></Key><Size>1</Size>") + end,
        begin + "<EncodingType>url</EncodingType>" + object("<Key>%zz</Key><Size>1</Size>") + end,
        begin + "<IsTruncated>true</IsTruncated>" + end, begin + end + "more"}) {
    INFO(text);
    expect_error([&] { (void)mdstream::detail::parse_s3_page(text, {.url = "s3://b"}); },
                 errc::corrupt, {"s3://b"});
  }
}

TEST_CASE("an error is its code, message and region; other texts say nothing", "[s3]") {
  const mdstream::detail::s3_error all = mdstream::detail::parse_s3_error(
      "<Error><Code>AuthorizationHeaderMalformed</Code><Message>m &amp; n</Message>"
      "<Region>eu</Region><HostId>x</HostId></Error>");
  CHECK(all.code == "AuthorizationHeaderMalformed");
  CHECK(all.message == "m & n");
  CHECK(all.region == "eu");
  for (const char* text : {"", "no", "<html><Code>x</Code></html>", "<Error", "{}"}) {
    CHECK(mdstream::detail::parse_s3_error(text).code.empty());
  }
}

TEST_CASE("an upload has an id and ends with the tags of its parts", "[s3]") {
  CHECK(mdstream::detail::parse_s3_upload_id(
            "<InitiateMultipartUploadResult><Bucket>b</Bucket><UploadId>a+/=</"
            "UploadId></InitiateMultipartUploadResult>",
            {}) == "a+/=");
  expect_error(
      [] { (void)mdstream::detail::parse_s3_upload_id("<InitiateMultipartUploadResult/>", {}); },
      errc::corrupt, {"no id"});
  CHECK(mdstream::detail::s3_parts_message({"\"a\"", "<&"}) ==
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        "<Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part>"
        "<Part><PartNumber>2</PartNumber><ETag>&lt;&amp;</ETag></Part></CompleteMultipartUpload>");
}

}  // namespace s3_messages_test
