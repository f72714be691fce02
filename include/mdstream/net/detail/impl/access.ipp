#pragma once

#include <mdstream/net/access.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE access bearer_access(std::string token, std::string source,
                                     std::optional<wall_clock::time_point> expires) {
  return {.authorize =
              [token](http_request& request, wall_clock::time_point) {
                request.headers.push_back({"Authorization", "Bearer " + token});
              },
          .secrets = {token},
          .expires = expires,
          .source = std::move(source),
          .is_token = true};
}

MDSTREAM_INLINE void computed_access::async_find(std::stop_token, diagnostics& where,
                                                 access_handler done) const {
  std::optional<access> keys;
  try {
    keys = make_();
  } catch (const error& e) {
    where = e.where();
    return done(e.code(), std::nullopt);
  }
  done({}, std::move(keys));
}

}  // namespace mdstream::inline v0::net
