#pragma once

/// Tokens that the command lines of clouds print for their login.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/detail/program.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/time_text.hpp>

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::net::detail {

/// Azure's command line, asked for a token of a resource of Entra. Nothing if there is no `az` in
/// PATH.
[[nodiscard]] std::optional<program> azure_token_program(const environment& variables,
                                                         std::string_view resource);

/// A token as the command lines of Azure and Databricks print it. Throws `errc::permission_denied`,
/// naming `source` and quoting nothing, for anything else.
[[nodiscard]] access parse_printed_token(std::string_view text, const std::string& source,
                                         wall_clock::time_point now);

/// A program that prints a token. It runs on the pool and takes one of its threads meanwhile.
class program_access {
 public:
  /// The program; nothing if it is not to be run. What it throws is the failure.
  using program_function = std::function<std::optional<program>()>;
  /// Whether a program that failed means no more than that it has no login to offer.
  using no_login_function = std::function<bool(const program_result&)>;

  program_access(runtime& threads, std::string source, program_function make,
                 no_login_function no_login)
      : threads_(&threads),
        source_(std::move(source)),
        make_(std::move(make)),
        no_login_(std::move(no_login)) {}

  void async_find(std::stop_token stop, diagnostics& where, access_handler done) const;

 private:
  [[nodiscard]] std::optional<access> find(const std::stop_token& stop) const;

  runtime* threads_;
  std::string source_;
  program_function make_;
  no_login_function no_login_;
};

static_assert(keys_provider<program_access, access>);

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/program_access.ipp>
#endif
