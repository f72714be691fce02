#include <mdstream/codec/none.hpp>

#include "codec/conformance.hpp"
#include "support/catch.hpp"

TEST_CASE("codec none conforms", "[codec]") {
  codec_conformance::check_round_trips(mdstream::codec::none());
  codec_conformance::check_hostile_input(mdstream::codec::none());
}
