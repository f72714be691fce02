#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/quote.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/cloud/json_refusal.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/detail/oci/access.hpp>
#include <mdstream/store/detail/oci/instance.hpp>
#include <mdstream/store/detail/oci/regions.hpp>
#include <mdstream/store/detail/oci/variables.hpp>
#include <mdstream/version.hpp>

#include <optional>
#include <utility>

namespace mdstream::inline v0::detail::oci {

MDSTREAM_INLINE federation_request ask_federation(const net::certificate& leaf,
                                                  net::rsa_key leaf_key,
                                                  const net::certificate& above,
                                                  const net::rsa_key& session) {
  auto tenancy = leaf.subject_after("opc-tenant:");
  if (!tenancy) tenancy = leaf.subject_after("opc-identity:");
  if (!tenancy || !fits_key_id(*tenancy)) {
    throw error(errc::permission_denied, "the machine's certificate names no tenancy");
  }
  return {.signer = {.id = *tenancy + "/fed-x509/" + leaf.fingerprint(),
                     .key = std::move(leaf_key),
                     .signs_host = false},
          .body = json::dump(json::value(
              json::object{{"certificate", to_base64(leaf.der())},
                           {"publicKey", to_base64(session.public_der())},
                           {"intermediateCertificates", json::array{to_base64(above.der())}}}))};
}

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE oci_instance_access::oci_instance_access(runtime& threads,
                                                         const net::http_client_options& http,
                                                         net::environment variables)
    : machine_(net::fetcher::near(threads, http)),
      service_(threads, http),
      variables_(std::move(variables)) {}

MDSTREAM_INLINE void oci_instance_access::async_find(std::stop_token stop, diagnostics& where,
                                                     net::access_handler done) const {
  std::make_shared<question>(*this, std::move(stop), where, std::move(done))->ask_machine();
}

MDSTREAM_INLINE oci_instance_access::question::question(const oci_instance_access& of,
                                                        std::stop_token s, diagnostics& w,
                                                        net::access_handler d)
    : machine(of.machine_),
      service(of.service_),
      variables(of.variables_),
      base(variables(oci::variable::metadata).value_or("http://169.254.169.254/opc/v2")),
      stop(std::move(s)),
      where(w),
      done(std::move(d)) {
  while (base.ends_with('/')) base.pop_back();
}

MDSTREAM_INLINE void oci_instance_access::question::ask_machine() {
  machine.send(
      [self = shared_from_this()] {
        return net::http_request{.url = self->base + std::string(paths[self->got]),
                                 .headers = {{"Authorization", "Bearer Oracle"}}};
      },
      stop, where,
      [self = shared_from_this()](std::error_code code, net::http_response answer) {
        if (!code) code = net::failure_of(answer, self->base, self->where);
        if (code) return self->fail(code);
        self->texts[self->got++] = std::move(answer.text);
        if (self->got != paths.size()) return self->ask_machine();
        // On the pool: a new key takes a tenth of a second.
        self->service.threads->post([self] { self->prepare(); });
      });
}

MDSTREAM_INLINE void oci_instance_access::question::prepare() {
  try {
    const auto& [region, leaf, leaf_key, above] = texts;
    session = net::rsa_key::generate();
    const auto place = [&](std::size_t text) {
      return net::redacted_url(base + std::string(paths[text]));
    };
    request = detail::oci::ask_federation(net::certificate::from_pem(leaf, place(1)),
                                          net::rsa_key::from_pem(leaf_key, place(2)),
                                          net::certificate::from_pem(above, place(3)), session);
    url = service_of(oci_region(net::detail::header_token(region)));
  } catch (const error& e) {
    where = e.where();
    return fail(e.code());
  }
  ask_service();
}

MDSTREAM_INLINE std::string oci_instance_access::question::service_of(
    const std::string& region) const {
  auto endpoint = variables(oci::variable::federation);
  const std::string realm = variables(oci::variable::realm).value_or("oraclecloud.com");
  if (!endpoint) endpoint = "https://auth." + region + '.' + oci_domain(region, realm);
  return detail::cloud::checked_endpoint(*endpoint, "OCI's authentication") + "/v1/x509";
}

MDSTREAM_INLINE void oci_instance_access::question::ask_service() {
  service.send_dated(
      [self = shared_from_this()](net::wall_clock::time_point now) {
        net::http_request out{.method = "POST",
                              .url = self->url,
                              .body = net::http_body::of(as_bytes(self->request.body))};
        self->ahead = now - net::wall_clock::now();
        net::sign_for_oci(out, self->request.signer, now);
        return out;
      },
      stop, where,
      [self = shared_from_this()](std::error_code code, const net::http_response& answer) {
        if (!code) code = self->explain(answer);
        if (code) return self->fail(code);
        self->take(answer);
      });
}

MDSTREAM_INLINE std::error_code oci_instance_access::question::explain(
    const net::http_response& answer) {
  const std::error_code code = net::failure_of(answer, url, where);
  if (code) where.what += ' ' + net::quotable(json_refusal(answer, "code").code, {texts[2]});
  return code;
}

MDSTREAM_INLINE void oci_instance_access::question::take(const net::http_response& answer) {
  std::optional<net::access> found;
  std::error_code code;
  try {
    found = oci_token_access(json::parse(answer.text).get<std::string>("token"), session,
                             std::string(source), {}, ahead);
  } catch (const error& e) {
    where = {.what = "the answer has no token: " + e.where().what, .url = url};
    code = errc::permission_denied;
  }
  if (code) return fail(code);
  done({}, std::move(found));
}

MDSTREAM_INLINE void oci_instance_access::question::fail(std::error_code code) {
  where.what = std::string(source) + " is not known: " + where.what;
  if (where.url.empty()) where.url = net::redacted_url(base);
  done(code == errc::not_found ? errc::permission_denied : code, std::nullopt);
}

}  // namespace mdstream::inline v0::detail
