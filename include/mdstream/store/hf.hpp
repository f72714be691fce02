#pragma once

/// Datasets of the Hugging Face Hub, read only. Needs libcurl: link mdstream::hf. Source: the Hub's
/// published API.

#if !__has_include(<curl/curl.h>)
#error "mdstream/store/hf.hpp needs <curl/curl.h>: install libcurl's headers and link mdstream::hf"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/cloud/settings.hpp>
#include <mdstream/store/cloud/store.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::store {

struct hf_options : cloud_options {
  std::string revision{};  ///< branch, tag or commit; unset: the URL's, else `main`
};

struct hf_settings {
  std::string repo{};  ///< `org/name`
  std::string revision = "main";
  std::string root{};
  std::string endpoint = "https://huggingface.co";
};

namespace hf_detail {

/// The URL of `rel="next"` in a Link header (RFC 8288).
[[nodiscard]] inline std::optional<std::string> next_link(const net::http_headers& headers) {
  const std::string_view link = headers.find("Link").value_or("");
  const std::size_t begin = link.find('<'), end = link.find('>');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin ||
      link.find("rel=\"next\"", end) == std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(link.substr(begin + 1, end - begin - 1));
}

}  // namespace hf_detail

/// The Hub as a `cloud_api`. Versions are tagged with the repository's commit, by which they can be
/// read for ever.
class hf_api final : public cloud_api {
 public:
  explicit hf_api(hf_settings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] std::string name() const override { return "Hugging Face"; }
  [[nodiscard]] const std::string& root() const override { return settings_.root; }
  [[nodiscard]] std::string url(std::string_view key) const override {
    return "hf://datasets/" + settings_.repo + (key.empty() ? "" : "/") + std::string(key);
  }
  [[nodiscard]] cloud_refusal refusal(const net::http_response& answer) const override {
    return {.code = std::string(answer.headers.find("X-Error-Code").value_or("")),
            .message = std::string(answer.headers.find("X-Error-Message").value_or(""))};
  }

  /// Not followed to where the bytes lie: the Hub itself knows size and commit.
  [[nodiscard]] cloud_call look(const std::string& key) const override {
    cloud_call out = resolve(key, settings_.revision);
    out.method = "HEAD";
    out.redirects = 0;
    out.also_good = 302;
    return out;
  }
  [[nodiscard]] object_version version(const net::http_response& answer) const override {
    const auto linked = answer.headers.find("X-Linked-Size");
    const auto bytes = linked        ? net::detail::decimal<std::uint64_t>(*linked)
                       : answer.ok() ? mdstream::detail::content_length(answer.headers)
                                     : std::nullopt;
    if (!bytes) throw error(errc::corrupt, "the Hub does not tell the file's size");
    return {*bytes, std::string(answer.headers.find("X-Repo-Commit").value_or(""))};
  }

  [[nodiscard]] cloud_call get(const std::string& key, const object_version* held) const override {
    const bool holds = held != nullptr && !held->tag.empty();
    return resolve(key, holds ? held->tag : settings_.revision);
  }
  [[nodiscard]] bool tags_are_etags() const override { return false; }

  [[nodiscard]] cloud_call remove(const std::string& key) const override { throw read_only(key); }

  /// Of the directory that the prefix lies in, with all beneath it.
  [[nodiscard]] cloud_call list(const std::string& prefix) const override {
    const std::size_t slash = prefix.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : prefix.substr(0, slash);
    return {.url = settings_.endpoint + "/api/datasets/" +
                   net::percent_encode(settings_.repo, "/") + "/tree/" +
                   net::percent_encode(settings_.revision) + '/' +
                   net::percent_encode(directory, "/") + "?recursive=true",
            .key = prefix};
  }
  [[nodiscard]] cloud_page page(const cloud_call& asked,
                                const net::http_response& answer) const override {
    const json::value entries = json::parse(answer.text);
    cloud_page out;
    for (const json::value& each : entries.as<json::array>("the listing")) {
      if (each.get<std::string>("type") != "file") continue;
      out.objects.push_back({each.get<std::string>("path"), each.get<std::uint64_t>("size")});
    }
    if (const auto next = hf_detail::next_link(answer.headers)) {
      const auto here = net::parse_http_url(asked.url), there = net::parse_http_url(*next);
      if (!there || !net::same_origin(*here, *there)) {  // it would get the token
        throw error(errc::permission_denied, "the listing goes on at another server");
      }
      out.more.push_back({.url = *next, .key = asked.key});
    }
    return out;
  }
  [[nodiscard]] bool lists_more() const override { return true; }
  [[nodiscard]] bool lists_nothing(const net::http_response& answer) const override {
    return answer.status == 404 && refusal(answer).code == "EntryNotFound";
  }

  void write(const cloud_client&, std::string key, bytes_view, std::stop_token, diagnostics& where,
             store_handler<> done) const override {
    const error failure = read_only(key);
    where = failure.where();
    done(failure.code());
  }

 private:
  [[nodiscard]] error read_only(const std::string& key) const {
    return {errc::unsupported,
            {.what = "the Hub is read only here: write to a directory and upload that with "
                     "`huggingface-cli upload --repo-type dataset`",
             .url = url(key)}};
  }

  [[nodiscard]] cloud_call resolve(const std::string& key, const std::string& revision) const {
    return {.url = settings_.endpoint + "/datasets/" + net::percent_encode(settings_.repo, "/") +
                   "/resolve/" + net::percent_encode(revision) + '/' +
                   net::percent_encode(key, "/"),
            .key = key,
            .redirects = 8};
  }

  const hf_settings settings_;
};

/// Files beneath `hf://datasets/<org>/<name>/<path>`; `<name>@<revision>`, or `?revision=`, is a
/// branch, tag or commit other than `main`. The token is that of HF_TOKEN or of a login
/// (`huggingface-cli login`), and goes to the Hub alone, not to where it redirects. Writing and
/// removing are errc::unsupported. Thread-safe; copies share connections and keys. The runtime has
/// to outlive the calls.
///
/// Requests: one for `size`; two for `read`, of which the second goes to the Hub's servers of
/// content; one for each 1,000 files of a listing.
class hf : public any_async_store {
 public:
  static constexpr std::string_view schemes = "hf://datasets/";

  hf(runtime& threads, std::string_view url, const hf_options& options = {})
      : any_async_store(cloud_store(threads, std::make_shared<hf_api>(resolved(url, options)),
                                    options.http,
                                    options.keys ? *options.keys : default_keys(options))) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "hf";
  }
  [[nodiscard]] static hf open(std::string_view url, runtime& threads) { return {threads, url}; }

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
  [[nodiscard]] static net::any_access default_keys(const hf_options& options) {
    return net::computed_access([variables = options.variables,
                                 warn = options.warn]() -> std::optional<net::access> {
      if (const auto token = variables("HF_TOKEN")) {
        return net::bearer_access(net::detail::header_token(*token), "the environment (HF_TOKEN)");
      }
      const std::string home = variables("HF_HOME").value_or("~/.cache/huggingface");
      const std::string file =
          net::detail::in_home(variables, variables("HF_TOKEN_PATH").value_or(home + "/token"));
      const auto token = net::detail::read_secret(file, warn);
      if (!token || net::detail::header_token(*token).empty()) return std::nullopt;
      return net::bearer_access(net::detail::header_token(*token), "the login in " + file);
    });
  }
};

static_assert(versioned_store<hf> && openable_store<hf>);

}  // namespace mdstream::inline v0::store
