#pragma once

/// The Hugging Face Hub's API as a `cloud_api`. Needs libcurl and OpenSSL: link mdstream::hf.
/// Source: the Hub's published API.

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/cloud/client.hpp>
#include <mdstream/store/cloud/upload.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/store/digest.hpp>
#include <mdstream/store/hf/commits.hpp>
#include <mdstream/store/hf/messages.hpp>
#include <mdstream/store/hf/write.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::store {

struct hf_settings {
  std::string repo{};  ///< `org/name`
  std::string revision = "main";
  std::string root{};
  std::string endpoint = "https://huggingface.co";
  bool endpoint_of_url = false;
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

/// Of a file in Git LFS the hash of its bytes; of any other its name as a blob of Git.
[[nodiscard]] inline std::string digest_of(const json::value& entry) {
  const json::value* const lfs = entry.find("lfs");
  if (lfs != nullptr && lfs->type() != json::kind::null) {
    return lfs->find("oid") == nullptr ? ""
                                       : digest_of_hex("sha256", 64, lfs->get<std::string>("oid"));
  }
  return entry.find("oid") == nullptr
             ? ""
             : digest_of_hex("git-sha1", 40, entry.get<std::string>("oid"));
}

/// The same of an answer's ETag, which is one of the two.
[[nodiscard]] inline std::string digest_of_answer(const net::http_headers& headers) {
  const auto linked = headers.find("X-Linked-ETag");
  const std::string_view tag = unquoted(linked ? *linked : headers.find("ETag").value_or(""));
  const std::string sha256 = digest_of_hex("sha256", 64, tag);
  return sha256.empty() ? digest_of_hex("git-sha1", 40, tag) : sha256;
}

}  // namespace hf_detail

/// The Hub as a `cloud_api`. Versions are tagged with the repository's commit, by which they can be
/// read for ever.
class hf_api final : public cloud_api {
 public:
  hf_api(hf_settings settings, upload_plan plan)
      : cloud_api(plan.retry),
        settings_(std::move(settings)),
        plan_(plan),
        places_{net::parse_http_url(settings_.endpoint).value(), api_url("preupload"),
                settings_.endpoint + '/' + dataset() + ".git/info/lfs/objects/batch",
                settings_.revision},
        commits_(std::make_shared<hub_commits>(api_url("commit"), plan.retry)) {}

  [[nodiscard]] std::string name() const override { return "Hugging Face"; }
  [[nodiscard]] const std::string& root() const override { return settings_.root; }
  [[nodiscard]] std::string url(std::string_view key) const override {
    return "hf://datasets/" + settings_.repo +
           (settings_.revision == "main" ? "" : '@' + settings_.revision) +
           (key.empty() ? "" : "/") + std::string(key);
  }
  [[nodiscard]] cloud_refusal refusal(const net::http_response& answer) const override {
    cloud_refusal out{.code = std::string(answer.headers.find("X-Error-Code").value_or("")),
                      .message = std::string(answer.headers.find("X-Error-Message").value_or(""))};
    // Of commits alone: another is under way, or came in between.
    if (answer.status == 409 || answer.status == 412) out.failure = errc::unavailable;
    return out;
  }

  /// The Hub has files that lie outside of Git LFS, and renamed repositories, elsewhere among its
  /// own. Not followed to where the bytes of others lie: the Hub itself knows size and commit.
  [[nodiscard]] cloud_call look(const std::string& key) const override {
    cloud_call out = resolve(key, settings_.revision);
    out.method = "HEAD";
    out.redirects_within = true;
    return out;
  }
  [[nodiscard]] object_version version(const net::http_response& answer) const override {
    const auto linked = answer.headers.find("X-Linked-Size");
    const auto bytes = linked        ? net::detail::whole_number<std::uint64_t>(*linked)
                       : answer.ok() ? mdstream::detail::content_length(answer.headers)
                                     : std::nullopt;
    if (!bytes) throw error(errc::corrupt, "the Hub does not tell the file's size");
    return {*bytes, std::string(answer.headers.find("X-Repo-Commit").value_or("")),
            hf_detail::digest_of_answer(answer.headers)};
  }

  [[nodiscard]] cloud_call get(const std::string& key, const object_version* held) const override {
    const bool holds = held != nullptr && !held->tag.empty();
    return resolve(key, holds ? held->tag : settings_.revision);
  }
  [[nodiscard]] bool tags_are_etags() const override { return false; }

  /// In a commit, as a write.
  void remove(const cloud_client& client, std::string key, std::stop_token stop, diagnostics& where,
              store_handler<> done) const override {
    std::make_shared<hub_write>(places_, commits_, client, plan_, std::move(key), bytes_view(),
                                std::move(stop), where, std::move(done))
        ->begin_removal();
  }
  [[nodiscard]] bool was_absent(const net::http_response& answer) const override {
    return refusal(answer).code == "EntryNotFound";
  }

  /// Of the directory that the prefix lies in, with all beneath it.
  [[nodiscard]] cloud_call list(const std::string& prefix) const override {
    const std::size_t slash = prefix.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : prefix.substr(0, slash);
    return {.url = api_url("tree") + '/' + net::percent_encode(directory, "/") + "?recursive=true",
            .key = prefix,
            .redirects = 8};
  }
  [[nodiscard]] cloud_page page(const cloud_call& asked,
                                const net::http_response& answer) const override {
    const json::value entries = json::parse(answer.text);
    cloud_page out;
    for (const json::value& each : entries.as<json::array>("the listing")) {
      if (each.get<std::string>("type") != "file") continue;
      out.objects.push_back({each.get<std::string>("path"), each.get<std::uint64_t>("size"),
                             hf_detail::digest_of(each)});
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

  /// Large objects are uploaded in parts of the Hub's choice, so many at a time as `plan` says.
  void write(const cloud_client& client, std::string key, bytes_view bytes, std::stop_token stop,
             diagnostics& where, store_handler<> done) const override {
    std::make_shared<hub_write>(places_, commits_, client, plan_, std::move(key), bytes,
                                std::move(stop), where, std::move(done))
        ->begin();
  }

 private:
  [[nodiscard]] std::string dataset() const {
    return "datasets/" + net::percent_encode(settings_.repo, "/");
  }
  [[nodiscard]] std::string api_url(const char* what) const {
    return settings_.endpoint + "/api/" + dataset() + '/' + what + '/' +
           net::percent_encode(settings_.revision);
  }

  [[nodiscard]] cloud_call resolve(const std::string& key, const std::string& revision) const {
    return {.url = settings_.endpoint + '/' + dataset() + "/resolve/" +
                   net::percent_encode(revision) + '/' + net::percent_encode(key, "/"),
            .key = key,
            .redirects = 8};
  }

  const hf_settings settings_;
  const upload_plan plan_;
  const hub_places places_;
  const std::shared_ptr<hub_commits> commits_;
};

}  // namespace mdstream::inline v0::store
