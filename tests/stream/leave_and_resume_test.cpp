#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

// A run that is left again and again, each time to go on in another world, with other threads,
// another cache limit and another distance ahead, has the samples of a run that never was: the
// digest of every full global batch is the same, whatever the batches are. MDSTREAM_LONG_TESTS in
// the environment: fifty runs of each kind instead of two; MDSTREAM_TEST_SEED: those of this seed.

namespace mds = mdstream;
using namespace mds::literals;

namespace leave_and_resume_test {

using scratch_directory::scratch;

using rows =
    mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t>>,
                              mds::column<"id", mds::int_>, mds::column<"name", mds::str>>>;
using blocks = mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 5>>,
                                         mds::column<"id", mds::int_>>>;
/// Whether all sequences have one length.
template <class Policies>
inline constexpr bool has_blocks = std::same_as<typename Policies::schema, blocks::schema>;
using dense_blocks = blocks::with<mds::collate::dense>;
using ragged_rows = rows;
using padded_rows = rows::with<mds::collate::padded<mds::collate::padding{.multiple = 8}>>;
using packed_rows = rows::with<mds::collate::packed<mds::collate::packing{.row = 32, .group = 2}>>;
using plain_samples = rows::with<mds::collate::none>;
struct noisy {
  using output = rows::schema;
  void operator()(const mds::sample_view<rows::schema>& in, mds::sample_writer<output>& out,
                  mds::sample_generator& random) const {
    const auto tokens = in.get<"tokens">();
    std::vector<std::uint16_t> changed(tokens.size());
    for (std::size_t i = 0; i < changed.size(); ++i)
      changed[i] = static_cast<std::uint16_t>(tokens[i] + random.below(100));
    out.write(changed, in.get<"id">(), in.get<"name">());
  }
};
using transformed_rows = padded_rows::with<noisy>;
/// None to two rows of each.
struct split {
  using output = rows::schema;
  void operator()(const mds::sample_view<rows::schema>& in, mds::results_writer<output>& out,
                  mds::sample_generator& random) const {
    const std::vector<std::uint16_t> drawn(1 + random.below(9), 7);
    if (drawn.size() > 3) out.write(in);
    if (drawn.size() > 6) out.write(drawn, in.get<"id">(), in.get<"name">());
  }
};
using split_rows = padded_rows::with<split>;
using split_packed_rows = packed_rows::with<split>;

std::uint16_t token(std::int64_t id, std::size_t i) {
  return static_cast<std::uint16_t>(id * 31 + static_cast<std::int64_t>(i) * 7);
}

std::string name_of(std::int64_t id) { return "sample " + std::to_string(id); }

template <class Policies>
auto tokens_of(std::int64_t id) {
  using kept = std::conditional_t<has_blocks<Policies>, std::array<std::uint16_t, 5>,
                                  std::vector<std::uint16_t>>;
  kept tokens{};
  if constexpr (!has_blocks<Policies>) tokens.resize(1 + static_cast<std::size_t>(id * 5 % 17));
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = token(id, i);
  return tokens;
}

struct two_streams {
  scratch dir;
  explicit two_streams(bool fixed) {
    if (fixed) {
      write<blocks>("a", 0, 200);
      write<blocks>("b", 200, 130);
    } else {
      write<rows>("a", 0, 200);
      write<rows>("b", 200, 130);
    }
  }
  template <class Policies>
  void write(const std::string& name, std::int64_t first, std::int64_t count) {
    mds::writer<Policies> out({.out = dir / name, .size_limit = 700});
    for (std::int64_t id = first; id < first + count; ++id) {
      const auto tokens = tokens_of<Policies>(id);
      if constexpr (has_blocks<Policies>)
        out.write(tokens, id);
      else
        out.write(tokens, id, name_of(id));
    }
    out.finish();
  }
};

/// A number for one sample of a batch and all of its bytes.
template <class Tokens>
std::uint64_t digest(std::int64_t id, std::string_view name, const Tokens& tokens) {
  mds::fnv1a hash;
  hash.add(static_cast<std::uint64_t>(id)).add(name);
  for (const auto each : tokens) hash.add(std::uint64_t{each});
  return hash.value();
}

/// The sum over a batch's samples, which does not depend on who has which.
template <class Batch>
std::uint64_t digest_of(const Batch& batch) {
  std::uint64_t sum = 0;
  if constexpr (std::same_as<typename Batch::collator, mds::collate::none>) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto sample = batch.sample(i);
      sum += digest(sample.template get<"id">(), sample.template get<"name">(),
                    sample.template get<"tokens">());
    }
  } else if constexpr (std::same_as<typename Batch::collator, mds::collate::dense>) {
    for (std::size_t i = 0; i < batch.size(); ++i)
      sum += digest(batch.template get<"id">()[i], {}, batch.template get<"tokens">()[i]);
  } else {
    std::vector<std::vector<std::uint16_t>> tokens(batch.size());
    const auto column = batch.template get<"tokens">();
    if constexpr (mds::collate::packs_groups<typename Batch::collator>) {
      const auto packing = batch.packing();
      for (const mds::packed_run& run : packing) {
        if (run.is_padding()) continue;
        const auto piece = column.values().subspan(run.begin, run.size);
        auto& all = tokens[static_cast<std::size_t>(run.sample)];
        all.insert(all.end(), piece.begin(), piece.end());
      }
    } else {
      for (std::size_t i = 0; i < batch.size(); ++i)
        tokens[i].assign(column[i].begin(), column[i].end());
    }
    for (std::size_t i = 0; i < batch.size(); ++i)
      sum += digest(batch.template get<"id">()[i], batch.template get<"name">()[i], tokens[i]);
  }
  return sum;
}

/// What the sum has to be, where nothing transforms the samples.
template <class Policies>
std::uint64_t digest_of(std::span<const std::int64_t> ids) {
  std::uint64_t sum = 0;
  for (const std::int64_t id : ids)
    sum += digest(id, has_blocks<Policies> ? std::string() : name_of(id), tokens_of<Policies>(id));
  return sum;
}

using digests = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>;
constexpr std::uint64_t epochs = 2, full_batches = 330 / 24;

/// What is drawn anew at each start.
struct conditions {
  std::uint64_t nodes = 1, ranks = 1;
  unsigned threads = 2;
  mds::byte_size limit{}, prefetch_limit{};
};

template <class Policies>
typename mds::loader<Policies>::options options_of(const two_streams& data, const conditions& now,
                                                   std::uint64_t rank) {
  return {.streams = {{.remote = data.dir / "a"}, {.remote = data.dir / "b"}},
          .local = data.dir / "cache",
          .cache_limit = now.limit,
          .global_batch_size = 24,
          .shuffle_block_size = 90,
          .num_canonical_nodes = 2,
          .predownload = 40,
          .world = mds::world{.nodes = now.nodes, .ranks_per_node = now.ranks, .rank = rank},
          .prefetch_limit = now.prefetch_limit,
          .threads = now.threads};
}

template <class Policies, class Batches>
void add(Batches&& epoch, std::size_t most, digests& out) {
  if (most == 0) return;
  for (const auto& batch : epoch) {
    const std::uint64_t sum = digest_of(batch);
    if constexpr (std::same_as<typename Policies::transform, mds::transform::none>)
      REQUIRE(sum == digest_of<Policies>(batch.ids()));
    out[{batch.epoch(), batch.number()}] += sum;
    if (--most == 0) break;
  }
}

/// Every rank goes on from `state`, one after the other, for so many batches of one epoch.
template <class Policies>
void go_on(const two_streams& data, const conditions& now, std::size_t batches, std::string& state,
           digests& out) {
  const std::string from = state;
  for (std::uint64_t rank = 0; rank < now.nodes * now.ranks; ++rank) {
    mds::loader<Policies> loader(options_of<Policies>(data, now, rank));
    if (!from.empty()) {
      loader.load_state(from);
      // What is left behind the last full batch need not be the same number on all ranks.
      digests rest;
      const mds::resume_point at = mds::parse_state(from).at;
      if (at.sample_in_epoch >= full_batches * 24 && std::cmp_equal(loader.next_epoch(), at.epoch))
        add<Policies>(loader.epoch(), 1000, rest);
    }
    add<Policies>(loader.epoch(), batches, out);
    if (rank == 0) state = loader.state();
  }
}

template <class Policies>
void leave_and_resume(const two_streams& data, std::mt19937& random) {
  digests expected;
  mds::loader<Policies> whole(options_of<Policies>(data, {}, 0));
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch)
    add<Policies>(whole.epoch(), 1000, expected);
  const int turns = std::getenv("MDSTREAM_LONG_TESTS") != nullptr ? 50 : 2;
  for (int turn = 0; turn < turns; ++turn) {
    digests got;
    std::string state;
    conditions now;
    while (state.empty() || mds::parse_state(state).at.epoch < static_cast<std::int64_t>(epochs)) {
      // Behind the last full batch, where ranks are filled up with repeats, an epoch can only go on
      // in the world that it stopped in.
      if (state.empty() || mds::parse_state(state).at.sample_in_epoch < full_batches * 24)
        now = {.nodes = 1 + random() % 2, .ranks = 1 + random() % 3};
      now.threads = 1 + static_cast<unsigned>(random() % 3);
      now.limit = mds::byte_size(random() % 2 == 0 ? 0 : 40'000);
      now.prefetch_limit = mds::byte_size(random() % 3 * 3000);
      INFO(now.nodes << " nodes of " << now.ranks << ", state " << state);
      go_on<Policies>(data, now, 1 + random() % 8, state, got);
    }
    for (const auto& [where, sum] : expected) {
      if (where.second >= full_batches) continue;
      INFO("epoch " << where.first << ", batch " << where.second);
      REQUIRE(got.contains(where));
      CHECK(got.at(where) == sum);
    }
  }
}

}  // namespace leave_and_resume_test

TEST_CASE("runs that were left anywhere go on with the same bytes in every global batch") {
  using namespace leave_and_resume_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  SECTION("dense") { leave_and_resume<dense_blocks>(two_streams(true), random); }
  const two_streams data(false);
  SECTION("ragged") { leave_and_resume<ragged_rows>(data, random); }
  SECTION("padded") { leave_and_resume<padded_rows>(data, random); }
  SECTION("packed") { leave_and_resume<packed_rows>(data, random); }
  SECTION("samples as they are") { leave_and_resume<plain_samples>(data, random); }
  SECTION("transformed") { leave_and_resume<transformed_rows>(data, random); }
  SECTION("split") { leave_and_resume<split_rows>(data, random); }
  SECTION("split and packed") { leave_and_resume<split_packed_rows>(data, random); }
}
