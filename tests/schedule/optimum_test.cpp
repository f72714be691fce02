// How many downloads the fetch window and the eviction rule need together, beside the fewest
// that any policy can do with (Belady's rule with the whole future known, fetching nothing ahead).

#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/schedule/detail/fetch_window.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace optimum_test {

namespace mds = mdstream;

using batch = std::vector<std::uint32_t>;  // the distinct shards of one

/// An epoch as a block shuffle makes it: shards in random order, each one's samples spread over a
/// window around its place, cut into batches.
std::vector<batch> epoch(std::uint32_t shards, unsigned samples, double window, std::size_t size,
                         std::mt19937& random) {
  std::vector<std::uint32_t> order(shards);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::pair<double, std::uint32_t>> places;
  std::uniform_real_distribution<double> shift(-window / 2, window / 2);
  for (std::uint32_t i = 0; i < shards; ++i) {
    for (unsigned s = 0; s < samples; ++s) places.emplace_back(i + shift(random), order[i]);
  }
  std::sort(places.begin(), places.end());
  std::vector<batch> batches;
  for (std::size_t first = 0; first < places.size(); first += size) {
    std::set<std::uint32_t> distinct;
    for (std::size_t i = first; i < std::min(first + size, places.size()); ++i) {
      distinct.insert(places[i].second);
    }
    batches.emplace_back(distinct.begin(), distinct.end());
  }
  return batches;
}

/// The batches in which each shard is needed.
class future {
 public:
  future(const std::vector<batch>& batches, std::uint32_t shards) : uses_(shards) {
    for (std::size_t t = 0; t < batches.size(); ++t) {
      for (const std::uint32_t shard : batches[t]) uses_[shard].push_back(t);
    }
  }
  /// The next use at or after batch `t`, as far as `horizon` batches ahead.
  [[nodiscard]] std::uint64_t next(std::uint32_t shard, std::size_t t, std::size_t horizon) const {
    const auto at = std::lower_bound(uses_[shard].begin(), uses_[shard].end(), t);
    return at == uses_[shard].end() || *at - t >= horizon ? mds::detail::never : *at;
  }

 private:
  std::vector<std::vector<std::uint64_t>> uses_;
};

struct trace {
  std::vector<batch> batches;
  std::uint32_t shards;
  std::size_t room;  // shards that fit
};

std::uint32_t victim_for(const std::set<std::uint32_t>& resident, const batch& pinned,
                         const future& known, std::size_t t, std::size_t horizon,
                         mds::detail::urgency why, std::uint64_t wanted) {
  const std::size_t from =
      why == mds::detail::urgency::ahead && wanted != mds::detail::never ? wanted : t;
  std::vector<mds::detail::eviction_candidate> candidates;
  for (const std::uint32_t shard : resident) {
    // Ahead, the batch at hand is no exception: its shards are needed before.
    if (why == mds::detail::urgency::ahead ||
        !std::binary_search(pinned.begin(), pinned.end(), shard)) {
      candidates.push_back({shard, known.next(shard, from, horizon),
                            from > t && known.next(shard, t, horizon) < from});
    }
  }
  const auto chosen = mds::detail::eviction_queue(std::move(candidates), why, wanted).next();
  return chosen ? chosen->shard : static_cast<std::uint32_t>(-1);
}

constexpr auto nobody = static_cast<std::uint32_t>(-1);
constexpr std::size_t everything = static_cast<std::size_t>(-1);

std::size_t fewest_downloads(const trace& of) {
  const future known(of.batches, of.shards);
  std::set<std::uint32_t> resident;
  std::size_t downloads = 0;
  for (std::size_t t = 0; t < of.batches.size(); ++t) {
    for (const std::uint32_t shard : of.batches[t]) {
      if (resident.count(shard) > 0) continue;
      if (resident.size() == of.room) {
        resident.erase(victim_for(resident, of.batches[t], known, t, everything,
                                  mds::detail::urgency::now, t));
      }
      resident.insert(shard);
      ++downloads;
    }
  }
  return downloads;
}

struct outcome {
  std::size_t downloads = 0;
  std::size_t late = 0;  // those that a batch had to wait for
};

/// The machines as the cache drives them: `ahead` batches are wanted, `horizon` batches known. Up
/// to eight shards are asked for at a time; where one finds no room, those behind it are refused
/// with it, and any of them may be the first to hear of it.
outcome run_machines(const trace& of, std::size_t ahead, std::size_t horizon,
                     std::mt19937& random) {
  const future known(of.batches, of.shards);
  mds::detail::fetch_window window(of.shards, 8);
  std::set<std::uint32_t> resident;
  outcome result;
  std::size_t wanted = 0;
  const auto fetch = [&](std::uint32_t shard, std::size_t t, mds::detail::urgency why) {
    if (resident.size() == of.room) {
      const std::uint32_t victim = victim_for(resident, of.batches[t], known, t, horizon, why,
                                              known.next(shard, t, horizon));
      if (victim == nobody) return false;
      resident.erase(victim);
    }
    resident.insert(shard);
    ++result.downloads;
    return true;
  };
  for (std::size_t t = 0; t < of.batches.size(); ++t) {
    for (; wanted < std::min(t + ahead, of.batches.size()); ++wanted) {
      for (const std::uint32_t shard : of.batches[wanted]) {
        window.want(shard);
        if (resident.count(shard) > 0) window.found(shard);
      }
    }
    for (const std::uint32_t shard : of.batches[t]) {
      if (resident.count(shard) > 0) continue;
      REQUIRE(fetch(shard, t, mds::detail::urgency::now));
      window.found(shard);
      ++result.late;
    }
    while (true) {
      std::vector<std::uint32_t> asked, refused;
      while (const auto shard = window.next()) asked.push_back(*shard);
      if (asked.empty()) break;
      for (const std::uint32_t shard : asked) {
        if (refused.empty() && fetch(shard, t, mds::detail::urgency::ahead))
          window.fetched(shard);
        else
          refused.push_back(shard);
      }
      std::shuffle(refused.begin(), refused.end(), random);
      for (const std::uint32_t shard : refused) window.no_room(shard);
    }
    for (const std::uint32_t shard : of.batches[t]) (void)window.leave(shard);
    window.moved();
  }
  return result;
}

TEST_CASE("downloads stay within five percent of the fewest possible", "[schedule]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const double part = GENERATE(0.1, 0.3, 0.6);
  const double window = GENERATE(8.0, 40.0, 150.0);
  const std::size_t ahead = GENERATE(4, 40);
  constexpr std::uint32_t shards = 150;
  trace of{{}, shards, static_cast<std::size_t>(part * shards)};
  for (int e = 0; e < 3; ++e) {  // with the next epoch in view at the end of each
    for (batch& each : epoch(shards, 20, window, 8, random)) of.batches.push_back(std::move(each));
  }
  const std::size_t fewest = fewest_downloads(of);
  const outcome known = run_machines(of, ahead, everything, random);
  INFO("room for " << of.room << " of 150 shards, window " << window << ": fewest " << fewest
                   << ", machines " << known.downloads << ", late " << known.late);
  CHECK(known.downloads >= fewest);
  CHECK(static_cast<double>(known.downloads) <= 1.05 * static_cast<double>(fewest));
}

TEST_CASE("what is in view while it is wanted ahead is not waited for", "[schedule]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  trace of{epoch(100, 20, 10.0, 8, random), 100, 40};
  const outcome seen = run_machines(of, 8, everything, random);
  CHECK(seen.downloads == 100);  // the window fits: nothing is fetched twice
  CHECK(seen.late <= of.batches.front().size());
}

}  // namespace optimum_test
