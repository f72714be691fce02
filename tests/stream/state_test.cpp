#include <mdstream/stream/state.hpp>

#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace mds = mdstream;

namespace state_test {

mds::run_state example() {
  return {.at = {.epoch = 2,
                 .sample_in_epoch = 640,
                 .num_canonical_nodes = 8,
                 .shuffle_seed = 9176,
                 .initial_physical_nodes = 2},
          .identity = mds::run_identity{.dataset = 0x1234,
                                        .mix = 0xffffffffffffffff,
                                        .epoch_size = 1000,
                                        .global_batch_size = 64,
                                        .batching = "random",
                                        .sampling = "balanced",
                                        .shuffle = "py1e",
                                        .shuffle_block_size = 262144}};
}

}  // namespace state_test

TEST_CASE("a state is one sorted line that reads back the same") {
  const mds::run_state state = state_test::example();
  const std::string text = mds::to_text(state);
  CHECK(
      text ==
      R"({"epoch": 2, "initial_physical_nodes": 2, "mdstream": {"batching": "random", )"
      R"("dataset": "0000000000001234", "epoch_size": 1000, "global_batch_size": 64, )"
      R"("mix": "ffffffffffffffff", "sampling": "balanced", "sampling_granularity": 1, "shuffle": "py1e", "shuffle_block_size": 262144, "version": 1}, )"
      R"("num_canonical_nodes": 8, "sample_in_epoch": 640, "shuffle_seed": 9176})");
  const mds::run_state back = mds::parse_state(text);
  CHECK(back.at == state.at);
  CHECK(back.identity == state.identity);
}

TEST_CASE("a state of streams that are dealt to ranks has their number, which is not Python's") {
  mds::run_state state = state_test::example();
  state.at.initial_ranks_per_node = 4;
  const std::string text = mds::to_text(state);
  CHECK(text.find(R"("global_batch_size": 64, "initial_ranks_per_node": 4, "mix")") !=
        std::string::npos);
  CHECK(mds::parse_state(text).at == state.at);
  state.identity.reset();
  CHECK(mds::to_text(state).find("ranks") == std::string::npos);
}

TEST_CASE("a state of Python has no identity, and may lack the initial nodes") {
  const auto state = mds::parse_state(
      R"({"epoch": 0, "sample_in_epoch": 12, "num_canonical_nodes": 1, "shuffle_seed": 7})");
  CHECK(state.at.sample_in_epoch == 12);
  CHECK_FALSE(state.at.initial_physical_nodes);
  CHECK_FALSE(state.identity);
}

TEST_CASE("a state of another run is refused by field and values") {
  const mds::run_identity this_run = *state_test::example().identity;
  const auto refused = [&](auto change, std::initializer_list<std::string_view> pieces) {
    mds::run_identity saved = this_run;
    change(saved);
    support::expect_error([&] { mds::require_same_run(saved, this_run); },
                          mds::errc::state_mismatch, pieces);
  };
  mds::require_same_run(this_run, this_run);
  refused([](auto& id) { id.dataset = 1; },
          {"another dataset", "1000 samples, as then", "accept::dataset"});
  refused([](auto& id) { id.dataset = 1, id.epoch_size = 900; },
          {"another dataset", "1000 samples, then it had 900"});
  refused([](auto& id) { id.source = 1; }, {"other foreign files", "accept::dataset"});
  refused([](auto& id) { id.mix = 1; }, {"other weights", "accept::mix"});
  refused([](auto& id) { id.epoch_size = 5; }, {"epoch_size 5", "1000"});
  refused([](auto& id) { id.global_batch_size = 32; }, {"global_batch_size 32", "64"});
  refused([](auto& id) { id.batching = "stratified"; }, {"batching \"stratified\"", "\"random\""});
  refused([](auto& id) { id.sampling = "fixed"; }, {"sampling \"fixed\"", "\"balanced\""});
  refused([](auto& id) { id.sampling_granularity = 8; }, {"sampling_granularity 8", "1"});
  refused([](auto& id) { id.shuffle = "naive"; }, {"shuffle \"naive\"", "\"py1e\""});
  refused([](auto& id) { id.shuffle_block_size = 4; }, {"shuffle_block_size 4", "262144"});
}

TEST_CASE("text that is no state is refused by key") {
  using support::expect_error;
  const auto parse = [](std::string_view text) { return [text] { (void)mds::parse_state(text); }; };
  expect_error(parse(""), mds::errc::corrupt, {"state"});
  expect_error(parse("{\"epoch\": 0"), mds::errc::corrupt);
  expect_error(parse("[]"), mds::errc::corrupt);
  expect_error(parse(R"({"epoch": 0, "num_canonical_nodes": 1, "shuffle_seed": 7})"),
               mds::errc::corrupt, {"sample_in_epoch"});
  expect_error(
      parse(R"({"epoch": 0, "sample_in_epoch": -1, "num_canonical_nodes": 1, "shuffle_seed": 7})"),
      mds::errc::corrupt, {"sample_in_epoch"});
  expect_error(
      parse(R"({"epoch": -7, "sample_in_epoch": 1, "num_canonical_nodes": 1, "shuffle_seed": 7})"),
      mds::errc::corrupt, {"-7"});
  std::string newer = mds::to_text(state_test::example());
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 2");
  expect_error(parse(newer), mds::errc::unsupported, {"version 2"});
}
