#pragma once

/// Google's application default credentials. Needs libcurl and OpenSSL: link mdstream::gs. Source:
/// "How Application Default Credentials works", Google Cloud, and the AIPs 4110 to 4117.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/detail/google_files.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/settings_file.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace mdstream::inline v0::net {

/// A file of credentials: a service account's key, a user's login, a federated workload, each with
/// or without a service account that it impersonates. It is read each time.
///
/// The project of the file (`quota_project_id`) pays for requests that name no other.
class google_file_access {
 public:
  /// `needed`: that there is no such file is an error. `far` asks services, `near` this machine.
  google_file_access(fetcher far, fetcher near, std::string path, bool needed,
                     environment variables, warning_function warn);

  void async_find(std::stop_token stop, diagnostics& where, access_handler done) const;

 private:
  fetcher far_, near_;
  std::string path_;
  bool needed_;
  environment variables_;
  warning_function warn_;
};

static_assert(keys_provider<google_file_access, access>);

/// GOOGLE_APPLICATION_CREDENTIALS, the login of Google's command line, the machine's service
/// account (GCE_METADATA_HOST; not asked where NO_GCE_CHECK is `true`). Nobody after them.
[[nodiscard]] access_chain default_google_access(runtime& threads, const http_client_options& http,
                                                 const environment& variables,
                                                 warning_function warn);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/google_access.ipp>
#endif
