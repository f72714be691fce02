#include <mdstream/order/fingerprint.hpp>

#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle/py1e.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

#include <vector>

namespace fingerprint_test {

using engine = mdstream::order_engine<mdstream::shuffle::py1e>;

mdstream::order_fingerprint of(std::vector<mdstream::stream_shards> streams,
                               mdstream::order_options options, std::uint64_t global = 8) {
  return mdstream::fingerprint(engine(streams, options), global);
}

TEST_CASE("fingerprints tell apart what a state relies on", "[order]") {
  const auto base = of({{.samples = {3, 4}}, {.samples = {5}}}, {.shuffle = true});
  CHECK(base == of({{.samples = {3, 4}}, {.samples = {5}}}, {.shuffle = true}));
  CHECK(base.dataset != of({{.samples = {3}}, {.samples = {4, 5}}}, {.shuffle = true}).dataset);
  CHECK(base.dataset != of({{.samples = {4, 3}}, {.samples = {5}}}, {.shuffle = true}).dataset);
  const auto mixed =
      of({{.samples = {3, 4}, .weight = {.choose = 2}}, {.samples = {5}}}, {.shuffle = true});
  CHECK(mixed.dataset == base.dataset);
  CHECK(mixed.mix != base.mix);
  CHECK(base.order != of({{.samples = {3, 4}}, {.samples = {5}}}, {}).order);
}

TEST_CASE("a seed that the state replaces is no part of the order", "[order]") {
  CHECK(of({{.samples = {3}}}, {.shuffle = true, .shuffle_seed = 1}) ==
        of({{.samples = {3}}}, {.shuffle = true, .shuffle_seed = 2}));
}

TEST_CASE("a mismatch names the part and both values", "[order]") {
  const mdstream::order_fingerprint a{.dataset = 1, .mix = 2, .order = 3, .global_batch_size = 32};
  auto b = a;
  mdstream::check_same_order(a, b);
  b.global_batch_size = 64;
  support::expect_error([&] { mdstream::check_same_order(a, b); }, mdstream::errc::state_mismatch,
                        {"global batch size", "32", "64"});
  b.mix = 7;
  support::expect_error([&] { mdstream::check_same_order(a, b); }, mdstream::errc::state_mismatch,
                        {"mix", "2", "7"});
}

}  // namespace fingerprint_test
