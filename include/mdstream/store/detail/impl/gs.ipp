#pragma once

#include <mdstream/core/sizes.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/detail/google_variables.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/google_access.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/store/detail/gs/api.hpp>
#include <mdstream/store/detail/s3/api.hpp>
#include <mdstream/store/gs.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <memory>
#include <utility>

namespace mdstream::inline v0::store {

MDSTREAM_INLINE gs gs::open(std::string_view url, runtime& threads, warning_function warn) {
  gs_options options;
  options.warn = std::move(warn);
  return {threads, url, options};
}

MDSTREAM_INLINE any_async_store gs::make(runtime& threads, std::string_view url,
                                         const gs_options& options) {
  const detail::cloud::cloud_url parts = detail::cloud::parse_cloud_url(url);
  if (!detail::s3::is_bucket_name(parts.place)) {
    throw detail::cloud::bad_url(url, "this URL names no bucket: gs://bucket/prefix");
  }
  std::string endpoint = options.endpoint;
  bool of_url = false;
  for (const auto& [name, value] : parts.parameters) {
    if (name != "endpoint") {
      throw detail::cloud::bad_url(url,
                                   "gs:// URLs have the parameter endpoint, not \"" + name + '"');
    }
    endpoint = value;
    of_url = true;
  }
  const auto emulator = options.variables(net::detail::google_variables::emulator);
  if (endpoint.empty()) endpoint = overridden(options.variables);
  const bool emulated = endpoint.empty() && emulator;
  if (emulated)
    endpoint = emulator->find("://") == emulator->npos ? "http://" + *emulator : *emulator;
  const auto id = options.variables(net::detail::google_variables::hmac_id),
             secret = options.variables(net::detail::google_variables::hmac_secret);
  if (!options.credentials && id && secret) {
    if (!options.user_project.empty()) {
      throw detail::cloud::bad_url(
          url, "requests by HMAC keys (GCS_KEY and GCS_SECRET) cannot be billed to the project \"" +
                   options.user_project + "\" (user_project): unset the keys or the option");
    }
    return by_s3(threads, parts, endpoint, *id, *secret, options);
  }
  detail::gs_settings settings{.bucket = parts.place, .root = parts.prefix};
  if (!endpoint.empty()) settings.endpoint = detail::cloud::checked_endpoint(endpoint, "gs://");
  settings.user_project = options.user_project;
  if (options.user_project.empty()) {
    settings.user_project =
        options.variables(net::detail::google_variables::quota_project).value_or("");
    settings.payer_of_environment = true;
  }
  const detail::upload_plan plan{.part_bytes = options.part_bytes.value,
                                 .retry = options.part_retry};
  const net::detail::token_bounds bounds{.service = "Google",
                                         .endpoint = settings.endpoint,
                                         .of_url = of_url,
                                         .domains = {"googleapis.com"},
                                         .setting = net::detail::google_variables::endpoint};
  return detail::make_cloud_store(
      threads, std::make_shared<detail::gs_api>(settings, plan), options.http,
      net::detail::bounded_access(keys(threads, options, emulated), bounds));
}

MDSTREAM_INLINE std::string gs::overridden(const net::environment& variables) {
  std::string out = variables(net::detail::google_variables::endpoint).value_or("");
  for (const std::string_view end : {"/", "/storage/v1"}) {
    if (out.ends_with(end)) out.resize(out.size() - end.size());
  }
  return out;
}

MDSTREAM_INLINE net::any_access gs::keys(runtime& threads, const gs_options& options,
                                         bool emulated) {
  if (options.credentials) return *options.credentials;
  if (emulated && !options.variables(net::detail::google_variables::file)) {
    return net::anonymous_access();
  }
  return net::default_google_access(threads, options.http, options.variables, options.warn);
}

MDSTREAM_INLINE any_async_store gs::by_s3(runtime& threads, const detail::cloud::cloud_url& parts,
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
  return detail::make_cloud_store(detail::s3_client(threads, settings, as_s3));
}

}  // namespace mdstream::inline v0::store
