#pragma once

/// Who supplies the keys of an S3 store that was not told.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/credential_chain.hpp>
#include <mdstream/store/s3/options.hpp>

#include <vector>

namespace mdstream::inline v0::store {

/// The environment, then the profile; the other way round when the options name a profile. Nobody
/// after them: requests are not signed then.
[[nodiscard]] inline net::any_aws_credentials default_s3_keys(const s3_options& options) {
  std::vector<net::any_aws_credentials> providers;
  providers.emplace_back(net::environment_aws_credentials(options.variables));
  providers.emplace_back(net::profile_aws_credentials(options.profile, options.variables));
  if (!options.profile.empty()) std::swap(providers[0], providers[1]);
  return net::aws_credential_chain(std::move(providers));
}

}  // namespace mdstream::inline v0::store
