#pragma once

/// Azure's Blob service as a `cloud_api`. Needs libcurl: link mdstream::azure. Source: Azure
/// Storage REST API, version 2021-12-02.

#include <mdstream/store/azure/options.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/version.hpp>

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail::azure {

/// Reads one page of a container's blobs. `next` is the mark of the next one, empty at the end.
/// Directories of accounts with a hierarchical namespace are left out.
[[nodiscard]] std::vector<object_info> parse_blobs(std::string_view text, std::string& next);

[[nodiscard]] cloud_refusal parse_refusal(const net::http_response& answer);

}  // namespace mdstream::inline v0::detail::azure

namespace mdstream::inline v0::detail {

class azure_api final : public cloud_api {
 public:
  azure_api(store::azure_settings settings, upload_plan plan);

  [[nodiscard]] std::string name() const override { return "Azure"; }
  [[nodiscard]] const std::string& root() const override { return settings_.root; }
  [[nodiscard]] MDSTREAM_INLINE std::string url(std::string_view key) const override;
  [[nodiscard]] MDSTREAM_INLINE cloud_refusal
  refusal(const net::http_response& answer) const override;

  [[nodiscard]] cloud_call look(const std::string& key) const override { return call("HEAD", key); }
  [[nodiscard]] MDSTREAM_INLINE object_version
  version(const net::http_response& answer) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_call get(const std::string& key,
                                               const object_version* held) const override;

  MDSTREAM_INLINE void remove(const cloud_client& client, std::string key, std::stop_token stop,
                              diagnostics& where, store_handler<> done) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_call list(const std::string& prefix) const override;
  [[nodiscard]] MDSTREAM_INLINE cloud_page page(const cloud_call& asked,
                                                const net::http_response& answer) const override;
  [[nodiscard]] bool was_absent(const net::http_response& answer) const override {
    return refusal(answer).code == "BlobNotFound";
  }

  MDSTREAM_INLINE void write(const cloud_client& client, std::string key, bytes_view bytes,
                             std::stop_token stop, diagnostics& where,
                             store_handler<> done) const override;

  /// By one call, of as many bytes as the service takes by one.
  [[nodiscard]] bool creates() const override { return true; }
  MDSTREAM_INLINE void create(const cloud_client& client, std::string key, bytes_view bytes,
                              std::stop_token stop, diagnostics& where,
                              store_handler<bool> done) const override;
  [[nodiscard]] MDSTREAM_INLINE bool was_there(const net::http_response& answer) const override;

 private:
  [[nodiscard]] cloud_call put(const std::string& key, bytes_view bytes) const;

  [[nodiscard]] cloud_call call(std::string method, const std::string& key) const;

  /// Blocks that are listed at the end become the blob. Their names are this upload's own, so that
  /// two writers of one blob do not mix theirs; but the first that lists its own has the other's
  /// discarded, whose upload fails then and may be begun anew. Blocks that are never listed go
  /// after a week.
  [[nodiscard]] upload_steps block_steps(const std::string& key, bytes_view bytes) const;

  const store::azure_settings settings_;
  upload_plan plan_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/azure/api.ipp>
#endif
