#pragma once

/// Google Cloud Storage's JSON API as a `cloud_api`. Needs libcurl: link mdstream::gs. Source:
/// Cloud Storage JSON API v1 and "Resumable uploads".

#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/gs/session.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

struct gs_settings {
  std::string bucket{};
  std::string root{};
  std::string endpoint = "https://storage.googleapis.com";
  std::string user_project{};         ///< that pays for requests; empty: the bucket's owner
  bool payer_of_environment = false;  ///< it does not pay for requests without credentials
};

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail::gs {

[[nodiscard]] std::uint64_t number_of(const json::value& in, const char* name);

/// An object's size, which some leave out where it is 0.
[[nodiscard]] std::uint64_t stored_bytes(const json::value& object);

/// Objects that were composed of others have no MD5, which is why the CRC32C is kept beside it.
[[nodiscard]] std::string digest_of(const json::value& object);

/// `crc32c=` of the X-Goog-Hash headers.
[[nodiscard]] std::optional<std::string> crc_of(const net::http_headers& headers);

class crc_check final : public cloud_check {
 public:
  explicit crc_check(std::string wanted) : wanted_(std::move(wanted)) {}
  void put(bytes_view bytes) override { crc_ = crc32c(bytes, crc_); }
  MDSTREAM_INLINE void finish() override;

 private:
  const std::string wanted_;
  std::uint32_t crc_ = 0;
};

}  // namespace mdstream::inline v0::detail::gs

namespace mdstream::inline v0::detail {

class gs_api final : public cloud_api {
 public:
  gs_api(gs_settings settings, upload_plan plan);

  [[nodiscard]] std::string name() const override { return "Google Cloud Storage"; }
  [[nodiscard]] const std::string& root() const override { return settings_.root; }
  [[nodiscard]] MDSTREAM_INLINE std::string url(std::string_view key) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_refusal
  refusal(const net::http_response& answer) const override;

  [[nodiscard]] cloud_call look(const std::string& key) const override {
    return object(key, "?fields=size,generation,md5Hash,crc32c");
  }
  [[nodiscard]] MDSTREAM_INLINE object_version
  version(const net::http_response& answer) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_call get(const std::string& key,
                                               const object_version* held) const override;
  [[nodiscard]] bool tags_are_etags() const override { return false; }

  [[nodiscard]] MDSTREAM_INLINE std::unique_ptr<cloud_check> check(
      const net::http_response& head) const override;

  MDSTREAM_INLINE void remove(const cloud_client& client, std::string key, std::stop_token stop,
                              diagnostics& where, store_handler<> done) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_call list(const std::string& prefix) const override;
  [[nodiscard]] MDSTREAM_INLINE cloud_page page(const cloud_call& asked,
                                                const net::http_response& answer) const override;

  MDSTREAM_INLINE void write(const cloud_client& client, std::string key, bytes_view bytes,
                             std::stop_token stop, diagnostics& where,
                             store_handler<> done) const override;

  /// By one call.
  [[nodiscard]] bool creates() const override { return true; }
  MDSTREAM_INLINE void create(const cloud_client& client, std::string key, bytes_view bytes,
                              std::stop_token stop, diagnostics& where,
                              store_handler<bool> done) const override;

 private:
  /// An upload that tells the checksum first: what has another never shows. Copies the bytes.
  [[nodiscard]] cloud_call with_metadata(const std::string& key, bytes_view bytes,
                                         const std::string& crc) const;

  /// Completes with whether the object was written; `if_absent`: by one call, unless there is one.
  void put(const cloud_client& client, std::string key, bytes_view bytes, bool if_absent,
           std::stop_token stop, diagnostics& where, store_handler<bool> done) const;

  /// Throws `errc::canceled` after a stop.
  [[nodiscard]] static std::string crc_of(const cloud_client& client, bytes_view bytes,
                                          const std::stop_token& stop);

  [[nodiscard]] cloud_call object(const std::string& key, const std::string& query) const;

  /// A call that the settings' project pays for.
  [[nodiscard]] cloud_call paid(cloud_call call) const;

  static void require_crc(const net::http_response& answer, const std::string& crc);

  [[nodiscard]] gs_upload by_session(const std::string& key, std::uint64_t total,
                                     const std::string& crc) const;

  const gs_settings settings_;
  const std::string objects_, uploads_;
  upload_plan plan_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/gs/api.ipp>
#endif
