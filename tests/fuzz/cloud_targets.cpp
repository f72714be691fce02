// The fuzz targets of what clouds answer, and of their tools' files and settings.

#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/aws_sso.hpp>
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
#include <mdstream/store/detail/hf/messages.hpp>
#include <mdstream/store/detail/hf/signed_urls.hpp>
#include <mdstream/store/detail/s3/messages.hpp>
#include <mdstream/store/detail/sftp/key_file.hpp>
#include <mdstream/store/detail/sftp/listing.hpp>
#include <mdstream/store/s3/options.hpp>

#include <chrono>
#include <string>
#include <string_view>

#include "fuzz/refusal.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

namespace net = mdstream::net;
namespace detail = mdstream::detail;

namespace {

constexpr net::wall_clock::time_point now{std::chrono::seconds(1'800'000'000)};

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
