// The order of samples: how long until the first ids, all ids, and a resumed run has its next ids.
//
//   bench_order DIRECTORY    DIRECTORY: for what peers write

#include <mdstream/order/detail/plan_store.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle.hpp>

#include "support/harness.hpp"
#include "support/peer.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using engine = mdstream::order_engine<mdstream::shuffle::any>;
constexpr std::uint64_t batch_size = 256;

struct dataset {
  const char* name;
  std::uint64_t samples, shards;
};
constexpr dataset middle{"1e8 samples, 1e5 shards", 100'000'000, 100'000};
constexpr dataset small_shards{"1e7 samples, 1e6 shards", 10'000'000, 1'000'000};
constexpr dataset large{"1e9 samples, 1e6 shards", 1'000'000'000, 1'000'000};
constexpr dataset huge{"1e12 samples, 1e7 shards", 1'000'000'000'000, 10'000'000};

engine make_engine(const dataset& d, std::string_view shuffler, std::uint64_t canonical_nodes) {
  std::vector<mdstream::stream_shards> streams(1);
  streams[0].samples.assign(d.shards, d.samples / d.shards);
  return engine(streams, {.num_canonical_nodes = canonical_nodes, .shuffle = true},
                mdstream::shuffle::any(shuffler));
}

mdstream::epoch_order open(const engine& e, std::uint64_t sample_in_epoch = 0,
                           const mdstream::detail::plan_store* plans = nullptr) {
  const mdstream::world one;
  mdstream::progress run = e.begin_run();
  mdstream::epoch_start start = run.begin_epoch(one);
  start.sample_in_epoch = sample_in_epoch;
  return e.epoch(one, batch_size, start, plans);
}

std::int64_t read(const mdstream::epoch_order& order, std::uint64_t first, std::uint64_t last) {
  std::vector<std::int64_t> ids(1 << 16);
  std::int64_t sum = 0;
  for (std::uint64_t at = first; at < last; at += ids.size()) {
    const auto part = std::span(ids).first(std::min<std::uint64_t>(ids.size(), last - at));
    order.ids(at, part);
    sum += part.front();
  }
  return sum;
}

std::uint64_t all_ids(const engine& e) {
  const auto order = open(e);
  read(order, 0, order.positions());
  return order.positions();
}

/// Two threads, each with a reader of its own over half of the epoch.
std::uint64_t all_ids_by_two(const engine& e) {
  const auto order = open(e);
  const std::uint64_t middle_position = order.positions() / 2;
  std::jthread other([copy = mdstream::epoch_order(order), middle_position] {
    read(copy, middle_position, copy.positions());
  });
  read(order, 0, middle_position);
  return order.positions();
}

/// What two cores are worth on this machine: two threads that share nothing, an epoch each.
std::uint64_t two_epochs(const engine& e) {
  std::jthread other([&e] { all_ids(e); });
  return 2 * all_ids(e);
}

std::uint64_t first_ids(const engine& e, std::uint64_t sample_in_epoch = 0) {
  const auto order = open(e, sample_in_epoch);
  read(order, 0, batch_size);
  return 1;
}

std::string name_of(const char* what, const dataset& d, std::uint64_t canonical_nodes) {
  return std::string(what) + ", " + d.name + ", NCN " + std::to_string(canonical_nodes);
}

void py1e_cases(const dataset& d, std::uint64_t canonical_nodes, const std::string& directory) {
  const engine e = make_engine(d, "py1e", canonical_nodes);
  const std::string all = name_of("py1e all ids", d, canonical_nodes);
  bench::run_case("order", all, "ids/s",
                  bench::with({{"mdstream", [&] { return all_ids(e); }},
                               {"mdstream, two threads", [&] { return all_ids_by_two(e); }},
                               {"limit:two epochs at once", [&] { return two_epochs(e); }}},
                              bench::peers_of("order", all, directory)),
                  5);
  const std::string first = name_of("py1e first ids", d, canonical_nodes);
  bench::run_case(
      "order", first, "1/s",
      bench::with({{"mdstream", [&] { return first_ids(e); }},
                   {"mdstream, resumed in the middle",
                    [&] { return first_ids(e, d.samples / 2 / batch_size * batch_size); }}},
                  bench::peers_of("order", first, directory)),
      5);
}

/// What the caller keeps of an epoch, in memory as it would be in a file.
class kept_plans {
 public:
  [[nodiscard]] mdstream::detail::plan_store store() {
    return {.load = [this](std::string_view name) { return kept_[std::string(name)]; },
            .save =
                [this](std::string_view name, mdstream::bytes_view content) {
                  kept_[std::string(name)].assign(content.begin(), content.end());
                }};
  }

 private:
  std::map<std::string, std::vector<std::byte>> kept_;
};

void resume_cases() {
  const engine e = make_engine(large, "py1e", 8);
  constexpr std::uint64_t half = large.samples / 2 / batch_size * batch_size;
  kept_plans plans;
  const mdstream::detail::plan_store store = plans.store();
  const auto from_plan = [&](std::uint64_t at) {
    const mdstream::epoch_order order = open(e, at, &store);
    read(order, 0, batch_size);
    return std::uint64_t{1};
  };
  from_plan(0);
  bench::run_case("order", name_of("py1e first ids", large, 8), "1/s",
                  {{"mdstream", [&] { return first_ids(e); }},
                   {"mdstream, resumed in the middle", [&] { return first_ids(e, half); }},
                   {"mdstream, plan kept", [&] { return from_plan(0); }},
                   {"mdstream, plan kept, resumed", [&] { return from_plan(half); }}},
                  5);
}

void bijection_cases() {
  const engine e = make_engine(middle, "bijection", 1);
  bench::run_case("order", name_of("bijection all ids", middle, 1), "ids/s",
                  {{"mdstream", [&] { return all_ids(e); }}}, 5);
  const engine far = make_engine(huge, "bijection", 8);
  bench::run_case("order", name_of("bijection first ids", huge, 8), "1/s",
                  {{"mdstream", [&] { return first_ids(far); }},
                   {"mdstream, resumed in the middle",
                    [&] { return first_ids(far, huge.samples / 2 / batch_size * batch_size); }}},
                  5);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "build/bench-data";
  std::filesystem::create_directories(directory);
  py1e_cases(middle, 1, directory);
  py1e_cases(middle, 8, directory);
  py1e_cases(small_shards, 1, directory);
  resume_cases();
  bijection_cases();
}
