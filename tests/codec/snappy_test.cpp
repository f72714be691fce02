#include <mdstream/codec/snappy.hpp>

#include "codec/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("codec snappy conforms", "[codec]") {
  codec_conformance::check_all<mdstream::codec::snappy>();
}

TEST_CASE("snappy has no levels", "[codec]") {
  CHECK_NOTHROW(mdstream::codec::snappy::open("snappy"));
  support::expect_error([] { (void)mdstream::codec::snappy::open("snappy:1"); },
                        mdstream::errc::invalid_argument, {"snappy:1", "no levels"});
}
