#pragma once

/// Datasets of the Hugging Face Hub. Needs libcurl and OpenSSL: link mdstream::hf.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/hf.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::hf"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/cloud/settings.hpp>
#include <mdstream/store/cloud/store.hpp>
#include <mdstream/store/hf/api.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::store {

/// The Hub says itself in which parts large objects are uploaded: `part_bytes` is not used.
struct hf_options : cloud_options {
  std::string revision{};  ///< branch, tag or commit; unset: the URL's, else `main`
};

/// Files beneath `hf://datasets/<org>/<name>/<path>`; `<name>@<revision>`, or `?revision=`, is a
/// branch, tag or commit other than `main`. The token is that of HF_TOKEN or of a login
/// (`huggingface-cli login`), and goes to the Hub alone, not to where it redirects or has large
/// objects uploaded. Thread-safe; copies share connections, keys and commits. The runtime has to
/// outlive the calls.
///
/// A write is a commit. One is under way at a time for a store and its copies; what is written
/// meanwhile goes together into the next one. Where another's commit comes in between, it is
/// repeated as `part_retry` says. A `remove` is a change of a commit as a write is. A stop ends the
/// waiting for a commit that is under way, which may still succeed. Objects that the Hub keeps as
/// large files are read twice, first for their SHA-256.
///
/// Requests: one for `size`, or two where the file is not in Git LFS; two for `read`, of which the
/// second goes to the Hub's servers of content; one for each 1,000 files of a listing; a share of
/// a commit for `remove`. A write is one and its share of a commit; of a large file three more, or
/// three and one for each part.
class hf : public any_async_store {
 public:
  static constexpr std::string_view schemes = "hf://datasets/";

  hf(runtime& threads, std::string_view url, const hf_options& options = {})
      : hf(threads, resolved(url, options), options) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "hf";
  }
  [[nodiscard]] static hf open(std::string_view url, runtime& threads,
                               warning_function warn = &warn_on_stderr) {
    hf_options options;
    options.warn = std::move(warn);
    return {threads, url, options};
  }

  /// Throws `errc::invalid_argument` for what can not be right.
  [[nodiscard]] static hf_settings resolved(std::string_view url, const hf_options& options) {
    const cloud_detail::cloud_url parts = cloud_detail::parse_cloud_url(url);
    const std::size_t slash = parts.prefix.find('/');
    if (parts.place != "datasets" || slash == std::string::npos) {
      throw cloud_detail::bad_url(url, "URLs of the Hub are hf://datasets/<org>/<name>/<path>");
    }
    const std::size_t end = parts.prefix.find('/', slash + 1);
    hf_settings out{.repo = parts.prefix.substr(0, end)};
    if (end != std::string::npos) out.root = parts.prefix.substr(end + 1);
    if (const std::size_t at = out.repo.find('@'); at != std::string::npos) {
      out.revision = out.repo.substr(at + 1);
      out.repo.resize(at);
    }
    std::string endpoint = options.endpoint;
    for (const auto& [name, value] : parts.parameters) {
      if (name == "revision") {
        out.revision = value;
      } else if (name == "endpoint") {
        endpoint = value;
        out.endpoint_of_url = true;
      } else {
        throw cloud_detail::bad_url(url, "hf:// URLs have the parameters revision and endpoint");
      }
    }
    if (!options.revision.empty()) out.revision = options.revision;
    if (endpoint.empty()) endpoint = options.variables("HF_ENDPOINT").value_or(out.endpoint);
    out.endpoint = cloud_detail::checked_endpoint(endpoint, "the Hub");
    return out;
  }

 private:
  hf(runtime& threads, const hf_settings& settings, const hf_options& options)
      : any_async_store(cloud_store(
            threads,
            std::make_shared<hf_api>(settings, upload_plan{.parallel = options.parallel_parts,
                                                           .retry = options.part_retry}),
            options.http,
            net::detail::bounded_access(options.keys ? *options.keys : default_keys(options),
                                        {.service = "Hugging Face",
                                         .endpoint = settings.endpoint,
                                         .of_url = settings.endpoint_of_url,
                                         .domains = {"huggingface.co", "hf.co"},
                                         .setting = "HF_ENDPOINT"}))) {}

  [[nodiscard]] static net::any_access default_keys(const hf_options& options) {
    return net::computed_access([variables = options.variables,
                                 warn = net::detail::each_once(
                                     options.warn)]() -> std::optional<net::access> {
      if (const auto token = variables("HF_TOKEN")) {
        return net::bearer_access(net::detail::header_token(*token), "the environment (HF_TOKEN)");
      }
      const std::string home = variables("HF_HOME").value_or("~/.cache/huggingface");
      const std::string file =
          net::detail::in_home(variables, variables("HF_TOKEN_PATH").value_or(home + "/token"));
      const auto token = net::detail::read_secret(file, warn);
      if (!token || net::detail::header_token(*token).empty()) return std::nullopt;
      return net::bearer_access(net::detail::token_of_file(*token, file), "the login in " + file);
    });
  }
};

static_assert(versioned_store<hf> && openable_store<hf>);

}  // namespace mdstream::inline v0::store
