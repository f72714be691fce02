#pragma once

#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/store/detail/hf/api.hpp>
#include <mdstream/store/hf.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail::hf {

/// Where `org/name@revision` ends in the path of a URL: the Hub's own references have parts.
MDSTREAM_INLINE std::size_t end_of_repository(std::string_view path) {
  const std::size_t end = path.find('/', path.find('/') + 1);
  for (const std::string_view reference : {"@refs/convert/", "@refs/pr/"}) {
    const std::size_t at = path.find(reference);
    if (at != std::string_view::npos && at < end) return path.find('/', at + reference.size());
  }
  return end;
}

/// Where logins leave their token: the file that is named, otherwise that of today's command line,
/// then that of versions before 0.14.
MDSTREAM_INLINE std::vector<std::string> token_files(const net::environment& variables) {
  if (const auto file = variables("HF_TOKEN_PATH")) return {*file};
  const std::string cache = variables("XDG_CACHE_HOME").value_or("~/.cache") + "/huggingface";
  return {variables("HF_HOME").value_or(cache) + "/token", "~/.huggingface/token"};
}

}  // namespace mdstream::inline v0::detail::hf

namespace mdstream::inline v0::store {

MDSTREAM_INLINE hf hf::open(std::string_view url, runtime& threads, warning_function warn) {
  hf_options options;
  options.warn = std::move(warn);
  return {threads, url, options};
}

MDSTREAM_INLINE detail::hf_settings hf::resolved(std::string_view url, const hf_options& options) {
  const detail::cloud::cloud_url parts = detail::cloud::parse_cloud_url(url);
  const bool is_model = parts.place != "datasets";
  const std::string all = is_model ? parts.place + '/' + parts.prefix : parts.prefix;
  const std::size_t slash = all.find('/');
  if (parts.place.empty() || parts.place == "spaces" || parts.prefix.empty() ||
      slash == std::string::npos) {
    throw detail::cloud::bad_url(url,
                                 "URLs of the Hub are hf://datasets/<org>/<name>/<path> for a "
                                 "dataset, hf://<org>/<name>/<path> for a model");
  }
  const std::size_t end = detail::hf::end_of_repository(all);
  detail::hf_settings out{.repo = all.substr(0, end), .is_model = is_model};
  if (end != std::string::npos) out.root = all.substr(end + 1);
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
      throw detail::cloud::bad_url(url, "hf:// URLs have the parameters revision and endpoint");
    }
  }
  if (!options.revision.empty()) out.revision = options.revision;
  if (out.revision == "~parquet") out.revision = "refs/convert/parquet";
  if (endpoint.empty()) endpoint = options.variables("HF_ENDPOINT").value_or(out.endpoint);
  out.endpoint = detail::cloud::checked_endpoint(endpoint, "the Hub");
  return out;
}

MDSTREAM_INLINE hf::hf(runtime& threads, std::string_view url, const hf_options& options)
    : hf(threads, resolved(url, options), options) {}

MDSTREAM_INLINE hf::hf(runtime& threads, const detail::hf_settings& settings,
                       const hf_options& options)
    : any_async_store(detail::make_cloud_store(
          threads,
          std::make_shared<detail::hf_api>(
              settings,
              detail::upload_plan{.parallel = options.parallel_parts, .retry = options.part_retry}),
          options.http,
          net::detail::bounded_access(
              options.credentials ? *options.credentials : default_keys(options),
              {.service = "Hugging Face",
               .endpoint = settings.endpoint,
               .of_url = settings.endpoint_of_url,
               .domains = {"huggingface.co", "hf.co"},
               .setting = "HF_ENDPOINT"}))) {}

MDSTREAM_INLINE net::any_access hf::default_keys(const hf_options& options) {
  return net::computed_access([variables = options.variables,
                               warn = net::detail::each_once(
                                   options.warn)]() -> std::optional<net::access> {
    for (const char* const name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
      if (const auto token = variables(name)) {
        return net::bearer_access(net::detail::header_token(*token),
                                  "the environment (" + std::string(name) + ")");
      }
    }
    for (const std::string& each : detail::hf::token_files(variables)) {
      const std::string file = net::detail::in_home(variables, each);
      const auto token = net::detail::read_secret(file, warn);
      if (!token || net::detail::header_token(*token).empty()) continue;
      return net::bearer_access(net::detail::token_of_file(*token, file), "the login in " + file);
    }
    return std::nullopt;
  });
}

}  // namespace mdstream::inline v0::store
