// Runs of random mixes that stop after any batch and go on, in the same world and in others, read
// the global batches of a run that never stopped. MDSTREAM_LONG_TESTS in the environment: twenty
// times as many.

#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/plain_dataset.hpp"
#include "support/seed.hpp"

namespace mds = mdstream;

namespace resume_property_test {

using scratch_directory::scratch;
using options = mds::loader<>::options;
using method = mds::batching_method;

constexpr std::uint64_t global_batch = 12, epochs = 3;
constexpr std::array<std::uint64_t, 7> sizes{3, 7, 15, 24, 38, 61, 90};

/// Datasets of these sizes in small shards.
struct datasets {
  scratch dir;
  datasets() {
    for (const std::uint64_t size : sizes) {
      std::vector<std::uint64_t> shards(size / 7, 7);
      if (size % 7 != 0) shards.push_back(size % 7);
      support::write_plain_dataset(dir / std::to_string(size), shards);
    }
  }
};

/// Ranks on nodes, and how many of them have the same samples.
struct layout {
  std::uint64_t nodes, ranks, copies;
  [[nodiscard]] mds::world world(std::uint64_t rank = 0) const {
    return {.nodes = nodes, .ranks_per_node = ranks, .rank = rank};
  }
  [[nodiscard]] mds::world distinct() const { return world().replicate(copies); }
};
constexpr layout layouts[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {3, 1, 1}, {1, 3, 1}, {4, 1, 1},
                              {2, 2, 1}, {1, 4, 1}, {2, 3, 1}, {3, 2, 1}, {6, 1, 1}, {1, 6, 1},
                              {2, 2, 2}, {1, 4, 2}, {3, 2, 2}, {4, 3, 3}, {2, 4, 4}};

class draws {
 public:
  explicit draws(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  layout any_layout() { return layouts[below(std::size(layouts))]; }

  mds::stream_weight weight(bool relative) {
    if (relative) return {.proportion = one_of({0.2, 0.5, 1.0, 1.7})};
    switch (below(3)) {
      case 0: return {.repeat = one_of({0.5, 1.0, 2.3})};
      case 1: return {.choose = 1 + below(70)};
      default: return {};
    }
  }

  options mix(const datasets& data) {
    options out;
    const std::size_t streams = 1 + below(3), first = below(sizes.size());
    const bool relative = below(2) == 0;
    const method batching =
        one_of({method::random, method::random, method::stratified, method::stratified,
                method::per_stream, method::per_stream, method::device_per_stream, method::once});
    const bool has_phases = batching != method::once && one_in(3);
    for (std::size_t k = 0; k < streams; ++k) {
      out.streams.push_back(
          {.local = data.dir / std::to_string(sizes[(first + 2 * k) % sizes.size()])});
      if (has_phases || batching == method::once) continue;
      const mds::stream_weight drawn = weight(relative);
      out.streams.back().proportion = drawn.proportion;
      out.streams.back().repeat = drawn.repeat;
      out.streams.back().choose = drawn.choose;
    }
    if (relative && batching != method::once && !has_phases && one_in(2))
      out.epoch_size = mds::sample_count(30 + below(90));
    for (std::uint64_t phase = 0, begin = 0; has_phases && phase < 2; ++phase) {
      out.phases.push_back({.first_batch = begin});
      for (std::size_t k = 0; k < streams; ++k) out.phases.back().weights.push_back(weight(true));
      if (one_in(2)) out.phases.back().epoch_size = 30 + below(90);
      begin = 1 + below(12);
    }
    out.batching = batching;
    out.global_batch_size = global_batch;
    out.seed = below(1000);
    out.shuffle = !one_in(6);
    out.shuffle_algo =
        one_of<std::string>({"py1e", "py1e", "py1br", "py1s", "py2s", "naive", "bijection"});
    if (!one_in(3)) out.shuffle_block_size = 8 + below(60);
    if (!one_in(4)) out.num_canonical_nodes = one_of<std::uint64_t>({1, 2, 4, 6, 12, 64});
    out.drop_last = batching != method::once && one_in(4);
    out.sampling = one_of({mds::sampling_method::balanced, mds::sampling_method::fixed});
    out.sampling_granularity = one_of<std::uint64_t>({1, 3});
    out.partition = one_of({mds::partition_algo::relaxed, mds::partition_algo::orig});
    out.threads = 1;
    out.warn = [](const std::string&) {};
    return out;
  }

 private:
  std::mt19937_64 random_;
};

/// By epoch and number, the ids that all ranks have together.
using batches = std::map<std::pair<std::uint64_t, std::uint64_t>, std::multiset<std::int64_t>>;

/// Whether ranks have parts of one size in every batch. Otherwise some get no batch of the last
/// global one, as in Python, and states of its end differ.
bool has_equal_ranks(const options& how, const layout& where, std::uint64_t canonical) {
  const std::uint64_t nodes = where.distinct().nodes;
  if (how.batching == method::device_per_stream) return false;
  return how.batching != method::random ||
         std::max(nodes, canonical) % std::min(nodes, canonical) == 0;
}

/// Every distinct rank reads on from `state` until epoch `epochs` comes next, or, of the first
/// rank, for so many batches.
batches read(options how, const layout& where, std::string& state, std::uint64_t most = 1'000'000,
             mds::accept accepted = mds::accept::nothing) {
  batches out;
  const std::string from = state;
  how.replication = where.copies;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> last;
  for (std::uint64_t rank = 0; rank < where.nodes * where.ranks; rank += where.copies) {
    how.world = where.world(rank);
    mds::loader<> loader(how);
    if (!from.empty()) loader.load_state(from, accepted);
    std::uint64_t left = most;
    while (left != 0 && loader.next_epoch() < (rank == 0 || !last ? epochs : last->first + 1))
      for (const auto& batch : loader.epoch()) {
        const std::pair number(batch.epoch(), batch.number());
        for (const std::int64_t id : batch.ids())
          if (id >= 0) out[number].insert(id);
        if (rank == 0) last = number;
        if (--left == 0 || (rank != 0 && number == last)) break;
      }
    if (rank == 0)
      state = loader.state();
    else if (has_equal_ranks(how, where, mds::parse_state(state).at.num_canonical_nodes))
      REQUIRE(loader.state() == state);
  }
  return out;
}

/// What a run reads, or nothing where it is refused.
std::optional<batches> try_read(const options& how, const layout& where, std::string& state,
                                std::uint64_t most = 1'000'000,
                                mds::accept accepted = mds::accept::nothing) {
  try {
    return read(how, where, state, most, accepted);
  } catch (const mds::error& e) {
    INFO(e.what());
    CHECK(e.code() == mds::errc::invalid_argument);
    return std::nullopt;
  }
}

/// One run in its first world, with canonical nodes, and what every other has to read.
class uninterrupted {
 public:
  uninterrupted(options how, const layout& first) : how_(std::move(how)), first_(first) {
    std::string state;
    const auto all = try_read(how_, first_, state);
    if (!all) return;
    whole_ = *all;
    canonical_ = mds::parse_state(state).at.num_canonical_nodes;
    how_.num_canonical_nodes = canonical_;
    if (!repeats()) return;
    samples_ = mds::loader<>(how_).epoch_size();
    full_ = places_of_all() / global_batch;
    // One rank repeats nothing but what canonical nodes do.
    options alone = how_;
    alone.drop_last = false;
    std::string ended;
    alone_ = read(alone, {1, 1, 1}, ended);
    check(whole_, first_);
  }

  [[nodiscard]] bool is_refused() const { return whole_.empty(); }
  [[nodiscard]] const options& how() const { return how_; }
  [[nodiscard]] std::uint64_t size() const { return whole_.size(); }

  /// Whether the run can not go on there: the nodes do not suit the canonical ones.
  [[nodiscard]] bool refuses(const layout& other) const {
    const mds::world world = other.distinct();
    if (how_.batching == method::device_per_stream)
      return !(world == first_.distinct());  // each world has an order of its own
    if (how_.batching != method::random) return false;
    if (std::max(world.nodes, canonical_) % std::min(world.nodes, canonical_) == 0) {
      std::string state;
      return !try_read(how_, other, state, 1);
    }
    const std::uint64_t ranks = first_.distinct().nodes * world.ranks_per_node;
    if (how_.partition == mds::partition_algo::orig || global_batch % ranks != 0) return true;
    return how_.drop_last && how_.phases.empty() &&
           (places_of_all() + ranks - 1) / ranks * ranks < global_batch;
  }

  /// Holds what a run has read that stopped and went on against the whole.
  void check(const batches& got, const layout& last) const {
    INFO("then on " << last.nodes << " x " << last.ranks << ", copies " << last.copies);
    if (!repeats()) {
      REQUIRE(got == whole_);
      return;
    }
    for (const auto& [where, ids] : alone_) {
      INFO("epoch " << where.first << ", batch " << where.second);
      const bool is_full = where.second < full_;
      // With drop_last, the last batch is one only where ranks fill it.
      if (how_.drop_last && !is_full && !got.contains(where)) continue;
      REQUIRE(got.contains(where));
      const auto& found = got.at(where);
      if (is_full) {
        REQUIRE(found == ids);
      } else {
        REQUIRE(std::ranges::includes(found, ids));
        REQUIRE(found.size() <= global_batch);
        if (how_.drop_last) REQUIRE(found.size() == global_batch);
      }
    }
    for (const auto& [where, ids] : got) REQUIRE(alone_.contains(where));
  }

 private:
  /// Whether ranks are made equal by repeated samples, which depend on the world, in the batches of
  /// an epoch. Otherwise these are the same in all worlds.
  [[nodiscard]] bool repeats() const {
    return how_.batching == method::random && how_.phases.empty();
  }
  [[nodiscard]] std::uint64_t places_of_all() const {
    return (samples_ + canonical_ - 1) / canonical_ * canonical_;
  }

  options how_;
  layout first_;
  std::uint64_t canonical_ = 1, samples_ = 0, full_ = 0;
  batches whole_, alone_;
};

void describe(const options& how, std::ostream& to) {
  for (const auto& each : how.streams)
    to << each.local.substr(each.local.rfind('/') + 1) << " (" << each.proportion.value_or(0)
       << ", " << each.repeat.value_or(0) << ", " << each.choose.value_or(0) << ") ";
  for (const auto& phase : how.phases) {
    to << "phase from " << phase.first_batch << " of " << phase.epoch_size.value_or(0) << ':';
    for (const auto& weight : phase.weights) to << ' ' << *weight.proportion;
    to << ' ';
  }
  to << to_string(how.batching) << ' ' << to_string(how.partition) << ' ' << to_string(how.sampling)
     << ", shuffle " << how.shuffle << ' ' << how.shuffle_algo << " seed " << how.seed << " block "
     << how.shuffle_block_size.value_or(0) << " canonical " << how.num_canonical_nodes.value_or(0)
     << " granularity " << how.sampling_granularity << " drop_last " << how.drop_last;
}

std::uint64_t times() { return std::getenv("MDSTREAM_LONG_TESTS") != nullptr ? 20 : 1; }

}  // namespace resume_property_test

TEST_CASE("runs of any mix that stop anywhere go on with the batches of one that never stopped") {
  using namespace resume_property_test;
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  draws random(seed);
  const datasets data;
  std::uint64_t went_on = 0;
  for (std::uint64_t i = 0; i < 60 * times(); ++i) {
    options drawn = random.mix(data);
    const layout first = random.any_layout();
    std::ostringstream about;
    describe(drawn, about);
    CAPTURE(i, about.str(), first.nodes, first.ranks, first.copies);
    const uninterrupted run(drawn, first);
    if (run.is_refused()) continue;
    std::string state;
    options how = run.how();
    batches got = read(how, first, state, random.below(run.size() + 1));
    for (int stops = 0; stops < 3; ++stops) {
      const layout next = random.one_in(3) ? first : random.any_layout();
      CAPTURE(stops, next.nodes, next.ranks, next.copies, state);
      how.num_workers = 1 + random.below(3);
      const bool refuses = run.refuses(next);
      if (refuses && how.batching == method::device_per_stream) break;
      std::string next_state = state;
      const bool ends = random.one_in(3) || stops == 2;
      const auto more =
          try_read(how, next, next_state, ends ? 1'000'000 : random.below(run.size() + 1));
      REQUIRE(more.has_value() == !refuses);
      if (!more) continue;
      ++went_on;
      state = next_state;
      got.insert(more->begin(), more->end());
      if (!ends) continue;
      run.check(got, next);
      break;
    }
  }
  CHECK(went_on > 10);
}

TEST_CASE("streams that begin anew with another batch size or method are the same in every world") {
  using namespace resume_property_test;
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  draws random(seed);
  const datasets data;
  std::uint64_t compared = 0;
  for (std::uint64_t i = 0; i < 40 * times(); ++i) {
    options how = random.mix(data);
    how.phases.clear();
    how.batching = random.one_of({method::stratified, method::per_stream});
    const options before = how;
    const bool same_size = random.one_in(2);
    if (!same_size)
      how.global_batch_size = 24;
    else
      how.batching = how.batching == method::stratified ? method::per_stream : method::stratified;
    std::ostringstream about;
    describe(how, about);
    const layout first = random.any_layout();
    CAPTURE(i, about.str(), same_size, first.nodes, first.ranks, first.copies);
    std::string state;
    if (!try_read(before, first, state, random.below(6))) continue;
    const auto accepted = same_size ? mds::accept::mix : mds::accept::global_batch_size;
    how.num_canonical_nodes = mds::parse_state(state).at.num_canonical_nodes;
    std::string ended = state;
    const auto alone = try_read(how, {1, 1, 1}, ended, 1'000'000, accepted);
    for (int worlds = 0; worlds < 2; ++worlds) {
      const layout next = random.any_layout(), then = random.any_layout();
      CAPTURE(next.nodes, next.ranks, next.copies, then.nodes, then.ranks, then.copies);
      std::string next_state = state;
      auto got = try_read(how, next, next_state, random.below(6), accepted);
      REQUIRE(got.has_value() == alone.has_value());
      if (!got) continue;
      got->merge(read(how, then, next_state));
      REQUIRE(*got == *alone);
      ++compared;
    }
  }
  CHECK(compared > 5);
}
