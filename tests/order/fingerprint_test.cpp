#include <mdstream/order/detail/fingerprint.hpp>

#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle/py1e.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace fingerprint_test {

struct prints {
  std::uint64_t dataset, mix;
  friend bool operator==(const prints&, const prints&) = default;
};

prints of(const std::vector<mdstream::stream_shards>& streams,
          const mdstream::order_options& options = {}) {
  const mdstream::order_engine<mdstream::shuffle::py1e> engine(streams, options);
  return {mdstream::detail::fingerprint(engine.shards()),
          mdstream::detail::fingerprint(engine.mix())};
}

TEST_CASE("fingerprints tell apart what a state relies on", "[order]") {
  const prints base = of({{.samples = {3, 4}}, {.samples = {5}}});
  CHECK(base == of({{.samples = {3, 4}}, {.samples = {5}}}));
  CHECK(base.dataset != of({{.samples = {3}}, {.samples = {4, 5}}}).dataset);
  CHECK(base.dataset != of({{.samples = {4, 3}}, {.samples = {5}}}).dataset);
  const prints mixed = of({{.samples = {3, 4}, .weight = {.choose = 2}}, {.samples = {5}}});
  CHECK(mixed.dataset == base.dataset);
  CHECK(mixed.mix != base.mix);
}

TEST_CASE("a seed that the state replaces is no part of them", "[order]") {
  CHECK(of({{.samples = {3}}}, {.shuffle = true, .shuffle_seed = 1}) ==
        of({{.samples = {3}}}, {.shuffle = true, .shuffle_seed = 2}));
}

// States on disks hold these numbers.
TEST_CASE("fingerprints stay what they are", "[order]") {
  const prints got = of({{.samples = {3, 4}}, {.samples = {5}}});
  CHECK(got.dataset == 0x8242a54edc983984);
  CHECK(got.mix == 0x35ea8cd518a2ce87);
}

}  // namespace fingerprint_test
