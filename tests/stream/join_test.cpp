// Datasets joined column by column: sample i has the columns of sample i of each.

#include <mdstream/codec/zstd.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/detail/joined_source.hpp>
#include <mdstream/writer/row_writer.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

namespace mds = mdstream;

namespace join_test {

using scratch_directory::scratch;
using codecs = mds::any_codec<mds::codec::none, mds::codec::zstd>;
using texts =
    mds::policies<mds::schema<mds::column<"id", mds::int_>, mds::column<"text", mds::str>>, codecs>;
using vectors = mds::policies<
    mds::schema<mds::column<"embedding", mds::ndarray<float, 4>>, mds::column<"source", mds::str>>,
    codecs>;
using marks = mds::policies<mds::schema<mds::column<"mark", double>>, codecs>;
using joined =
    mds::policies<mds::schema<mds::column<"embedding", mds::ndarray<float, 4>>,
                              mds::column<"id", mds::int_>, mds::column<"mark", double>,
                              mds::column<"source", mds::str>, mds::column<"text", mds::str>>,
                  codecs, mds::collate::ragged>;

constexpr std::int64_t samples = 200;

std::string text_of(std::int64_t i) { return std::string(static_cast<std::size_t>(i % 5), 't'); }
std::string source_of(std::int64_t i) { return "from " + std::to_string(i); }

/// Three datasets whose shards end in different places: of texts, of compressed vectors, and of
/// numbers in one large shard.
struct three_datasets {
  scratch dir;
  three_datasets() {
    mds::writer<texts> first({.out = dir / "texts", .size_limit = 500});
    mds::writer<vectors> second(
        {.out = dir / "vectors/train", .compression = "zstd", .size_limit = 1300});
    mds::writer<marks> third({.out = dir / "marks"});
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto x = static_cast<float>(i);
      first.write(i, text_of(i));
      second.write(std::array<float, 4>{x, -x, 1, 2}, source_of(i));
      third.write(0.5 * static_cast<double>(i));
    }
    first.finish();
    second.finish();
    third.finish();
  }
  [[nodiscard]] mds::stream_options stream() const {
    return {.remote = dir / "texts",
            .local = dir / "cache",
            .join = {{.remote = dir / "vectors", .split = "train"}, {.remote = dir / "marks"}}};
  }
  [[nodiscard]] mds::loader_options options() const {
    return {.streams = {stream()},
            .batch_size = 16,
            .shuffle_block_size = 60,
            .num_canonical_nodes = 1,
            .world = mds::world{}};
  }
};

template <class Sample>
bool is_right(const Sample& sample, std::int64_t i) {
  return sample.template get<"id">() == i && sample.template get<"text">() == text_of(i) &&
         sample.template get<"source">() == source_of(i) &&
         sample.template get<"mark">() == 0.5 * static_cast<double>(i) &&
         sample.template get<"embedding">()[0] == static_cast<float>(i) &&
         sample.template get<"embedding">()[1] == -static_cast<float>(i);
}

}  // namespace join_test

TEST_CASE("a join has the columns of all, in the order of the first, and its states") {
  using namespace join_test;
  const three_datasets data;
  mds::loader_options alone = data.options();
  alone.streams = {{.remote = data.dir / "texts", .local = data.dir / "alone"}};
  mds::loader<texts> first(alone);
  mds::loader<joined> all(data.options());
  CHECK(all.epoch_size() == first.epoch_size());
  CHECK(all.streams()[0].shards == first.streams()[0].shards);
  REQUIRE(all.streams()[0].shards > 10);
  std::vector<std::vector<std::int64_t>> order;
  for (const auto& batch : first.epoch())
    order.emplace_back(batch.ids().begin(), batch.ids().end());
  std::size_t batches = 0;
  std::string state;
  for (const auto& batch : all.epoch()) {
    CHECK(std::ranges::equal(batch.ids(), order.at(batches)));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::int64_t id = batch.ids()[i];
      CHECK(batch.get<"id">()[i] == id);
      CHECK(batch.get<"text">()[i] == text_of(id));
      CHECK(batch.get<"source">()[i] == source_of(id));
      CHECK(batch.get<"mark">()[i] == 0.5 * static_cast<double>(id));
      CHECK(batch.get<"embedding">()[i][1] == -static_cast<float>(id));
    }
    if (++batches == 5) state = all.state();
  }
  CHECK(batches == order.size());

  auto mine = mds::parse_state(state);
  CHECK(mine.identity->source != 0);  // another joined dataset is another run
  support::expect_error([&] { mds::loader<texts>(alone).load_state(state); },
                        mds::errc::state_mismatch, {"foreign files"});
  mine.identity->source = 0;
  mds::loader<texts> goes_on(alone);
  goes_on.load_state(mds::to_text(mine));  // all else is that of the first dataset
  mds::loader<joined> resumed(data.options());
  resumed.load_state(state);
  for (const auto& batch : resumed.epoch())
    CHECK(std::ranges::equal(batch.ids(), order.at(batch.number())));
  CHECK(resumed.counters().shards_fetched == 0);  // they are kept as any others
}

TEST_CASE("samples of a join by number, with little room and with hashes checked") {
  using namespace join_test;
  const three_datasets data;
  const std::string hash = GENERATE("", "none", "xxh64");
  mds::dataset_options options{.streams = {data.stream()}, .validate_hash = hash};
  {
    const mds::dataset<joined> whole(options);
    REQUIRE(whole.size() == samples);
    for (std::int64_t i = samples; i-- > 0;)
      if (!is_right(whole[static_cast<std::uint64_t>(i)], i)) FAIL("sample " << i);
    options.cache_limit = whole.streams()[0].bytes / 2;
  }
  std::filesystem::remove_all(data.dir / "cache");
  const mds::dataset<joined> some(options);
  for (std::int64_t i = 0; i < samples; ++i)
    if (!is_right(some[static_cast<std::uint64_t>(i)], i)) FAIL("sample " << i);
  CHECK(some.counters().shards_evicted > 0);
  const mds::dataset<mds::policies<codecs>> by_name(options);
  CHECK(by_name[7].get<std::string_view>("source") == "from 7");
  CHECK(by_name.layout().describe() ==
        "embedding: ndarray:float32:4, id: int, mark: float64, source: str, text: str");
}

TEST_CASE("what cannot be joined is refused, with both lengths or the column") {
  using namespace join_test;
  const three_datasets data;
  const auto refused = [&](auto change, mds::errc code,
                           std::initializer_list<std::string_view> pieces) {
    mds::stream_options stream = data.stream();
    change(stream);
    support::expect_error(
        [&] { const mds::dataset<mds::policies<codecs>> none({.streams = {stream}}); }, code,
        pieces);
  };
  support::write_plain_dataset(data.dir / "short", {100, 99});
  refused([&](auto& s) { s.join = {{.remote = data.dir / "short"}}; }, mds::errc::invalid_argument,
          {"200 samples", data.dir / "texts", "199 samples", data.dir / "short"});
  support::write_plain_dataset(data.dir / "same", {100, 100});
  refused([&](auto& s) { s.join = {{.remote = data.dir / "same"}}; }, mds::errc::invalid_argument,
          {"\"id\"", "named twice"});
  refused([&](auto& s) { s.join = {{.remote = data.dir / "absent"}}; }, mds::errc::not_found,
          {"absent"});
  refused([](auto& s) { s.join = {{}}; }, mds::errc::invalid_argument, {"remote or an opened"});
  refused([](auto& s) { s.local = s.remote; }, mds::errc::invalid_argument,
          {"another directory", "texts"});
  refused([](auto& s) { s.validate_hash = "sha1"; }, mds::errc::invalid_argument, {"sha1"});
  {
    mds::row_writer<mds::policies<>> out({.out = data.dir / "rows", .columns = {{"row", "int"}}});
    for (int i = 0; i < samples; ++i) out.write({{"row", i}});
    out.finish();
  }
  refused([&](auto& s) { s.join = {{.remote = data.dir / "rows"}}; }, mds::errc::unsupported,
          {"MDS shards", data.dir / "rows"});
  {
    mds::writer<marks> out({.out = data.dir / "renamed", .size_limit = 500});
    for (int i = 0; i < samples; ++i) out.write(1.0 * i);
    out.finish();
    const std::string path = data.dir / "renamed/index.json";
    std::ifstream file(path);
    std::string index(std::istreambuf_iterator<char>(file), {});
    index.replace(index.rfind("\"mark\""), 6, "\"kram\"");
    std::ofstream(path) << index;
  }
  refused([&](auto& s) { s.join = {{.remote = data.dir / "renamed"}}; }, mds::errc::unsupported,
          {"different columns", data.dir / "renamed"});
  refused([](auto& s) { s.raw.format = "jsonl"; }, mds::errc::unsupported, {"name no format"});
}

TEST_CASE("an error about damage in a joined dataset names its file") {
  using namespace join_test;
  const three_datasets data;
  const auto flip = [](const std::string& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x40));
  };
  mds::loader_options options = data.options();
  options.download_retry = 1;
  std::string damaged;
  std::string_view what;
  SECTION("a compressed shard") {
    damaged = "vectors/train/shard.00001.mds.zstd";
    flip(data.dir / damaged, 20);
  }
  SECTION("a shard of which a range is read, which has no hash: its offsets are checked") {
    damaged = "marks/shard.00000.mds";
    flip(data.dir / damaged, 4 + 4 * 60 + 3);
    what = "hold no sample";
  }
  SECTION("a whole shard whose hash is not checked") {
    options.validate_hash = "none";
    damaged = "texts/shard.00001.mds";
    flip(data.dir / damaged, 4 + 4 * 2 + 3);
    what = "offset";
  }
  SECTION("a shard that was written again") {
    damaged = "marks/shard.00000.mds";
    std::filesystem::resize_file(data.dir / damaged, 2000);
    what = "has 2000 bytes, the index says";
  }
  mds::loader<joined> loader(options);
  support::expect_error(
      [&] {
        for (const auto& batch : loader.epoch()) static_cast<void>(batch);
      },
      mds::errc::corrupt, {damaged, what});
}
