#pragma once

/// Who supplies the keys of an S3 store that was not told. Needs libcurl and OpenSSL: link
/// mdstream::s3.

#include <mdstream/net/aws_profile.hpp>
#include <mdstream/store/s3/options.hpp>

namespace mdstream::inline v0::store {

/// AWS's chain, see `default_aws_credentials`. Nobody after it: requests are not signed then.
[[nodiscard]] inline net::any_aws_credentials default_s3_keys(runtime& threads,
                                                              const s3_options& options) {
  return net::default_aws_credentials(
      {threads, options.http, options.variables, options.region, options.warn}, options.profile);
}

}  // namespace mdstream::inline v0::store
