#pragma once

// The real server that tests/servers/with.sh started, and buckets in it.

#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <mdstream/async/detail/event.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/s3/api.hpp>
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

/// The URL of a bucket that no other test has, new and empty.
inline std::string new_bucket(mds::runtime& threads) {
  static std::atomic<int> number{0};
  std::string url = "s3://test-" + std::to_string(::getpid()) + '-' + std::to_string(number++);
  mds::store::s3_options options;
  const mds::store::s3_settings settings = mds::store::resolve_s3(url, options);
  const mds::detail::cloud_client client = mds::detail::s3_client(threads, settings, options);
  mds::detail::wait_for<mds::net::http_response>([&](mds::diagnostics& where, auto done) {
    const auto& api = static_cast<const mds::detail::s3_api&>(client.api());
    client.async_send(api.request("PUT", ""), {}, where, std::move(done));
  });
  return url;
}

}  // namespace real_server
