// says: async_open
// says: deleted
#include <mdstream/mdstream.hpp>

#include <asio/awaitable.hpp>
#include <asio/use_awaitable.hpp>

namespace {
namespace mds = mdstream;
}  // namespace

// g++ 12 destroys the temporary twice.
asio::awaitable<void> use(mds::runtime& threads) {
#ifdef CORRECTED
  const mds::loader_options options{.remote = "data", .batch_size = 4};
  auto loader = co_await mds::async_open<mds::loader<>>(threads, options, asio::use_awaitable);
#else
  auto loader = co_await mds::async_open<mds::loader<>>(
      threads, {.remote = "data", .batch_size = 4}, asio::use_awaitable);
#endif
}
