#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/oci/access.hpp>
#include <mdstream/store/detail/oci/variables.hpp>
#include <mdstream/store/detail/oci/workload.hpp>
#include <mdstream/version.hpp>

#include <optional>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail::oci {

MDSTREAM_INLINE workload_place workload_place::of(const net::environment& variables) {
  const std::string mounted = "/var/run/secrets/kubernetes.io/serviceaccount/";
  auto host = variables(variable::kubernetes_host);
  if (!host) {
    throw error(errc::permission_denied, std::string("a workload identity is that of a pod, and ") +
                                             variable::kubernetes_host +
                                             " is not set: this is no pod of Kubernetes");
  }
  if (host->find(':') != std::string::npos && !host->starts_with('[')) *host = '[' + *host + ']';
  return {.url = "https://" + *host + ":12250/resourcePrincipalSessionTokens",
          .token_file = variables(variable::kubernetes_token).value_or(mounted + "token"),
          .ca_file = variables(variable::kubernetes_certificate).value_or(mounted + "ca.crt")};
}

MDSTREAM_INLINE std::string workload_token(std::string_view answer) {
  try {
    const json::value text = json::parse(answer);
    const auto inner = from_base64(text.as<std::string>());
    if (inner) {
      const auto token = json::parse(as_text(*inner)).get<std::string>("token");
      if (token.starts_with("ST$")) return token.substr(3);
    }
  } catch (const error&) {
  }
  throw error(errc::permission_denied, "the cluster's answer has no token");
}

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE oci_workload_access::oci_workload_access(runtime& threads,
                                                         net::http_client_options http,
                                                         oci::workload_place place)
    : cluster_([&] {
        http.ca_file = place.ca_file;
        http.ca_directory.clear();
        return net::fetcher::near(threads, std::move(http));
      }()),
      place_(std::move(place)) {}

MDSTREAM_INLINE void oci_workload_access::async_find(std::stop_token stop, diagnostics& where,
                                                     net::access_handler done) const {
  const auto asked = std::make_shared<question>(*this, std::move(stop), where, std::move(done));
  // On the pool: a new key takes a tenth of a second.
  cluster_.threads->post([asked] { asked->begin(); });
}

MDSTREAM_INLINE oci_workload_access::question::question(const oci_workload_access& of,
                                                        std::stop_token s, diagnostics& w,
                                                        net::access_handler d)
    : cluster(of.cluster_), place(of.place_), stop(std::move(s)), where(w), done(std::move(d)) {}

MDSTREAM_INLINE void oci_workload_access::question::begin() {
  try {
    net::detail::require_private(std::string(source), place.url);
    const auto text = net::detail::read_settings(place.token_file);
    if (!text) {
      throw error(errc::permission_denied,
                  {.what = "there is no token of a service account that can be read",
                   .url = place.token_file});
    }
    token = net::detail::token_of_file(*text, place.token_file);
    session = net::rsa_key::generate();
    body = json::dump(json::object{{"podKey", to_base64(session.public_der())}});
  } catch (const error& e) {
    return fail(e);
  }
  cluster.send(
      [self = shared_from_this()] {
        return net::http_request{.method = "POST",
                                 .url = self->place.url,
                                 .headers = {{"Authorization", "Bearer " + self->token},
                                             {"Content-Type", "application/json"}},
                                 .body = net::http_body::of(as_bytes(self->body))};
      },
      stop, where,
      [self = shared_from_this()](std::error_code code, const net::http_response& answer) {
        self->take(code, answer);
      });
}

MDSTREAM_INLINE void oci_workload_access::question::take(std::error_code code,
                                                         const net::http_response& answer) {
  std::optional<net::access> found;
  try {
    if (code) throw error(code, where);
    if (!answer.ok()) {
      throw error(
          errc::permission_denied,
          {.what =
               "the cluster answers " + std::to_string(answer.status) +
               (answer.status == 403 ? ": only enhanced clusters have workload identities" : ""),
           .url = place.url});
    }
    const auto ahead = net::detail::ahead_of_us(answer, net::wall_clock::now());
    found =
        oci_token_access(oci::workload_token(answer.text), session, std::string(source), {}, ahead);
  } catch (const error& e) {
    return fail(e);
  }
  done({}, std::move(found));
}

MDSTREAM_INLINE void oci_workload_access::question::fail(const error& e) {
  where = e.where();
  where.what = std::string(source) + " is not known: " + where.what;
  if (where.url.empty()) where.url = place.url;
  done(e.code() == errc::not_found ? errc::permission_denied : e.code(), std::nullopt);
}

}  // namespace mdstream::inline v0::detail
