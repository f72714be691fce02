#include <mdstream/batch.hpp>

#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

// Batches of each kind through the real loader.

namespace mds = mdstream;

namespace batches_test {

using scratch_directory::scratch;

using rows =
    mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t>>,
                              mds::column<"id", mds::int_>, mds::column<"name", mds::str>>>;
using padded_rows =
    rows::with<mds::collate::padded<mds::collate::padding{.multiple = 4, .pad_value = 7}>>;
using packed_rows = rows::with<mds::collate::packed<mds::collate::packing{.row = 16, .group = 4}>>;
using whole_samples = rows::with<mds::collate::none>;

std::size_t length_of(std::int64_t id) { return static_cast<std::size_t>(1 + id * 7 % 12); }

/// 240 samples; sample i has length_of(i) tokens, each of them i.
struct sequences {
  scratch dir;
  sequences() {
    mds::writer<rows> out({.out = dir / "data", .size_limit = 600});
    for (std::int64_t i = 0; i < 240; ++i)
      out.write(std::vector<std::uint16_t>(length_of(i), static_cast<std::uint16_t>(i)), i,
                "sample " + std::to_string(i));
    out.finish();
  }
  template <class Policies>
  [[nodiscard]] mds::loader<Policies> open(mds::world world = {},
                                           std::uint64_t global_batch_size = 24) const {
    return mds::loader<Policies>({.local = dir / "data",
                                  .global_batch_size = global_batch_size,
                                  .shuffle_block_size = 60,
                                  .num_canonical_nodes = 1,
                                  .world = world});
  }
};

/// The packs of an epoch by global batch, of all ranks of a world in their order: the rows' tokens
/// and the ids of the samples in them.
using packs = std::map<std::uint64_t, std::vector<std::vector<std::int64_t>>>;
packs packs_of(const sequences& data, std::uint64_t nodes, std::uint64_t ranks) {
  packs out;
  for (std::uint64_t rank = 0; rank < nodes * ranks; ++rank) {
    auto loader = data.open<packed_rows>({.nodes = nodes, .ranks_per_node = ranks, .rank = rank});
    for (const auto& batch : loader.epoch()) {
      const auto packing = batch.packing();
      const auto tokens = batch.get<"tokens">();
      CHECK(packing.shape() == tokens.shape());
      const std::size_t width = tokens[0].size();
      for (std::size_t row = 0; row < tokens.size(); ++row) {
        std::vector<std::int64_t> line;
        for (std::size_t i = 0; i < width; ++i) {
          const auto segment = packing.segment_ids()[row * width + i];
          const std::int64_t id = segment < 0 ? -1 : batch.ids()[static_cast<std::size_t>(segment)];
          CHECK(tokens[row][i] == (id < 0 ? 0 : static_cast<std::uint16_t>(id)));
          line.push_back(id);
        }
        out[batch.number()].push_back(std::move(line));
      }
    }
  }
  return out;
}

}  // namespace batches_test

TEST_CASE("padded batches have rows of one length, a mask and lengths") {
  using namespace batches_test;
  const sequences data;
  auto loader = data.open<padded_rows>();
  std::size_t seen = 0;
  for (const auto& batch : loader.epoch()) {
    const auto tokens = batch.get<"tokens">();
    const std::size_t width = tokens.shape()[1];
    CHECK(width % 4 == 0);
    for (std::size_t i = 0; i < batch.size(); ++i, ++seen) {
      const std::int64_t id = batch.ids()[i];
      REQUIRE(tokens[i].size() == length_of(id));
      CHECK(batch.get<"id">()[i] == id);
      CHECK(batch.get<"name">()[i] == "sample " + std::to_string(id));
      for (std::size_t k = 0; k < width; ++k) {
        const bool own = k < length_of(id);
        CHECK(tokens.row(i)[k] == (own ? static_cast<std::uint16_t>(id) : 7));
        CHECK(tokens.mask()[i * width + k] == (own ? 1 : 0));
      }
    }
    CHECK(batch.padded<std::uint16_t>("tokens").data() == tokens.data());
  }
  CHECK(seen == 240);
}

TEST_CASE("the packs are the same in every world whose ranks the group size divides") {
  using namespace batches_test;
  const sequences data;
  const packs alone = packs_of(data, 1, 1);
  CHECK(alone.size() == 10);
  std::map<std::int64_t, std::size_t> elements;
  for (const auto& [number, lines] : alone)
    for (const auto& line : lines)
      for (const std::int64_t id : line) ++elements[id];
  elements.erase(-1);
  for (const auto& [id, count] : elements) CHECK(count == length_of(id));
  CHECK(elements.size() == 240);
  CHECK(packs_of(data, 1, 2) == alone);
  CHECK(packs_of(data, 2, 1) == alone);
  CHECK(packs_of(data, 3, 1) == alone);
  CHECK(packs_of(data, 2, 3) == alone);
}

TEST_CASE("a packed run goes on in another world with the same packs") {
  using namespace batches_test;
  const sequences data;
  const packs alone = packs_of(data, 1, 1);
  std::string state;
  {
    auto loader = data.open<packed_rows>();
    for (const auto& batch : loader.epoch()) {
      state = loader.state();
      if (batch.number() == 3) break;
    }
  }
  packs resumed;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    auto loader = data.open<packed_rows>({.nodes = 1, .ranks_per_node = 3, .rank = rank});
    loader.load_state(state);
    for (const auto& batch : loader.epoch()) {
      const auto packing = batch.packing();
      const std::size_t width = packing.shape()[1];
      for (std::size_t row = 0; row < packing.shape()[0]; ++row) {
        std::vector<std::int64_t> line;
        for (const auto d : packing.segment_ids().subspan(row * width, width))
          line.push_back(d < 0 ? -1 : batch.ids()[static_cast<std::size_t>(d)]);
        resumed[batch.number()].push_back(std::move(line));
      }
    }
  }
  CHECK(resumed.begin()->first == 4);
  for (const auto& [number, lines] : resumed) CHECK(lines == alone.at(number));
  CHECK(resumed.size() == 6);
}

TEST_CASE("without a collator a batch has its samples, by name and by schema") {
  using namespace batches_test;
  const sequences data;
  auto loader = data.open<whole_samples>();
  const mds::dataset<> samples({.local = data.dir / "data"});
  std::size_t seen = 0;
  for (const auto& batch : loader.epoch()) {
    for (std::size_t i = 0; i < batch.size(); ++i, ++seen) {
      const auto sample = batch.sample(i);
      const auto id = batch.ids()[i];
      CHECK(sample.get<"id">() == id);
      CHECK(sample.get<std::string_view>("name") == "sample " + std::to_string(id));
      CHECK(std::ranges::equal(sample.bytes(), samples[static_cast<std::uint64_t>(id)].bytes()));
    }
    support::expect_error([&] { (void)batch.sample(batch.size()); }, mds::errc::out_of_range,
                          {"of a batch of 24"});
    support::expect_error([&] { (void)batch.scalar<std::int64_t>("id"); },
                          mds::errc::invalid_argument, {"samples, not columns"});
  }
  CHECK(seen == 240);
}

TEST_CASE("errors name a sequence longer than its row, and the kinds of columns") {
  using namespace batches_test;
  using short_rows = rows::with<mds::collate::packed<mds::collate::packing{.row = 11}>>;
  const sequences data;
  auto loader = data.open<short_rows>();
  support::expect_error(
      [&] {
        for (const auto& batch : loader.epoch()) CHECK(batch.size() == 24);
      },
      mds::errc::out_of_range, {"a sequence of 12 elements is longer than a row of 11", "sample"});

  auto packed = data.open<packed_rows>();
  for (const auto& batch : packed.epoch()) {
    support::expect_error([&] { (void)batch.ragged<std::uint16_t>("tokens"); },
                          mds::errc::invalid_argument, {"packed", "tokens"});
    support::expect_error([&] { (void)batch.padded<std::int64_t>("id"); },
                          mds::errc::invalid_argument, {"numbers", "scalar", "id"});
    support::expect_error([&] { (void)batch.dense<std::int64_t>("id"); },
                          mds::errc::invalid_argument, {"numbers", "scalar", "id"});
    CHECK(batch.packed<std::uint16_t>("tokens").shape() == batch.packing().shape());
    break;
  }
  auto plain = data.open<rows>();
  for (const auto& batch : plain.epoch()) {
    support::expect_error([&] { (void)batch.packing(); }, mds::errc::invalid_argument,
                          {"not packed"});
    break;
  }
}
