#pragma once

/// Google's application default credentials. Needs libcurl and OpenSSL: link mdstream::gs. Source:
/// "How Application Default Credentials works", Google Cloud, and the AIPs 4110 to 4117.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/settings_file.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace mdstream::inline v0::net {

namespace detail {

inline constexpr const char* google_scope = "https://www.googleapis.com/auth/devstorage.read_write";
/// Of a token by which another account's is asked for.
inline constexpr const char* google_platform_scope =
    "https://www.googleapis.com/auth/cloud-platform";

/// A file of credentials and what it says. Errors name the file and quote nothing of it.
class google_file {
 public:
  google_file(std::string path, json::value content)
      : path_(std::move(path)), content_(std::move(content)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// A text by the names of the objects it lies in.
  [[nodiscard]] std::optional<std::string> find(std::initializer_list<const char*> names) const;
  [[nodiscard]] std::string get(const char* name) const;
  /// A list of texts; empty where there is none.
  [[nodiscard]] json::array texts(const char* name) const;
  [[nodiscard]] const json::value& content() const noexcept { return content_; }

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::string path_;
  json::value content_;
};

/// A token that is exchanged for another: that of another provider for Google's (workload identity
/// federation), that of an account for one of a service account that it impersonates, or both.
class google_exchange : public std::enable_shared_from_this<google_exchange> {
 public:
  /// This and the functions that begin throw what is wrong with the file.
  google_exchange(fetcher from, google_file file, std::string source, std::stop_token stop,
                  diagnostics& where, access_handler done);

  /// By the token of another provider.
  void begin_federation();

  /// By the credentials in the file.
  void begin_impersonation();

 private:
  template <class F>
  void guarded(F f) {
    try {
      f();
    } catch (const error& e) {
      where_ = e.where();
      done_(e.code(), std::nullopt);
    }
  }

  [[nodiscard]] std::string subject_of(const std::string& text, const std::string& place) const;

  void exchange(const std::string& subject);

  void ask_then_impersonate(std::function<token_request(wall_clock::time_point)> ask);

  void impersonate(const access& keys);

  [[nodiscard]] std::string missing_role() const;
  [[nodiscard]] access impersonated_of(const http_response& answer) const;

  const fetcher from_;
  const google_file file_;
  const std::optional<std::string> impersonated_;  // URL of a service account's tokens
  const json::array delegates_;  // accounts between the one that asks and the impersonated one
  const std::string source_;
  const std::stop_token stop_;
  diagnostics& where_;
  access_handler done_;
};

}  // namespace detail

/// A file of credentials: a service account's key, a user's login, either of them that impersonates
/// a service account, a federated workload. It is read each time.
class google_file_access {
 public:
  /// `needed`: that there is no such file is an error.
  google_file_access(fetcher from, std::string path, bool needed, warning_function warn);

  void async_find(std::stop_token stop, diagnostics& where, access_handler done) const;

 private:
  void find(std::stop_token stop, diagnostics& where,
            const std::shared_ptr<access_handler>& done) const;

  fetcher from_;
  std::string path_;
  bool needed_;
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
