// The fuzz targets of what clouds answer, and of their tools' files and settings.

#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/aws_sso.hpp>
#include <mdstream/net/detail/google_files.hpp>
#include <mdstream/net/detail/program_access.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/ini.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/pem.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/time_text.hpp>
#include <mdstream/net/web_token.hpp>
#include <mdstream/net/x509.hpp>
#include <mdstream/store/azure/options.hpp>
#include <mdstream/store/detail/azure/api.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/detail/dbfs/files.hpp>
#include <mdstream/store/detail/dbfs/volumes.hpp>
#include <mdstream/store/detail/gs/api.hpp>
#include <mdstream/store/detail/hf/api.hpp>
#include <mdstream/store/detail/hf/messages.hpp>
#include <mdstream/store/detail/hf/signed_urls.hpp>
#include <mdstream/store/detail/oci/api.hpp>
#include <mdstream/store/detail/s3/messages.hpp>
#include <mdstream/store/detail/sftp/key_file.hpp>
#include <mdstream/store/detail/sftp/listing.hpp>
#include <mdstream/store/s3/options.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "fuzz/answer_text.hpp"
#include "fuzz/refusal.hpp"
#include "fuzz/scratch_file.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

namespace net = mdstream::net;
namespace detail = mdstream::detail;

namespace {

const detail::upload_plan plan;
constexpr net::wall_clock::time_point now{std::chrono::seconds(1'800'000'000)};

/// The API of that name; null where there is none.
std::unique_ptr<const detail::cloud_api> api_of(std::string_view name) {
  namespace store = mdstream::store;
  if (name == "gs") return std::make_unique<detail::gs_api>(detail::gs_settings{}, plan);
  if (name == "azure")
    return std::make_unique<detail::azure_api>(store::azure_settings{.endpoint = "https://a"},
                                               plan);
  if (name == "oci") {
    return std::make_unique<detail::oci_api>(
        store::oci_settings{.bucket = "b", .namespace_name = "n", .endpoint = "https://o"}, plan);
  }
  if (name == "hf")
    return std::make_unique<detail::hf_api>(detail::hf_settings{.repo = "o/n"}, plan);
  if (name == "dbfs")
    return std::make_unique<detail::dbfs_api>(store::dbfs_settings{.host = "https://d"},
                                              plan.retry);
  if (name == "volumes") {
    return std::make_unique<detail::volumes_api>(
        store::dbfs_settings{.host = "https://d", .volume = "/Volumes/c/s/v"}, plan);
  }
  return nullptr;
}

/// All that an answer of a store may be read for.
void read_answer(const detail::cloud_api& api, const net::http_response& answer) {
  (void)api.refusal(answer);
  (void)api.lists_nothing(answer);
  (void)api.was_absent(answer);
  (void)api.was_there(answer);
  allow_refusal([&] {
    const mdstream::object_version version = api.version(answer);
    require(!api.get("key", &version).url.empty());
  });
  allow_refusal([&] {
    if (const auto check = api.check(answer)) {
      check->put(mdstream::as_bytes(answer.text));
      check->finish();
    }
  });
  allow_refusal([&] {
    const detail::cloud_call asked = api.list("a/b");
    const detail::cloud_page page = api.page(asked, answer);
    for (const auto& object : page.objects) require(object.key.size() <= answer.text.size());
    const auto url = net::parse_http_url(asked.url);
    for (const detail::cloud_call& each : page.more) {  // it gets credentials, too
      const auto next = net::parse_http_url(each.url);
      require(next && net::same_origin(*url, *next));
    }
  });
}

/// A login of AWS's command line, whose token is read from that file.
const net::sso_login& login_of(std::string_view token) {
  static const scratch_file file(net::detail::sso_token_file({.cached_as = "s", .cache = "."}));
  static const net::sso_login login{.cached_as = "s", .cache = file.directory()};
  (void)file.write(token);
  return login;
}

}  // namespace

void ini(std::string_view input) {
  for (const auto comments : {net::ini_comments::own_lines, net::ini_comments::behind_values})
    allow_refusal([&] {
      for (const auto& [name, section] : net::parse_ini(input, "file", comments))
        for (const auto& [key, value] : section) {
          require(key.size() + value.size() <= input.size());
          require(net::setting(section, key).value_or("") == value);
        }
    });
}

void pem(std::string_view input) {
  (void)net::pem_fault(input);
  (void)detail::sftp::is_encrypted_key(input);
  allow_refusal([&] { require(!net::certificate::from_pem(input, "file").der().empty()); });
  allow_refusal(
      [&] { require(!net::rsa_key::from_pem(input, "file", "phrase").sign("x").empty()); });
}

void cloud_answer(std::string_view input) {
  const std::string_view kind = take_line(input);
  mdstream::diagnostics where;
  allow_refusal([&] {
    if (kind == "s3 error") {
      require(detail::parse_s3_error(input).code.size() <= input.size());
    } else if (kind == "s3 page") {
      for (const auto& object : detail::parse_s3_page(input, where).objects)
        require(object.key.size() <= input.size());
    } else if (kind == "s3 upload") {
      require(!detail::parse_s3_upload_id(input, where).empty());
    } else if (kind == "s3 completion") {
      (void)detail::is_s3_completion(input);
    } else if (kind == "azure page") {
      std::string next;
      for (const auto& object : detail::azure::parse_blobs(input, next))
        require(object.key.size() <= input.size());
    } else if (kind == "hf place") {
      const net::uri endpoint = net::parse_uri("https://hub/");
      const std::string hash(64, 'a');
      for (const std::string& part : detail::hf::parse_place(input, hash, 1 << 20, endpoint).parts)
        detail::hf::require_upload_url(part, endpoint);
    } else if (kind == "hf mode") {
      (void)detail::hf::goes_to_lfs(input, "key");
    } else if (kind == "hf history") {
      (void)detail::hf::has_commit(std::string(input), "description");
    } else if (kind == "sftp entry") {
      require(detail::sftp::parse_entry(input).name.find('/') == std::string::npos);
    } else if (kind == "token") {
      require(!net::parse_token_answer(input, "service", now).secrets.empty());
    } else if (kind == "web token") {
      (void)net::web_token_expiry(input);
    } else if (kind == "aws keys") {
      require(!net::parse_aws_keys_json(input, "service").anonymous());
    } else if (kind == "sts keys") {
      require(net::parse_sts_error(input).size() <= input.size());
      require(!net::parse_sts_keys(input, "service").anonymous());
    } else if (kind == "s3 session") {
      require(!net::parse_s3_session(input, "service").session_token.empty());
    } else if (kind == "printed token") {
      require(!net::detail::parse_printed_token(input, "program", now).secrets.empty());
    } else if (kind == "sso keys") {
      require(!net::detail::parse_sso_keys(input, "service").anonymous());
    } else if (kind == "sso token") {
      const auto token = net::detail::read_sso_token(login_of(input), "login");
      require(token.access.size() + token.refresh.size() <= input.size());
      require(net::detail::parse_refreshed(input, token, now).expires >= now);
    } else if (kind == "google file") {
      require(!net::detail::parse_google_file("file", input).kind.empty());
    } else if (const auto api = api_of(kind)) {
      const auto answer = answer_of(input);
      if (!answer) return;
      read_answer(*api, *answer);
      allow_refusal([&] { (void)detail::oci_api::read_namespace(*answer); });
      require(detail::dbfs_api::read_block(*answer, 100).size() <= 100);
    }
  });
}

void setting(std::string_view input) {
  const std::string text(input);
  allow_refusal([&] { (void)detail::cloud::parse_cloud_url(text); });
  allow_refusal([&] {
    mdstream::store::s3_settings settings;
    mdstream::store::s3_options options;
    detail::s3::apply_s3_url(text, settings, options);
  });
  allow_refusal([&] { (void)detail::s3::parse_endpoint(text); });
  std::string_view left;
  (void)detail::s3::parse_access_point(text, left);
  allow_refusal([&] { (void)detail::azure::parse_connection_string(text); });
  if (const auto url = net::parse_http_url(text)) require(!url->host.empty());
  for (const auto time : {net::parse_iso_time(text), net::parse_http_date(text)})
    if (time) require(net::parse_http_date(net::http_date(*time)) == time);
  const auto pause = net::parse_retry_after(text, now);
  if (pause) require(pause->count() >= 0 && *pause <= std::chrono::hours(24));
  (void)net::parse_rate_limit(text);
  (void)detail::hf::end_of_signature(text);
  require(detail::s3::zone_of(text).size() <= text.size());
  (void)net::content_range::parse(text);
  (void)mdstream::detail::parse_bytes(text);
  (void)mdstream::detail::parse_count(text);
}

}  // namespace fuzz
