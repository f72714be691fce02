#pragma once

/// A store chosen at run time: by URL among those of a list, or from any store as a value.

#include <mdstream/core/error.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/store.hpp>

#include <fcntl.h>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0 {

/// A store of the list that a URL selects, or any store given as a value. Which URLs a program can
/// open depends on the list alone, never on what happens to be installed. Copies share the store.
///
///     using stores = mds::any_store<mds::store::local, mds::store::s3>;  // a policy
///     const stores bucket = stores::open("s3://bucket/c4");
///     const std::vector<std::byte> index = mds::read_all(bucket, "index.json");
template <openable_store... Stores>
class any_store : public opened_store {
 public:
  /// Implicit, so that a store can stand where a URL could.
  template <class S>
    requires(!std::same_as<S, any_store> && object_store<S>)
  any_store(S store) : opened_store(std::move(store)) {}

  [[nodiscard]] static bool serves(std::string_view url) { return (Stores::serves(url) || ...); }

  /// Opens the first store of the list that serves `url`; an asynchronous one uses the io thread of
  /// `threads`. Throws `errc::unsupported` when none does. `warn` as `open_store` has it.
  [[nodiscard]] static any_store open(std::string_view url, runtime& threads,
                                      const warning_function& warn = &warn_on_stderr) {
    std::optional<any_store> found;
    (try_open<Stores>(url, threads, warn, found) || ...);
    if (!found) fail_unknown(url);
    return *std::move(found);
  }

  /// The same without a runtime: an asynchronous store gets one of its own.
  [[nodiscard]] static any_store open(std::string_view url) {
    if ((serves_blocking<Stores>(url) || ...) || !serves(url)) {
      std::optional<any_store> found;
      (try_open_blocking<Stores>(url, found) || ...);
      if (!found) fail_unknown(url);
      return *std::move(found);
    }
    const std::shared_ptr<runtime> threads = own_runtime();
    any_store opened = open(url, *threads);
    opened.keep(threads);
    return opened;
  }

 private:
  template <class S>
  static constexpr bool opens_alone = requires(std::string_view url) { S::open(url); };

  template <class S>
  static bool serves_blocking(std::string_view url) {
    return opens_alone<S> && S::serves(url);
  }

  template <class S>
  static bool try_open_blocking(std::string_view url, std::optional<any_store>& found) {
    if constexpr (opens_alone<S>) {
      if (S::serves(url)) found.emplace(S::open(url));
    }
    return found.has_value();
  }

  template <class S>
  static bool try_open(std::string_view url, runtime& threads, const warning_function& warn,
                       std::optional<any_store>& found) {
    if (S::serves(url)) found.emplace(open_store<S>(url, threads, warn));
    return found.has_value();
  }

  template <class S>
  static void name_schemes(std::string& out) {
    if (!out.empty()) out += ", ";
    if constexpr (requires { S::schemes; }) {
      out += S::schemes;
    } else {
      out += "a store that does not name its URLs";
    }
  }

  [[noreturn]] static void fail_unknown(std::string_view url) {
    if (url.empty()) throw error(errc::invalid_argument, "an empty URL names no store");
    std::string served;
    (name_schemes<Stores>(served), ...);
    const std::string scheme(url_scheme(url));
    if (scheme == "file") {
      throw error(errc::unsupported,
                  "the URL scheme \"file\" is not used: write a local path without a scheme");
    }
    throw error(errc::unsupported,
                "the URL scheme \"" + scheme + "\" is not served by the policies' store (" +
                    served +
                    "): include the header of a store that serves it, name that store in "
                    "the policies' list and link its CMake target");
  }
};

}  // namespace mdstream::inline v0
