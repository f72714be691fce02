#include <mdstream/store/detail/sftp/listing.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_sftp_listing_test {

using mdstream::errc;
using mdstream::detail::sftp::entry_kind;
using mdstream::detail::sftp::parse_entry;
using support::expect_error;

void check(const char* line, const char* name, std::uint64_t bytes,
           entry_kind kind = entry_kind::file) {
  INFO(line);
  const auto found = parse_entry(line);
  CHECK(found.name == name);
  CHECK(found.bytes == bytes);
  CHECK(found.kind == kind);
}

TEST_CASE("lines of an SFTP server's listing", "[clouds]") {
  check("-rw-r--r--    1 root     root            6 Nov 22 20:16 file", "file", 6);
  check("-rw-r--r--    1 root     root            0 Jan  1  2001 old", "old", 0);
  check("drwxr-xr-x    3 root     root         4096 Nov  2 20:16 ..", "..", 4096,
        entry_kind::directory);
  check("prw-r--r--    1 root     root            0 Nov 22 20:16 pipe", "pipe", 0,
        entry_kind::other);
  check("lrwxrwxrwx    1 root     root            4 Nov 22 20:16 to -> ../a/file", "to", 4,
        entry_kind::link);
  check("-rw-r--r-- 1 0 0 18446744073709551615 Dec 31 23:59 x", "x", ~std::uint64_t{0});
}

TEST_CASE("names of owners, groups and files are the server's", "[clouds]") {
  check("-rw-r--r-- 1 alice domain users 123 Nov 22 20:16 a.mds", "a.mds", 123);
  check("-rw-r--r-- 1 CORP\\a b 7 May 9 10 Jun 22 2024 a.mds", "a.mds", 10);
  check("-rw-r--r-- 1 May Jan 5 Mar 1 20:16 7 Nov 22 20:16 x", "7 Nov 22 20:16 x", 5);
  check("-rw-r--r-- 1 u g 5 Mar 1 20:16  two  blanks ", " two  blanks ", 5);
  check("-rw-r--r-- 1 u g 5 Mar 1 20:16 a -> b", "a -> b", 5);
}

TEST_CASE("a line that is no file's is not passed over", "[clouds]") {
  for (const char* const bad :
       {"", "total 12", "-rw-r--r-- 1 u g 5 2024-11-22 20:16 x",
        "-rw-r--r-- 1 u g five Nov 22 20:16 x", "-rw-r--r-- 1 u g -5 Nov 22 20:16 x",
        "-rw-r--r-- 1 u g 99999999999999999999 Nov 22 2024 x", "-rw-r--r-- 1 u g 5 Nov 32 20:16 x",
        "-rw-r--r-- 1 u g 5 Nov 22 20:16", "-rw-r--r-- 1 u g 5 Nov 22 20:16 ", "5 Nov 22"}) {
    INFO(bad);
    expect_error([&] { (void)parse_entry(bad); }, errc::corrupt, {"ls -l", bad});
  }
  expect_error([] { (void)parse_entry("-rw-r--r-- 1 u g 5 Nov 22 20:16 ../x"); }, errc::corrupt,
               {"name", "../x"});
}

}  // namespace clouds_sftp_listing_test
