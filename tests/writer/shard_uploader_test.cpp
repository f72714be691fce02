#include <mdstream/writer/detail/shard_uploader.hpp>

#include <mdstream/policies.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/opened_store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
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

/// Writes nothing, for reasons that pass.
struct out_of_order : mds::store::memory {
  std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  void write(std::string_view key, mds::bytes_view) const {
    ++*calls;
    throw mds::error(mds::errc::unavailable, std::string(key));
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

TEST_CASE("an uploader that is dropped waits for no store and no copy", "[writer]") {
  using namespace shard_uploader_test;
  const mds::store::memory works;
  const out_of_order fails;
  const bool copies = GENERATE(false, true);
  const auto store = [&](bool which) {
    return mds::detail::patient_store(which ? mds::opened_store(works) : mds::opened_store(fails),
                                      mds::patient_requests(std::chrono::hours(1)));
  };
  const std::string bytes = "bytes";
  {
    mds::detail::shard_uploader uploader(store(copies), mds::shard_format::mds, {}, "", {}, 1,
                                         mds::detail::codec_set::of<mds::policies<>::codec>(),
                                         mds::detail::hash_set::of<mds::policies<>::hash>(),
                                         {.copy = store(!copies)});
    uploader.submit({.number = 0, .samples = 1, .data = mds::as_bytes(bytes)});
    while (*fails.calls == 0) std::this_thread::yield();
  }
  CHECK(mds::exists(works, "shard.00000.mds") == copies);
}
