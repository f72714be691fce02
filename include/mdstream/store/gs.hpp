#pragma once

/// Buckets of Google Cloud Storage. Needs libcurl and OpenSSL: link mdstream::gs.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/gs.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::gs"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/google_access.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/cloud/store.hpp>
#include <mdstream/store/gs/api.hpp>
#include <mdstream/store/s3.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::store {

struct gs_options : cloud_options {};

/// Objects beneath `gs://bucket/prefix`, literal. Where GCS_KEY and GCS_SECRET are set, by the S3
/// protocol with these HMAC keys; else by the JSON API with Google's application default
/// credentials, or without keys where there are none. A query of the URL may have `endpoint`, to
/// which no token goes; CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE is one, and STORAGE_EMULATOR_HOST.
/// Thread-safe; copies share connections and keys. The runtime has to outlive the calls.
///
/// Requests: one for `size`, `read` (ranged GET) and `remove`; one for a write up to `part_bytes`,
/// else one for each part and one more; one for each 1,000 objects of a listing. Objects that are
/// read as a whole, and all that are written, are checked by their CRC32C.
class gs : public any_async_store {
 public:
  static constexpr std::string_view schemes = "gs://";

  gs(runtime& threads, std::string_view url, const gs_options& options = {})
      : any_async_store(make(threads, url, options)) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "gs";
  }
  [[nodiscard]] static gs open(std::string_view url, runtime& threads,
                               warning_function warn = &warn_on_stderr) {
    gs_options options;
    options.warn = std::move(warn);
    return {threads, url, options};
  }

 private:
  [[nodiscard]] static any_async_store make(runtime& threads, std::string_view url,
                                            const gs_options& options) {
    const cloud_detail::cloud_url parts = cloud_detail::parse_cloud_url(url);
    if (!s3_detail::is_bucket_name(parts.place)) {
      throw cloud_detail::bad_url(url, "this URL names no bucket: gs://bucket/prefix");
    }
    std::string endpoint = options.endpoint;
    bool of_url = false;
    for (const auto& [name, value] : parts.parameters) {
      if (name != "endpoint") {
        throw cloud_detail::bad_url(url,
                                    "gs:// URLs have the parameter endpoint, not \"" + name + '"');
      }
      endpoint = value;
      of_url = true;
    }
    const auto emulator = options.variables("STORAGE_EMULATOR_HOST");
    if (endpoint.empty()) endpoint = overridden(options.variables);
    const bool emulated = endpoint.empty() && emulator;
    if (emulated)
      endpoint = emulator->find("://") == emulator->npos ? "http://" + *emulator : *emulator;
    const auto id = options.variables("GCS_KEY"), secret = options.variables("GCS_SECRET");
    if (!options.keys && id && secret)
      return by_s3(threads, parts, endpoint, *id, *secret, options);
    gs_settings settings{.bucket = parts.place, .root = parts.prefix};
    if (!endpoint.empty()) settings.endpoint = cloud_detail::checked_endpoint(endpoint, "gs://");
    const upload_plan plan{.part_bytes = options.part_bytes.value, .retry = options.part_retry};
    const net::detail::token_bounds bounds{.service = "Google",
                                           .endpoint = settings.endpoint,
                                           .of_url = of_url,
                                           .domains = {"googleapis.com"},
                                           .setting = "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"};
    return any_async_store(
        cloud_store(threads, std::make_shared<gs_api>(settings, plan), options.http,
                    net::detail::bounded_access(keys(threads, options, emulated), bounds)));
  }

  /// The endpoint of Google's command line, which names the API, too: https://host/storage/v1/.
  [[nodiscard]] static std::string overridden(const net::environment& variables) {
    std::string out = variables("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE").value_or("");
    for (const std::string_view end : {"/", "/storage/v1"}) {
      if (out.ends_with(end)) out.resize(out.size() - end.size());
    }
    return out;
  }

  /// An emulator takes requests without keys, unless somebody says which.
  [[nodiscard]] static net::any_access keys(runtime& threads, const gs_options& options,
                                            bool emulated) {
    if (options.keys) return *options.keys;
    if (emulated && !options.variables("GOOGLE_APPLICATION_CREDENTIALS")) {
      return net::anonymous_access();
    }
    return net::default_google_access(threads, options.http, options.variables, options.warn);
  }

  [[nodiscard]] static any_async_store by_s3(runtime& threads, const cloud_detail::cloud_url& parts,
                                             const std::string& endpoint, const std::string& id,
                                             const std::string& secret, const gs_options& options) {
    s3_options as_s3{
        .endpoint = endpoint.empty() ? "https://storage.googleapis.com" : endpoint,
        .region = "auto",
        .credentials = net::explicit_aws_credentials({.access_key_id = id,
                                                      .secret_access_key = secret,
                                                      .source = "the environment (GCS_KEY)"}),
        .part_bytes = options.part_bytes,
        .parallel_parts = options.parallel_parts,
        .part_retry = options.part_retry,
        .http = options.http,
        .variables = [](const std::string&) { return std::nullopt; }};
    s3_settings settings =
        resolve_s3("s3://" + parts.place + (parts.prefix.empty() ? "" : "/") + parts.prefix, as_s3);
    settings.scheme = "gs://";
    settings.service = "Google Cloud Storage";
    return any_async_store(cloud_store(s3_client(threads, settings, as_s3)));
  }
};

static_assert(versioned_store<gs> && openable_store<gs>);

}  // namespace mdstream::inline v0::store
