#pragma once

#include <mdstream/store/detail/cloud/json_refusal.hpp>
#include <mdstream/store/detail/dbfs/workspace_api.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cloud_refusal workspace_api::refusal(const net::http_response& answer) const {
  cloud_refusal out = json_refusal(answer, "error_code");
  // Tokens that were revoked are answered by 403, as what is not allowed.
  out.keys_expired = out.message.find("access token") != std::string::npos;
  return out;
}

MDSTREAM_INLINE cloud_call workspace_api::list(const std::string& prefix) const {
  return list_directory(prefix.substr(0, prefix.rfind('/') + 1), prefix);
}

MDSTREAM_INLINE cloud_call workspace_api::list_directory(std::string_view key,
                                                         std::string prefix) const {
  cloud_call out = directory(detail::cloud::without_slashes(key));
  out.key = std::move(prefix);
  return out;
}

}  // namespace mdstream::inline v0::detail
