#include <mdstream/codec/br.hpp>

#include "codec/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("codec br conforms", "[codec]") { codec_conformance::check_all<mdstream::codec::br>(); }

TEST_CASE("br levels are 0 to 11, normally 11", "[codec]") {
  using mdstream::codec::br;
  CHECK(br::open("br").level() == 11);
  CHECK(br::open("br:0").level() == 0);
  support::expect_error([] { (void)br::open("br:12"); }, mdstream::errc::invalid_argument,
                        {"br:12", "0 to 11"});
}
