#include <mdstream/order/shuffle.hpp>

#include "order/golden.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/reference_errors.hpp"

#include <map>
#include <memory>
#include <vector>

namespace shuffle_test {

using mdstream::shuffle_task;

mdstream::shuffle_units units_of(const std::vector<std::uint64_t>& sizes) {
  const std::vector<mdstream::stream_shards> streams{{.samples = sizes}};
  return {std::make_shared<mdstream::detail::shard_table>(streams), 0, sizes.size()};
}

std::vector<std::int64_t> read_all(mdstream::detail::any_sequence order) {
  std::vector<std::int64_t> out(order.size());
  order.read(0, out);
  return out;
}

TEST_CASE("shuffles are those of the reference", "[order][golden]") {
  const auto file = golden::load("shuffle");
  std::map<std::string, mdstream::shuffle_units> tables;
  for (const auto& [name, sizes] : file["shards"].items()) {
    const auto& rle = file["rle"];
    tables[name] =
        units_of(golden::sizes(sizes, std::find(rle.begin(), rle.end(), name) != rle.end()));
  }
  for (const auto& c : file["cases"]) {
    INFO(c.dump().substr(0, 300));
    const mdstream::shuffle::any shuffler(c["algo"].get<std::string>());
    const shuffle_task task{.units = tables.at(c["shards"]),
                            .num_canonical_nodes = c["ncn"],
                            .seed = golden::number(c["seed"]),
                            .epoch = golden::number(c["epoch"]),
                            .block_size = golden::number(c["block_size"])};
    if (c.contains("error"))
      support::expect_same_refusal([&] { static_cast<void>(read_all(shuffler.open(task))); },
                                   c["error"]);
    else
      CHECK(golden::same_ids(c, read_all(shuffler.open(task))));
  }
}

TEST_CASE("a shuffler that nobody has is refused with the list of those there are", "[order]") {
  support::expect_error([] { mdstream::shuffle::any("py1b"); }, mdstream::errc::unsupported,
                        {"py1b", "py1e", "py1s", "py2s", "py1br", "naive"});
}

}  // namespace shuffle_test
