#pragma once

// A store before the fake.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/s3.hpp>
#include <string>
#include <utility>

#include "net/keys.hpp"
#include "s3/fake_s3.hpp"
#include "support/expect_error.hpp"

namespace with_fake {

namespace mds = mdstream;
using fake_s3::answer;
using fake_s3::question;
using mds::errc;
using mds::store::s3;
using support::error_of;
using support::expect_error;

/// Variables of nobody: no profile, no keys of the machine that runs the tests.
inline mds::net::environment no_variables() {
  return keys::variables({{"HOME", "/nonexistent"}, {"AWS_EC2_METADATA_DISABLED", "true"}});
}

inline mds::net::aws_credentials right_keys() {
  return {
      .access_key_id = "AKFAKE", .secret_access_key = "se/cret+of the fake", .source = "the test"};
}

inline mds::store::s3_options options_for(std::string endpoint, std::string region) {
  return {.endpoint = std::move(endpoint),
          .region = std::move(region),
          .credentials = mds::net::explicit_aws_credentials(right_keys()),
          .part_retry = {.attempts = 4, .pause = std::chrono::milliseconds(1)},
          .variables = no_variables()};
}
inline mds::store::s3_options options_for(const fake_s3::server& fake) {
  return options_for(fake.url(), fake.region);
}

}  // namespace with_fake
