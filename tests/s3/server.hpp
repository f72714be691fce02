#pragma once

// The real server that tests/servers/with.sh started, and buckets in it.

#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <mdstream/async/event.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/s3.hpp>
#include <stdexcept>
#include <string>

namespace real_server {

namespace mds = mdstream;

inline std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Which one it is: seaweedfs, moto, ….
inline std::string name() { return variable("MDSTREAM_TEST_SERVER"); }

/// Sends one request that the store has no name for, and waits.
inline void send(mds::runtime& threads, const std::string& url, mds::store::s3_call call) {
  mds::store::s3_options options;
  const mds::store::s3_settings settings = mds::store::resolve_s3(url, options);
  const mds::store::s3_client client(threads, settings, options,
                                     mds::store::default_s3_keys(threads, options));
  mds::detail::wait_for<mds::net::http_response>([&](mds::diagnostics& where, auto done) {
    client.async_send(std::move(call), {}, where, std::move(done));
  });
}

/// The URL of a bucket that no other test has, new and empty.
inline std::string new_bucket(mds::runtime& threads) {
  static std::atomic<int> number{0};
  const std::string url =
      "s3://test-" + std::to_string(::getpid()) + '-' + std::to_string(number++);
  send(threads, url, {.method = "PUT"});
  return url;
}

}  // namespace real_server
