#pragma once

/// The Hugging Face Hub's API as a `cloud_api`. Needs libcurl and OpenSSL: link mdstream::hf.
/// Source: the Hub's published API.

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/hf/commits.hpp>
#include <mdstream/store/detail/hf/signed_urls.hpp>
#include <mdstream/store/detail/hf/write.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

struct hf_settings {
  std::string repo{};     ///< `org/name`
  bool is_model = false;  ///< else a dataset
  std::string revision = "main";
  std::string root{};
  std::string endpoint = "https://huggingface.co";
  bool endpoint_of_url = false;
};

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail::hf {

/// The URL of `rel="next"` in a Link header (RFC 8288).
[[nodiscard]] std::optional<std::string> next_link(const net::http_headers& headers);

/// Of a file in Git LFS the hash of its bytes; of any other its name as a blob of Git.
[[nodiscard]] std::string digest_of(const json::value& entry);

/// The same of an answer's ETag, which is one of the two.
[[nodiscard]] std::string digest_of_answer(const net::http_headers& headers);

}  // namespace mdstream::inline v0::detail::hf

namespace mdstream::inline v0::detail {

/// The Hub as a `cloud_api`. Versions are tagged with the repository's commit, by which they can be
/// read for ever.
class hf_api final : public cloud_api {
 public:
  hf_api(hf_settings settings, upload_plan plan);

  [[nodiscard]] std::string name() const override { return "Hugging Face"; }
  [[nodiscard]] const std::string& root() const override { return settings_.root; }
  [[nodiscard]] MDSTREAM_INLINE std::string url(std::string_view key) const override;
  [[nodiscard]] MDSTREAM_INLINE cloud_refusal
  refusal(const net::http_response& answer) const override;

  /// The Hub has files that lie outside of Git LFS, and renamed repositories, elsewhere among its
  /// own. Not followed to where the bytes of others lie: the Hub itself knows size and commit.
  [[nodiscard]] MDSTREAM_INLINE cloud_call look(const std::string& key) const override;
  [[nodiscard]] MDSTREAM_INLINE object_version
  version(const net::http_response& answer) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_call get(const std::string& key,
                                               const object_version* held) const override;
  [[nodiscard]] bool tags_are_etags() const override { return false; }
  /// The bytes of large files lie with others, where a signed URL lets in. One of a commit serves
  /// for all reads of it until it expires.
  [[nodiscard]] MDSTREAM_INLINE std::optional<cloud_call> get_signed(
      const std::string& key, const object_version* held) const override;
  [[nodiscard]] MDSTREAM_INLINE cloud_call get_at(const std::string& key,
                                                  const net::http_response& answer) const override;
  void forget_signed(const cloud_call& call) const override { signed_.forget(call.url); }

  /// In a commit, as a write.
  MDSTREAM_INLINE void remove(const cloud_client& client, std::string key, std::stop_token stop,
                              diagnostics& where, store_handler<> done) const override;
  [[nodiscard]] bool was_absent(const net::http_response& answer) const override {
    return refusal(answer).code == "EntryNotFound";
  }

  /// Of the directory that the prefix lies in, with all beneath it.
  [[nodiscard]] MDSTREAM_INLINE cloud_call list(const std::string& prefix) const override;
  [[nodiscard]] MDSTREAM_INLINE cloud_page page(const cloud_call& asked,
                                                const net::http_response& answer) const override;
  [[nodiscard]] bool lists_more() const override { return true; }
  [[nodiscard]] MDSTREAM_INLINE bool lists_nothing(const net::http_response& answer) const override;

  /// Large objects are uploaded in parts of the Hub's choice, so many at a time as `plan` says.
  MDSTREAM_INLINE void write(const cloud_client& client, std::string key, bytes_view bytes,
                             std::stop_token stop, diagnostics& where,
                             store_handler<> done) const override;

 private:
  /// Models lie at the root of the Hub.
  [[nodiscard]] std::string repository() const {
    return (settings_.is_model ? "" : "datasets/") + net::percent_encode(settings_.repo, "/");
  }
  [[nodiscard]] std::string api_url(const char* what) const;

  [[nodiscard]] cloud_call resolve(const std::string& key, const std::string& revision) const;

  const hf_settings settings_;
  const upload_plan plan_;
  const hub_places places_;
  const std::shared_ptr<hub_commits> commits_;
  mutable hf::signed_urls signed_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/hf/api.ipp>
#endif
