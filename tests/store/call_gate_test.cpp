#include <mdstream/store/detail/call_gate.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "support/catch.hpp"

namespace call_gate_test {

namespace mds = mdstream;
using mds::detail::call_place;
using gate = mds::detail::call_gate;

struct setting {
  std::shared_ptr<gate> one_at_a_time = gate::of(1);
  std::string order{};

  void begin(char name, std::shared_ptr<const call_place> place, std::stop_token stop = {}) {
    one_at_a_time->begin(
        std::move(stop),
        [this, name](std::optional<gate::ticket> let_in) { order += let_in ? name : '-'; },
        std::move(place));
  }
  void end() { one_at_a_time->end({}, {}); }
};

TEST_CASE("calls wait in the order of need", "[store]") {
  const auto at = [](std::uint64_t ticket) {
    auto place = std::make_shared<call_place>();
    place->ticket = ticket;
    return place;
  };
  setting fixture;
  const auto late = at(9);
  fixture.begin('a', at(7));
  fixture.begin('l', late);
  fixture.begin('b', at(5));
  fixture.begin('c', at(3));
  fixture.begin('d', at(5));
  std::stop_source stop;
  fixture.begin('s', at(1), stop.get_token());
  fixture.begin('e', nullptr);
  CHECK(fixture.order == "a");
  stop.request_stop();
  CHECK(fixture.order == "a-");
  fixture.end();
  CHECK(fixture.order == "a-e");
  late->now = true;  // a batch waits for it
  for (int i = 0; i < 5; ++i) fixture.end();
  CHECK(fixture.order == "a-elcbd");
  CHECK(fixture.one_at_a_time->in_flight() == 0);
}

}  // namespace call_gate_test
