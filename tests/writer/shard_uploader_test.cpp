#include <mdstream/writer/detail/shard_uploader.hpp>

#include <mdstream/policies.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/opened_store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <thread>

#include "support/catch.hpp"

namespace shard_uploader_test {

namespace mds = mdstream;

/// Writes nothing before it may.
struct held_back : mds::store::memory {
  std::shared_future<void> may;
  void write(std::string_view key, mds::bytes_view bytes) const {
    may.wait();
    mds::store::memory::write(key, bytes);
  }
};

}  // namespace shard_uploader_test

TEST_CASE("an uploader takes twice as many shards as it has workers, then holds back", "[writer]") {
  using namespace shard_uploader_test;
  std::promise<void> go_on;
  const std::string bytes = "bytes";
  mds::detail::shard_uploader uploader(
      mds::detail::patient_store(mds::opened_store(held_back{{}, go_on.get_future().share()}), {}),
      mds::shard_format::mds, {}, "", {}, 3, mds::detail::codec_set::of<mds::policies<>::codec>(),
      mds::detail::hash_set::of<mds::policies<>::hash>());
  std::atomic<int> taken{0};
  std::thread gives([&] {
    for (std::uint64_t i = 0; i < 7; ++i) {
      uploader.submit({.number = i, .samples = 1, .data = mds::as_bytes(bytes)});
      ++taken;
    }
  });
  while (taken < 6) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(taken == 6);
  go_on.set_value();
  gives.join();
  uploader.wait();
  CHECK(taken == 7);
}
