#include <mdstream/core/detail/descriptors.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "support/catch.hpp"

TEST_CASE("descriptors that are open are not free, and the limit bounds them", "[core]") {
  using mdstream::detail::free_descriptors;
  using mdstream::detail::most_at_once;
  const std::size_t before = free_descriptors();
  REQUIRE(before > 20);
  std::vector<int> open;
  for (int i = 0; i < 10; ++i) open.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(free_descriptors() == before - 10);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlim_t all = limit.rlim_cur, taken = all - (before - 10);
  for (const rlim_t left : {rlim_t{16}, rlim_t{10}}) {
    limit.rlim_cur = taken + left;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    const std::size_t free = free_descriptors(), some = most_at_once();
    limit.rlim_cur = all;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(free == left);
    CHECK(some == 4);  // fewer would be no work at all
  }
  limit.rlim_cur = taken - 5;  // below what is open already
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  const std::size_t none = free_descriptors();
  limit.rlim_cur = all;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  // The look itself needs one, so that it fails here.
  CHECK(none == 0);
  for (const int each : open) ::close(each);
  CHECK(free_descriptors() == before);
}
