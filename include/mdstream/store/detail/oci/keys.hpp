#pragma once

/// What signs requests to Oracle Cloud Infrastructure. Needs libcurl and OpenSSL: link
/// mdstream::oci.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/store/oci/options.hpp>

#include <optional>
#include <string>

namespace mdstream::inline v0::detail::oci {

[[nodiscard]] error incomplete(const store::oci_profile& profile, const char* what);

[[nodiscard]] std::string read_required(const net::environment& variables, const std::string& path,
                                        const char* what, const warning_function& warn);

/// The access that a profile describes; nothing where it describes none.
[[nodiscard]] std::optional<net::access> profile_access(const store::oci_profile& profile,
                                                        const net::environment& variables,
                                                        const warning_function& warn);

/// A variable that is a value, or the absolute path of the file that has it.
struct value_or_file {
  std::string text{};
  std::string place{};  ///< the variable, or the file

  [[nodiscard]] static std::optional<value_or_file> of(const net::environment& variables,
                                                       const char* name,
                                                       const warning_function& warn);
};

/// What services of OCI give to what runs in them (version 2.2); nothing where this is no such
/// service.
[[nodiscard]] std::optional<net::access> resource_access(const net::environment& variables,
                                                         const warning_function& warn);

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

/// The keys of variables and profile, or else of a resource principal, read anew each time: tokens
/// are replaced while programs run. Nobody after them. With OCI_CLI_AUTH those of the one that it
/// names.
[[nodiscard]] net::any_access default_oci_access(runtime& threads,
                                                 const store::oci_settings& settings,
                                                 const store::oci_options& options);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/oci/keys.ipp>
#endif
