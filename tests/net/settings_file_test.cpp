#include <mdstream/net/settings_file.hpp>

#include <mdstream/net/pem.hpp>

#include <cerrno>
#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/no_descriptors.hpp"

namespace settings_file_test {

using namespace mdstream::net;
using mdstream::errc;
using support::expect_error;

TEST_CASE("a file's token is one word; else the error names the line", "[net]") {
  CHECK(detail::token_of_file("hush\n", "/t") == "hush");
  CHECK(detail::token_of_file("\n  a.b-c_d=\r\n", "/t") == "a.b-c_d=");
  const auto refused = [](const std::string& text, const char* line) {
    expect_error([&] { (void)detail::token_of_file(text, "/t"); }, errc::invalid_argument,
                 {"/t", line});
  };
  refused("", "line 1");
  refused(" \n\t\n", "line 1");
  refused("hush hush", "line 1");
  refused("hush\r\nX-Other: hush", "line 2");
  refused("\n\nhush\thush\n", "line 3");
  refused(std::string("hush\0hush", 9), "line 1");
  refused("hush\xC3\xBC", "line 1");
}

TEST_CASE("settings that cannot be opened for want of descriptors are not missing", "[net]") {
  CHECK_FALSE(detail::read_settings("/nonexistent/settings"));
  const support::no_descriptors none;
  expect_error([] { (void)detail::read_settings("/proc/self/status"); }, errc::unavailable,
               {"/proc/self/status", "Too many open files"});
}

TEST_CASE("an error about broken JSON names the file's line", "[net]") {
  CHECK(detail::parse_json_file("{\"a\": 1}", "/j").get<int>("a") == 1);
  expect_error([] { (void)detail::parse_json_file("{\"hush\": 1,\n \"b\" 2}", "/j"); },
               errc::invalid_argument, {"/j", "line 2"});
  expect_error([] { (void)detail::parse_json_file("", "/j"); }, errc::invalid_argument,
               {"/j", "line 1"});
  expect_error([] { (void)detail::parse_json_file("{\n\n", "/j"); }, errc::invalid_argument,
               {"/j", "line 3"});
}

TEST_CASE("an error about damaged PEM names its line", "[net]") {
  const std::string begin = "-----BEGIN PRIVATE KEY-----\n", end = "-----END PRIVATE KEY-----\n";
  CHECK_FALSE(pem_fault(begin + "QUJD\r\nQQ==\n" + end));
  CHECK_FALSE(pem_fault("a comment: hush\n" + begin +
                        "Proc-Type: 4,ENCRYPTED\nDEK-Info: x,1\n\nQUJD\n" + end + "and behind\n"));
  const auto fault = [](const std::string& text) { return pem_fault(text).value_or("none"); };
  CHECK(fault("") == "no line begins with -----BEGIN");
  CHECK(fault("hush") == "no line begins with -----BEGIN");
  CHECK(fault(begin + "QUJD\nhu sh\n" + end) == "line 3 is no base64");
  CHECK(fault(begin + "QUJD\nA: hush\n" + end) == "line 3 is no base64");
  CHECK(fault("\n-----BEGIN X\nQUJD\n") == "line 2 does not end with -----");
  CHECK(fault("\n" + begin + "QUJD\n") == "line 2 begins what no line ends with -----END");
  CHECK(fault(begin + begin + end) == "line 2 begins another before the last has ended");
  CHECK(fault(begin + "QUJD\n-----END X-----\n") == "line 3 ends another than has begun");
}

TEST_CASE("a warning is given once", "[net]") {
  std::string warnings;
  const auto warn = detail::each_once([&](const std::string& text) { warnings += text; });
  const auto copy = warn;
  for (const char* const text : {"a", "b", "a"}) warn(text);
  copy("b");
  CHECK(warnings == "ab");
  CHECK_FALSE(detail::each_once({}));
}

}  // namespace settings_file_test
