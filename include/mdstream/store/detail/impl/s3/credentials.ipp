#pragma once

#include <mdstream/net/aws_profile.hpp>
#include <mdstream/store/detail/s3/credentials.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE net::any_aws_credentials default_s3_keys(runtime& threads,
                                                         const store::s3_options& options) {
  return net::default_aws_credentials(
      {threads, options.http, options.variables, options.region, options.warn}, options.profile);
}

}  // namespace mdstream::inline v0::detail
