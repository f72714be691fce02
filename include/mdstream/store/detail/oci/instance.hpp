#pragma once

/// The identity of a machine of Oracle Cloud Infrastructure: its instance principal. Needs libcurl
/// and OpenSSL: link mdstream::oci. Source: "Calling Services from an Instance", OCI documentation.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/oci_signature.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/x509.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0::detail::oci {

/// A request for a token that speaks for the owner of a certificate.
struct federation_request {
  net::oci_signer signer{};  ///< of the request
  std::string body{};
};

/// What the certificate's owner sends for a token that goes with `session`. Throws
/// `errc::permission_denied` for a certificate that names no tenancy.
[[nodiscard]] federation_request ask_federation(const net::certificate& leaf, net::rsa_key leaf_key,
                                                const net::certificate& above,
                                                const net::rsa_key& session);

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

/// The token of the machine's certificate, and a key of its own that signs with it. The machine's
/// metadata service has the certificate, at OCI_METADATA_BASE_URL where that is set; the region's
/// service gives the token, or that of OCI_SDK_AUTH_CLIENT_REGION_URL. The runtime has to outlive
/// the requests.
class oci_instance_access {
 public:
  oci_instance_access(runtime& threads, const net::http_client_options& http,
                      net::environment variables = net::process_environment());

  void async_find(std::stop_token stop, diagnostics& where, net::access_handler done) const;

 private:
  static constexpr std::string_view source = "the instance principal";

  struct question : std::enable_shared_from_this<question> {
    question(const oci_instance_access& of, std::stop_token s, diagnostics& w,
             net::access_handler d);

    /// One text after the other.
    void ask_machine();

    void prepare();

    [[nodiscard]] std::string service_of(const std::string& region) const;

    void ask_service();

    [[nodiscard]] std::error_code explain(const net::http_response& answer);

    void take(const net::http_response& answer);

    void fail(std::error_code code);

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
    detail::oci::federation_request request{};
    std::string url{};
    net::wall_clock::duration ahead{0};  ///< the service's clock, as far as it is known
  };

  net::fetcher machine_, service_;
  net::environment variables_;
};

static_assert(net::keys_provider<oci_instance_access, net::access>);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/oci/instance.ipp>
#endif
