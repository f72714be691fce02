#include <mdstream/writer/writer.hpp>

#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/store/memory.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace writer_patience_test {

namespace mds = mdstream;
using mds::errc;

/// A store that answers 503 to the calls of these numbers, counting from 1.
class throttling {
 public:
  throttling(mds::store::memory inner, std::vector<int> refused, bool final = false)
      : inner_(std::move(inner)), refused_(std::move(refused)), final_(final) {}

  std::uint64_t size(std::string_view key) const { return ask(key), inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mds::mutable_bytes into) const {
    return ask(key), inner_.read(key, at, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    ask(key);
    inner_.write(key, bytes);
  }
  std::vector<mds::object_info> list(std::string_view prefix) const {
    return ask(prefix), inner_.list(prefix);
  }
  void remove(std::string_view key) const { ask(key), inner_.remove(key); }
  std::string url(std::string_view key) const { return "cloud:" + std::string(key); }
  [[nodiscard]] int calls() const { return *calls_; }

 private:
  void ask(std::string_view key) const {
    const int number = ++*calls_;
    if (std::ranges::find(refused_, number) == refused_.end()) return;
    throw mds::error(errc::unavailable,
                     mds::diagnostics{.what = "503 SlowDown", .url = url(key), .is_final = final_});
  }

  mds::store::memory inner_;
  std::vector<int> refused_;
  bool final_;
  std::shared_ptr<std::atomic<int>> calls_ = std::make_shared<std::atomic<int>>(0);
};

using policies = mds::policies<mds::dynamic_schema, throttling,
                               mds::any_codec<mds::codec::none, mds::codec::zstd>, mds::any_xxhash>;

void write_dataset(const throttling& store) {
  mds::writer_options options;
  options.out = store;
  options.columns = {{"x", "int"}};
  options.max_workers = 0;
  options.existing = mds::existing_dataset::replace;
  mds::writer<policies> out(std::move(options));
  out.write({{"x", std::int64_t{1}}});
  out.finish();
}

}  // namespace writer_patience_test

TEST_CASE("a writer waits for a store that refuses for a while, at each of its calls", "[writer]") {
  using namespace writer_patience_test;
  const mds::store::memory undisturbed, memory;
  const throttling well(undisturbed, {});
  write_dataset(well);
  const bool final = GENERATE(false, true);  // as an upload that repeated its parts in vain
  // The look for an index, the listing, a shard, the index.
  const throttling refusing(memory, {1, 3, 5, 7}, final);
  write_dataset(refusing);
  CHECK(refusing.calls() == well.calls() + 4);
  CHECK(memory.list("") == undisturbed.list(""));
  for (const mds::object_info& each : memory.list(""))
    CHECK(mds::read_all(memory, each.key) == mds::read_all(undisturbed, each.key));
}
