#pragma once

/// S3 as a `cloud_api`. Needs libcurl and OpenSSL: link mdstream::s3. Source: Amazon S3 API
/// Reference.

#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/s3/access.hpp>
#include <mdstream/store/detail/s3/refusal.hpp>
#include <mdstream/store/s3/options.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

class s3_api final : public cloud_api {
 public:
  s3_api(store::s3_settings settings, upload_plan plan, std::shared_ptr<s3_signer> signer);

  [[nodiscard]] std::string name() const override { return settings_.service; }
  [[nodiscard]] const std::string& root() const override { return settings_.root; }
  [[nodiscard]] MDSTREAM_INLINE std::string url(std::string_view key) const override;
  [[nodiscard]] cloud_refusal refusal(const net::http_response& answer) const override {
    return s3_refusal(answer).words(settings_.requester_pays);
  }
  [[nodiscard]] bool signs_bodies() const override { return signer_->reads_bodies(); }

  /// A bucket of another region says which.
  [[nodiscard]] MDSTREAM_INLINE bool cure(cloud_call& call,
                                          const net::http_response& answer) const override;

  /// A request of the store's own region, for what a store has no name for too. An empty key is the
  /// bucket.
  [[nodiscard]] cloud_call request(std::string method, const std::string& key,
                                   const std::vector<net::name_value>& query = {}) const;

  /// Whether a URL is all that a request for an object needs.
  [[nodiscard]] bool has_plain_requests() const { return settings_.object_headers.empty(); }

  /// A request of which nothing but its URL is sent.
  [[nodiscard]] net::http_request bare_request(std::string method, const std::string& key) const;

  [[nodiscard]] cloud_call look(const std::string& key) const override {
    return request("HEAD", key);
  }
  [[nodiscard]] MDSTREAM_INLINE object_version
  version(const net::http_response& answer) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_call get(const std::string& key,
                                               const object_version* held) const override;

  MDSTREAM_INLINE void remove(const cloud_client& client, std::string key, std::stop_token stop,
                              diagnostics& where, store_handler<> done) const override;
  [[nodiscard]] MDSTREAM_INLINE bool was_absent(const net::http_response& answer) const override;

  [[nodiscard]] cloud_call list(const std::string& prefix) const override {
    return page_call(prefix, "");
  }
  [[nodiscard]] MDSTREAM_INLINE cloud_page page(const cloud_call& asked,
                                                const net::http_response& answer) const override;
  /// A directory bucket lists directories alone.
  [[nodiscard]] bool lists_more() const override { return settings_.is_directory_bucket(); }

  MDSTREAM_INLINE void write(const cloud_client& client, std::string key, bytes_view bytes,
                             std::stop_token stop, diagnostics& where,
                             store_handler<> done) const override;

  [[nodiscard]] bool creates() const override { return true; }
  MDSTREAM_INLINE void create(const cloud_client& client, std::string key, bytes_view bytes,
                              std::stop_token stop, diagnostics& where,
                              store_handler<bool> done) const override;

 private:
  using header_list = std::vector<net::http_header>;

  static constexpr const char* crc_header = "x-amz-checksum-crc32c";
  static constexpr const char* crc_algorithm = "x-amz-checksum-algorithm";

  /// A signature that covers the body says as much.
  [[nodiscard]] bool sends_checksums() const;

  [[nodiscard]] cloud_call page_call(const std::string& prefix, const std::string& token) const;

  /// Whether ETags may be digests. Those of a directory bucket are not, though they may look so.
  [[nodiscard]] bool tags_tell_bytes() const noexcept { return !settings_.is_directory_bucket(); }

  /// A request that makes an object.
  [[nodiscard]] cloud_call making(std::string method, const std::string& key,
                                  const std::vector<net::name_value>& query = {}) const;

  void put(const cloud_client& client, std::string key, bytes_view bytes, header_list condition,
           std::stop_token stop, diagnostics& where, store_handler<bool> done) const;

  /// `written` is set to false where `condition` is not met at the end. The steps refer to this.
  [[nodiscard]] upload_steps part_steps(std::string key, std::uint64_t bytes, header_list condition,
                                        std::shared_ptr<bool> written) const;

  /// An answer 200 may hold an error, or be of somebody between: only S3's word is believed.
  [[nodiscard]] static int status_at_end(const net::http_response& answer);

  const store::s3_settings settings_;
  const upload_plan plan_;
  const std::shared_ptr<s3_signer> signer_;
};

/// A client of a bucket.
[[nodiscard]] cloud_client s3_client(runtime& threads, const store::s3_settings& settings,
                                     const store::s3_options& options);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3/api.ipp>
#endif
