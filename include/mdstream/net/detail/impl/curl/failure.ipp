#pragma once

#include <mdstream/net/curl/failure.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>

namespace mdstream::inline v0::net::detail {

/// CURLE_SSL_CLIENTCERT, which libcurl has since 7.77.
inline constexpr auto ssl_client_certificate = static_cast<CURLcode>(98);

MDSTREAM_INLINE errc code_of_curl(CURLcode ended) noexcept {
  switch (ended) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED: return errc::invalid_argument;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case ssl_client_certificate:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return errc::permission_denied;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:
#endif
    case CURLE_TOO_MANY_REDIRECTS: return errc::corrupt;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_NOT_BUILT_IN: return errc::io_error;
    default: return errc::unavailable;
  }
}

/// Whether the server ended the connection with an alert about certificates. Only the text tells
/// it: the alert comes while the two connect, or in place of the answer, as the version of TLS has
/// it.
MDSTREAM_INLINE bool is_certificate_alert(CURLcode ended, std::string_view text) {
  if (ended != CURLE_SSL_CONNECT_ERROR && ended != CURLE_RECV_ERROR && ended != CURLE_SEND_ERROR)
    return false;
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  constexpr std::array<std::string_view, 5> reasons{"certificate", "unknown ca", "ca is unknown",
                                                    "access denied", "handshake failure"};
  return has("alert") && std::ranges::any_of(reasons, has);
}

/// What failed, and where to look first.
MDSTREAM_INLINE std::string_view advice_on(CURLcode ended, std::string_view text) noexcept {
  switch (ended) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return "the host's name has no address: check how it is spelt, and this machine's DNS";
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "the proxy's name has no address; https_proxy, http_proxy or all_proxy names it";
    case CURLE_COULDNT_CONNECT:
      return "nobody answers there: check host and port; where only a proxy leads out, https_proxy "
             "or http_proxy names it";
    case CURLE_SSL_CONNECT_ERROR:
      return "TLS cannot begin: the server may speak http alone, or no version of TLS that is "
             "allowed here";
    case CURLE_GOT_NOTHING: return "the server ended the connection without an answer";
    default: break;
  }
  if (text.find("CONNECT tunnel failed, response 407") != std::string_view::npos)
    return "the proxy wants a user and a password, which may stand in its URL "
           "(http://user:password@host:port)";
  if (text.find("CONNECT tunnel failed") != std::string_view::npos)
    return "the proxy does not connect to this host";
  return "the connection broke";
}

MDSTREAM_INLINE curl_failure failure_of_curl(CURLcode ended, std::string_view text,
                                             const std::string& client_certificate) {
  if (ended == CURLE_SSL_CACERT_BADFILE) {
    return {code_of_curl(ended),
            "the file of authorities cannot be used; SSL_CERT_FILE, CURL_CA_BUNDLE or the option "
            "ca_file names it"};
  }
  if (ended == CURLE_PEER_FAILED_VERIFICATION) {
    return {code_of_curl(ended),
            "the server's certificate is not trusted; where a proxy inspects TLS, SSL_CERT_FILE or "
            "CURL_CA_BUNDLE names the file of its authority"};
  }
  if (ended == CURLE_SSL_CERTPROBLEM) {
    return {code_of_curl(ended),
            "the client certificate " + client_certificate + " cannot be used with its key"};
  }
  if (ended == ssl_client_certificate || is_certificate_alert(ended, text)) {
    return {errc::permission_denied,
            client_certificate.empty()
                ? "the server refuses TLS without a client certificate that it trusts; "
                  "client_certificate and client_key name the files of one"
                : "the server refuses the client certificate " + client_certificate};
  }
  return {code_of_curl(ended), std::string(advice_on(ended, text))};
}

}  // namespace mdstream::inline v0::net::detail
