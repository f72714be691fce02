#pragma once

/// The default credentials providers of an S3 store. Needs libcurl and OpenSSL: link
/// mdstream::s3.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/s3/options.hpp>

namespace mdstream::inline v0::detail {

/// AWS's chain, see `default_aws_credentials`. Nobody after it: requests are not signed then.
[[nodiscard]] net::any_aws_credentials default_s3_keys(runtime& threads,
                                                       const store::s3_options& options);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3/credentials.ipp>
#endif
