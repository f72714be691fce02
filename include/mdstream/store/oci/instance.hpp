#pragma once

/// Who a machine of Oracle Cloud Infrastructure is: its instance principal. Needs libcurl and
/// OpenSSL: link mdstream::oci. Source: "Calling Services from an Instance", OCI documentation.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/base64.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/oci_signature.hpp>
#include <mdstream/net/quote.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/x509.hpp>
#include <mdstream/store/cloud/json_refusal.hpp>
#include <mdstream/store/cloud/settings.hpp>
#include <mdstream/store/oci/access.hpp>
#include <mdstream/store/oci/regions.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::store {

namespace oci_detail {

/// A request for a token that speaks for the owner of a certificate.
struct federation_request {
  net::oci_signer signer{};  ///< of the request
  std::string body{};
};

/// What the certificate's owner sends for a token that goes with `session`. Throws
/// `errc::permission_denied` for a certificate that names no tenancy.
[[nodiscard]] inline federation_request ask_federation(const net::certificate& leaf,
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

}  // namespace oci_detail

/// The token of the machine's certificate, and a key of its own that signs with it. The machine's
/// metadata service has the certificate, at OCI_METADATA_BASE_URL where that is set; the region's
/// service gives the token, or that of OCI_SDK_AUTH_CLIENT_REGION_URL. The runtime has to outlive
/// the requests.
class oci_instance_access {
 public:
  oci_instance_access(runtime& threads, const net::http_client_options& http,
                      net::environment variables = net::process_environment())
      : machine_(net::fetcher::near(threads, http)),
        service_(threads, http),
        variables_(std::move(variables)) {}

  void async_find(std::stop_token stop, diagnostics& where, net::access_handler done) const {
    std::make_shared<question>(*this, std::move(stop), where, std::move(done))->ask_machine();
  }

 private:
  static constexpr std::string_view source = "the instance principal";

  struct question : std::enable_shared_from_this<question> {
    question(const oci_instance_access& of, std::stop_token s, diagnostics& w,
             net::access_handler d)
        : machine(of.machine_),
          service(of.service_),
          variables(of.variables_),
          base(variables("OCI_METADATA_BASE_URL").value_or("http://169.254.169.254/opc/v2")),
          stop(std::move(s)),
          where(w),
          done(std::move(d)) {
      while (base.ends_with('/')) base.pop_back();
    }

    /// One text after the other.
    void ask_machine() {
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

    void prepare() {
      try {
        const auto& [region, leaf, leaf_key, above] = texts;
        session = net::rsa_key::generate();
        const auto place = [&](std::size_t text) {
          return net::redacted_url(base + std::string(paths[text]));
        };
        request = oci_detail::ask_federation(net::certificate::from_pem(leaf, place(1)),
                                             net::rsa_key::from_pem(leaf_key, place(2)),
                                             net::certificate::from_pem(above, place(3)), session);
        url = service_of(oci_region(net::detail::header_token(region)));
      } catch (const error& e) {
        where = e.where();
        return fail(e.code());
      }
      ask_service();
    }

    [[nodiscard]] std::string service_of(const std::string& region) const {
      auto endpoint = variables("OCI_SDK_AUTH_CLIENT_REGION_URL");
      const std::string realm = variables("OCI_DEFAULT_REALM").value_or("oraclecloud.com");
      if (!endpoint) endpoint = "https://auth." + region + '.' + oci_domain(region, realm);
      return cloud_detail::checked_endpoint(*endpoint, "OCI's authentication") + "/v1/x509";
    }

    void ask_service() {
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

    [[nodiscard]] std::error_code explain(const net::http_response& answer) {
      const std::error_code code = net::failure_of(answer, url, where);
      if (code) where.what += ' ' + net::quotable(json_refusal(answer, "code").code, {texts[2]});
      return code;
    }

    void take(const net::http_response& answer) {
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

    void fail(std::error_code code) {
      where.what = std::string(source) + " is not known: " + where.what;
      if (where.url.empty()) where.url = net::redacted_url(base);
      done(code == errc::not_found ? errc::permission_denied : code, std::nullopt);
    }

    static constexpr std::array<std::string_view, 4> paths{"/instance/region", "/identity/cert.pem",
                                                           "/identity/key.pem",
                                                           "/identity/intermediate.pem"};

    const net::fetcher machine, service;
    const net::environment variables;
    std::string base;
    const std::stop_token stop;
    diagnostics& where;
    net::access_handler done;

    std::array<std::string, paths.size()> texts{};
    std::size_t got = 0;
    net::rsa_key session{};
    oci_detail::federation_request request{};
    std::string url{};
    net::wall_clock::duration ahead{0};  ///< the service's clock, as far as it is known
  };

  net::fetcher machine_, service_;
  net::environment variables_;
};

static_assert(net::keys_provider<oci_instance_access, net::access>);

}  // namespace mdstream::inline v0::store
