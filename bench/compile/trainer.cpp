// A trainer as users write them: S3 behind adapters, compile-time columns, zstd, coroutines.

#include <mdstream/async/detail/asio.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/metered.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/s3.hpp>
#include <mdstream/stream/open.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/use_awaitable.hpp>

#include <cstdio>
#include <exception>

namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 1024>>>,
                  mds::any_store<mds::store::local, mds::store::s3>, mds::codec::zstd,
                  mds::shuffle::py1e, mds::collate::dense>;

asio::awaitable<void> train(mds::runtime& threads) {
  const mds::metered measured(
      mds::retrying(threads, mds::store::s3::open("s3://bucket/tokens", threads), {}));
  mds::loader<policies>::options options;
  options.streams.push_back({.local = "/nvme/cache", .store = policies::store(measured)});
  options.batch_size = 32;
  auto loader =
      co_await mds::async_open<mds::loader<policies>>(threads, options, asio::use_awaitable);
  auto epoch = loader->epoch();
  while (true) {
    auto batch = co_await epoch.async_next(asio::use_awaitable);
    std::printf("%u, %llu bytes\n", batch.get<"tokens">()[0][0],
                static_cast<unsigned long long>(measured.metrics().bytes_read));
  }
}

int main() {
  mds::runtime threads(2);
  asio::co_spawn(threads.get_executor(), train(threads), asio::detached);
}
