#pragma once

#include <mdstream/net/fetch.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/hf/api.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mdstream::inline v0::detail::hf {

MDSTREAM_INLINE std::optional<std::string> next_link(const net::http_headers& headers) {
  const std::string_view link = headers.find("Link").value_or("");
  const std::size_t begin = link.find('<'), end = link.find('>');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin ||
      link.find("rel=\"next\"", end) == std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(link.substr(begin + 1, end - begin - 1));
}

MDSTREAM_INLINE std::string digest_of(const json::value& entry) {
  const json::value* const lfs = entry.find("lfs");
  if (lfs != nullptr && lfs->type() != json::kind::null) {
    return lfs->find("oid") == nullptr ? ""
                                       : digest_of_hex("sha256", 64, lfs->get<std::string>("oid"));
  }
  return entry.find("oid") == nullptr
             ? ""
             : digest_of_hex("git-sha1", 40, entry.get<std::string>("oid"));
}

MDSTREAM_INLINE std::string digest_of_answer(const net::http_headers& headers) {
  const auto linked = headers.find("X-Linked-ETag");
  const std::string_view tag = unquoted(linked ? *linked : headers.find("ETag").value_or(""));
  const std::string sha256 = digest_of_hex("sha256", 64, tag);
  return sha256.empty() ? digest_of_hex("git-sha1", 40, tag) : sha256;
}

}  // namespace mdstream::inline v0::detail::hf

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE hf_api::hf_api(hf_settings settings, upload_plan plan)
    : cloud_api(plan.retry),
      settings_(std::move(settings)),
      plan_(plan),
      places_{net::parse_http_url(settings_.endpoint).value(), api_url("preupload"),
              settings_.endpoint + '/' + repository() + ".git/info/lfs/objects/batch",
              settings_.revision},
      commits_(std::make_shared<hub_commits>(api_url("commit"), api_url("commits"), plan.retry)) {}

MDSTREAM_INLINE std::string hf_api::url(std::string_view key) const {
  return (settings_.is_model ? "hf://" : "hf://datasets/") + settings_.repo +
         (settings_.revision == "main" ? "" : '@' + settings_.revision) + (key.empty() ? "" : "/") +
         std::string(key);
}

MDSTREAM_INLINE cloud_refusal hf_api::refusal(const net::http_response& answer) const {
  cloud_refusal out{.code = std::string(answer.headers.find("X-Error-Code").value_or("")),
                    .message = std::string(answer.headers.find("X-Error-Message").value_or(""))};
  // Of commits alone: another is under way, or came in between.
  if (answer.status == 409 || answer.status == 412) out.failure = errc::unavailable;
  return out;
}

MDSTREAM_INLINE cloud_call hf_api::look(const std::string& key) const {
  cloud_call out = resolve(key, settings_.revision);
  out.method = "HEAD";
  out.redirects_within = true;
  return out;
}

MDSTREAM_INLINE object_version hf_api::version(const net::http_response& answer) const {
  const auto linked = answer.headers.find("X-Linked-Size");
  const auto bytes = linked        ? net::detail::whole_number<std::uint64_t>(*linked)
                     : answer.ok() ? mdstream::detail::content_length(answer.headers)
                                   : std::nullopt;
  if (!bytes) throw error(errc::corrupt, "the Hub does not tell the file's size");
  return {*bytes, std::string(answer.headers.find("X-Repo-Commit").value_or("")),
          detail::hf::digest_of_answer(answer.headers)};
}

MDSTREAM_INLINE cloud_call hf_api::get(const std::string& key, const object_version* held) const {
  const bool holds = held != nullptr && !held->tag.empty();
  cloud_call out = resolve(key, holds ? held->tag : settings_.revision);
  out.redirects_within = true;
  return out;
}

MDSTREAM_INLINE std::optional<cloud_call> hf_api::get_signed(const std::string& key,
                                                             const object_version* held) const {
  if (held == nullptr || held->tag.empty()) return std::nullopt;  // a branch moves
  auto url = signed_.find(resolve(key, held->tag).url, net::wall_clock::now());
  if (!url) return std::nullopt;
  return cloud_call{.url = *std::move(url), .key = key, .redirects = 8, .keyless = true};
}

MDSTREAM_INLINE cloud_call hf_api::get_at(const std::string& key,
                                          const net::http_response& answer) const {
  detail::cloud::require_signed_url(answer.leads_to, places_.endpoint,
                                    "the Hub redirects where this request must not follow, to");
  const auto commit = answer.headers.find("X-Repo-Commit");
  const auto end = detail::hf::end_of_signature(answer.leads_to);
  if (commit && !commit->empty() && end) {
    // By our clock, and a minute less: a read begins before it ends.
    const auto ahead = net::detail::ahead_of_us(answer, net::wall_clock::now());
    signed_.keep(resolve(key, std::string(*commit)).url, answer.leads_to,
                 net::detail::earlier(*end, ahead + std::chrono::minutes(1)));
  }
  return {.url = answer.leads_to, .key = key, .redirects = 8, .keyless = true};
}

MDSTREAM_INLINE void hf_api::remove(const cloud_client& client, std::string key,
                                    std::stop_token stop, diagnostics& where,
                                    store_handler<> done) const {
  std::make_shared<hub_write>(places_, commits_, client, plan_, std::move(key), bytes_view(),
                              std::move(stop), where, std::move(done))
      ->begin_removal();
}

MDSTREAM_INLINE cloud_call hf_api::list(const std::string& prefix) const {
  const std::size_t slash = prefix.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : prefix.substr(0, slash);
  return {.url = api_url("tree") + '/' + net::percent_encode(directory, "/") + "?recursive=true",
          .key = prefix,
          .redirects = 8};
}

MDSTREAM_INLINE cloud_page hf_api::page(const cloud_call& asked,
                                        const net::http_response& answer) const {
  const json::value entries = json::parse(answer.text);
  cloud_page out;
  const bool is_commit = !digest_of_hex("git-sha1", 40, settings_.revision).empty();
  const std::string tag = is_commit ? settings_.revision : "";
  for (const json::value& each : entries.as<json::array>("the listing")) {
    if (each.get<std::string>("type") != "file") continue;
    out.objects.push_back({each.get<std::string>("path"), each.get<std::uint64_t>("size"),
                           detail::hf::digest_of(each), tag});
  }
  if (const auto next = detail::hf::next_link(answer.headers)) {
    const auto here = net::parse_http_url(asked.url), there = net::parse_http_url(*next);
    if (!there || !net::same_origin(*here, *there)) {  // it would get the token
      throw error(errc::permission_denied, "the listing goes on at another server");
    }
    out.more.push_back({.url = *next, .key = asked.key});
  }
  return out;
}

MDSTREAM_INLINE bool hf_api::lists_nothing(const net::http_response& answer) const {
  return answer.status == 404 && refusal(answer).code == "EntryNotFound";
}

MDSTREAM_INLINE void hf_api::write(const cloud_client& client, std::string key, bytes_view bytes,
                                   std::stop_token stop, diagnostics& where,
                                   store_handler<> done) const {
  std::make_shared<hub_write>(places_, commits_, client, plan_, std::move(key), bytes,
                              std::move(stop), where, std::move(done))
      ->begin();
}

MDSTREAM_INLINE std::string hf_api::api_url(const char* what) const {
  return settings_.endpoint + (settings_.is_model ? "/api/models/" : "/api/") + repository() + '/' +
         what + '/' + net::percent_encode(settings_.revision);
}

MDSTREAM_INLINE cloud_call hf_api::resolve(const std::string& key,
                                           const std::string& revision) const {
  return {.url = settings_.endpoint + '/' + repository() + "/resolve/" +
                 net::percent_encode(revision) + '/' + net::percent_encode(key, "/"),
          .key = key,
          .redirects = 8};
}

}  // namespace mdstream::inline v0::detail
