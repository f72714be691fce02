#pragma once

/// AWS's keys from providers that are asked one after another, kept until they are about to expire.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/key_supply.hpp>

namespace mdstream::inline v0::net {

using aws_credential_chain = key_chain<aws_credentials>;
using cached_aws_credentials = cached_keys<aws_credentials>;

static_assert(aws_credentials_provider<aws_credential_chain> &&
              aws_credentials_provider<cached_aws_credentials>);

}  // namespace mdstream::inline v0::net
