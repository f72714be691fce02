#pragma once

/// OCI's Object Storage as a `cloud_api`. Needs libcurl and OpenSSL: link mdstream::oci. Source:
/// Object Storage Service API, version 20160918.

#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/oci/options.hpp>
#include <mdstream/version.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail::oci {

/// The `opc-multipart-md5` of an object whose parts have these `opc-content-md5`. Nothing where one
/// has none.
[[nodiscard]] std::optional<std::string> md5_of_parts(const std::vector<std::string>& md5s);

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

class oci_api final : public cloud_api {
 public:
  oci_api(store::oci_settings settings, upload_plan plan);

  [[nodiscard]] std::string name() const override { return "OCI"; }
  [[nodiscard]] const std::string& root() const override { return settings_.root; }
  [[nodiscard]] MDSTREAM_INLINE std::string url(std::string_view key) const override;
  [[nodiscard]] MDSTREAM_INLINE cloud_refusal
  refusal(const net::http_response& answer) const override;
  [[nodiscard]] MDSTREAM_INLINE std::chrono::seconds clock_tolerance() const override;

  /// The tenancy's namespace, without which nothing but it can be asked for.
  [[nodiscard]] bool knows_namespace() const;
  void learn_namespace(std::string found) const;
  [[nodiscard]] cloud_call ask_namespace() const { return {.url = settings_.endpoint + "/n"}; }
  [[nodiscard]] static std::string read_namespace(const net::http_response& answer);

  [[nodiscard]] cloud_call look(const std::string& key) const override {
    return object("HEAD", key);
  }
  [[nodiscard]] MDSTREAM_INLINE object_version
  version(const net::http_response& answer) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_call get(const std::string& key,
                                               const object_version* held) const override;

  MDSTREAM_INLINE void remove(const cloud_client& client, std::string key, std::stop_token stop,
                              diagnostics& where, store_handler<> done) const override;
  [[nodiscard]] bool was_absent(const net::http_response& answer) const override {
    return refusal(answer).code == "ObjectNotFound";
  }

  [[nodiscard]] MDSTREAM_INLINE cloud_call list(const std::string& prefix) const override;
  [[nodiscard]] MDSTREAM_INLINE cloud_page page(const cloud_call& asked,
                                                const net::http_response& answer) const override;

  MDSTREAM_INLINE void write(const cloud_client& client, std::string key, bytes_view bytes,
                             std::stop_token stop, diagnostics& where,
                             store_handler<> done) const override;

  [[nodiscard]] bool creates() const override { return true; }
  MDSTREAM_INLINE void create(const cloud_client& client, std::string key, bytes_view bytes,
                              std::stop_token stop, diagnostics& where,
                              store_handler<bool> done) const override;

 private:
  [[nodiscard]] std::string bucket() const;
  [[nodiscard]] cloud_call object(std::string method, const std::string& key) const;

  /// Set where a call with a condition was answered that there is an object.
  using was_there = std::shared_ptr<std::atomic<bool>>;

  static void put_condition(cloud_call& call, was_there unless);

  void put(const cloud_client& client, std::string key, bytes_view bytes, was_there unless,
           std::stop_token stop, diagnostics& where, store_handler<> done) const;

  /// An upload's name and what its parts have, in their order.
  struct upload_state {
    std::string place{};  ///< the URL of the object's uploads, without a query
    std::string id{};     ///< for the query
    std::mutex mutex{};
    std::vector<std::string> tags{}, md5s{};
  };

  [[nodiscard]] upload_steps part_steps(const std::string& key, bytes_view bytes,
                                        was_there unless) const;

  const store::oci_settings settings_;
  const upload_plan plan_;
  mutable std::mutex mutex_;
  mutable std::string namespace_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/oci/api.ipp>
#endif
