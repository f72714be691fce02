// Datasets in a bucket of a real server: written, merged, streamed through the cache, resumed.

#include <mdstream/codec/zstd.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/s3.hpp>
#include <mdstream/writer/merge_index.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "s3/server.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"

namespace s3_dataset_test {

namespace mds = mdstream;
using namespace mds::literals;
using scratch_directory::scratch;

using policies =
    mds::policies<mds::schema<mds::column<"id", mds::int_>, mds::column<"text", mds::str>>,
                  mds::any_store<mds::store::local, mds::store::s3>, mds::codec::zstd>;

void write_part(const std::string& where, std::int64_t from, std::int64_t to) {
  mds::writer<policies> out({.out = where, .compression = "zstd:3", .size_limit = 4_KiB});
  for (std::int64_t id = from; id < to; ++id) out.write(id, "sample " + std::to_string(id));
  out.finish();
}

std::vector<std::int64_t> ids_of(mds::loader<policies>& loader, std::size_t batches,
                                 std::string* state = nullptr) {
  std::vector<std::int64_t> ids;
  for (auto& batch : loader.epoch()) {
    batch.ready_on(nullptr);
    const auto column = batch.get<"id">();
    for (std::size_t i = 0; i < batch.size(); ++i) ids.push_back(column[i]);
    if (state != nullptr) *state = loader.state();
    if (--batches == 0) break;
  }
  return ids;
}

TEST_CASE("a dataset is written to a bucket, merged, streamed and resumed", "[s3][server]") {
  mds::runtime threads(2);
  const scratch root;
  const std::string remote = real_server::new_bucket(threads) + "/data/train";
  write_part(remote + "/0", 0, 600);
  write_part(remote + "/1", 600, 1000);
  CHECK(mds::merge_index(policies::store::open(remote)) == 2);

  const auto open = [&](const std::string& source, const std::string& cache) {
    return mds::loader<policies>({.remote = source,
                                  .local = root / cache,
                                  .cache_limit = 32_KiB,
                                  .batch_size = 50,
                                  .seed = 7,
                                  .num_canonical_nodes = 1});
  };
  std::string state;
  auto first = open(remote, "a");
  std::vector<std::int64_t> seen = ids_of(first, 7, &state);
  CHECK(seen.size() == 350);
  auto second = open(remote, "b");
  second.load_state(state);
  for (const std::int64_t id : ids_of(second, 100)) seen.push_back(id);
  auto whole = open(remote, "c");
  CHECK(ids_of(whole, 100) == seen);
  std::sort(seen.begin(), seen.end());
  std::vector<std::int64_t> all(1000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  CHECK(seen == all);
}

}  // namespace s3_dataset_test
