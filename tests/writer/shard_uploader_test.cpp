#include <mdstream/writer/detail/shard_uploader.hpp>

#include <mdstream/policies.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/opened_store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>

#include "support/catch.hpp"

namespace shard_uploader_test {

namespace mds = mdstream;

/// Lets as many writes through as it is told to.
struct gate {
  std::counting_semaphore<> open{0};
  std::atomic<int> passed{0};
};
struct held_back : mds::store::memory {
  gate* at = nullptr;
  void write(std::string_view key, mds::bytes_view bytes) const {
    at->open.acquire();
    ++at->passed;
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
  constexpr int workers = 3, most = 2 * workers, all = 200;
  gate store;
  const std::string bytes = "bytes";
  mds::detail::shard_uploader uploader(
      mds::detail::patient_store(mds::opened_store(held_back{{}, &store}), {}),
      mds::shard_format::mds, {}, "", {}, workers,
      mds::detail::codec_set::of<mds::policies<>::codec>(),
      mds::detail::hash_set::of<mds::policies<>::hash>());
  const auto submit = [&](int i) {
    uploader.submit(
        {.number = static_cast<std::uint64_t>(i), .samples = 1, .data = mds::as_bytes(bytes)});
  };
  // Not earlier: none of these was stored, and none can be.
  for (int i = 0; i < most; ++i) submit(i);
  CHECK(store.passed == 0);
  // Not later: each of the others waits for one that another thread lets through when it has asked.
  std::atomic<int> asked{most};
  std::thread lets_through([&] {
    for (int i = most; i < all; ++i) {
      while (asked <= i) std::this_thread::yield();
      store.open.release();
    }
  });
  int early = 0;
  for (int i = most; i < all; ++i) {
    ++asked;
    submit(i);
    early += i + 1 - store.passed > most;
  }
  lets_through.join();
  CHECK(early == 0);
  store.open.release(most);
  uploader.wait();
  CHECK(store.passed == all);
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
