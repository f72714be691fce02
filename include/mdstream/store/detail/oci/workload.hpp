#pragma once

/// The workload identity of a pod of Oracle's Kubernetes (OKE). Needs libcurl and OpenSSL:
/// link mdstream::oci. Source: "Granting Workloads Access to OCI Resources", OCI documentation, and
/// Oracle's SDKs.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/rsa.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail::oci {

/// Where a pod exchanges the token of its service account.
struct workload_place {
  std::string url{};
  std::string token_file{};  ///< of the service account
  std::string ca_file{};     ///< the authority that signs the cluster's certificates

  /// Of the cluster at KUBERNETES_SERVICE_HOST. Throws `errc::permission_denied` where there is
  /// none.
  [[nodiscard]] static workload_place of(const net::environment& variables);
};

/// The token in the cluster's answer, base64 of JSON as a JSON text, without its `ST$`. Throws
/// `errc::permission_denied`, quoting nothing.
[[nodiscard]] std::string workload_token(std::string_view answer);

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

/// The token of a pod's service account is exchanged by the cluster for one that goes with a key
/// made here, anew for each. No proxy is used, and only the cluster's own certificates are trusted.
/// The runtime has to outlive the requests.
class oci_workload_access {
 public:
  oci_workload_access(runtime& threads, net::http_client_options http, oci::workload_place place);

  void async_find(std::stop_token stop, diagnostics& where, net::access_handler done) const;

 private:
  static constexpr std::string_view source = "the workload identity of this pod";

  struct question : std::enable_shared_from_this<question> {
    question(const oci_workload_access& of, std::stop_token s, diagnostics& w,
             net::access_handler d);

    void begin();
    void take(std::error_code code, const net::http_response& answer);
    void fail(const error& e);

    const net::fetcher cluster;
    const oci::workload_place place;
    const std::stop_token stop;
    diagnostics& where;
    net::access_handler done;
    net::rsa_key session{};
    std::string token{}, body{};
  };

  net::fetcher cluster_;
  oci::workload_place place_;
};

static_assert(net::keys_provider<oci_workload_access, net::access>);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/oci/workload.ipp>
#endif
