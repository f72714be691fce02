#include <mdstream/core/observe.hpp>

#include <cstdint>

#include "support/catch.hpp"

namespace observe_test {

namespace observe = mdstream::observe;

struct counting {
  std::uint64_t* samples;
  void operator()(const observe::step& what) const { *samples += what.samples; }
};
struct of_something_else {
  void operator()(int) const {}
};

}  // namespace observe_test

TEST_CASE("an observer is what takes a step", "[observe]") {
  namespace observe = mdstream::observe;
  CHECK(observe::observer<observe_test::counting>);
  CHECK(observe::observer_policy<observe_test::counting>);
  CHECK(observe::observer_policy<observe::none>);
  CHECK_FALSE(observe::observer<observe::none>);
  CHECK_FALSE(observe::observer_policy<observe_test::of_something_else>);
}
