#pragma once

/// The tokens of other providers that Google exchanges for its own (workload identity federation).
/// Needs libcurl and OpenSSL: link mdstream::gs.

#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/detail/google_files.hpp>
#include <mdstream/net/detail/program.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/time_text.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0::net::detail {

/// The token for a request of that time: some are signed, and say when.
using google_subject = std::function<std::string(wall_clock::time_point)>;
using google_subject_handler =
    mdstream::detail::unique_function<void(std::error_code, google_subject)>;

/// A request to AWS for the caller's identity (GetCallerIdentity), signed but not sent: Google
/// sends it. `region` is checked: an answer of the machine's metadata becomes part of the service's
/// name by it.
[[nodiscard]] std::string google_aws_subject(const google_federation& of,
                                             const google_aws_source& source,
                                             const std::string& region, const aws_credentials& keys,
                                             wall_clock::time_point now);

/// The token in what a program printed, or in its file. Throws `errc::permission_denied`, quoting
/// nothing, if there is none or it has expired at `now`.
[[nodiscard]] std::string google_program_subject(std::string_view text, const std::string& source,
                                                 wall_clock::time_point now);

/// What is run for a token, and the variables that tell it which identity.
[[nodiscard]] program google_program(const google_file& file, const google_federation& of,
                                     const google_program_source& source,
                                     const environment& variables);

/// Finds the token that a federated workload has. `source` names the workload in messages.
class google_subject_search : public std::enable_shared_from_this<google_subject_search> {
 public:
  /// `far` asks services, `near` this machine. The file is one of a federation.
  google_subject_search(fetcher far, fetcher near, google_file file, environment variables,
                        std::string source, std::stop_token stop, diagnostics& where,
                        google_subject_handler done);

  /// Once. May throw what is wrong with the file.
  void begin();

 private:
  void begin(const google_file_source& from);
  void begin(const google_url_source& from);
  void begin(const google_program_source& from);
  void begin(const google_aws_source& from);

  void run(const google_program_source& from);

  /// AWS: the session of the metadata service, the region, the role, the role's keys; each is left
  /// out where the variables or the file say that it is not needed.
  void ask_aws_session();
  void ask_aws_region();
  void ask_aws_role();
  void ask_aws_keys(const std::string& role);
  void sign_for_aws();
  /// A text of the machine's metadata service.
  void ask_aws(const std::string& url, const char* what,
               std::function<void(const http_response&)> take);

  [[nodiscard]] std::string token_of(const std::string& text, const google_token_form& form,
                                     const std::string& place) const;
  void take(std::string token);
  void fail(const error& e);

  /// `f` and what it throws.
  template <class F>
  void guarded(F f) {
    try {
      f();
    } catch (const error& e) {
      fail(e);
    }
  }

  const fetcher far_, near_;
  const google_file file_;
  const google_federation& of_;
  const environment variables_;
  const std::string source_;
  const std::stop_token stop_;
  diagnostics& where_;
  google_subject_handler done_;

  google_aws_source aws_{};
  std::string session_{}, region_{};
  aws_credentials keys_{};
};

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/google_subject.ipp>
#endif
