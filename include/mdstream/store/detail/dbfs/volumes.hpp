#pragma once

/// Unity Catalog's volumes as a `cloud_api`. Needs libcurl: link mdstream::dbfs. Source:
/// Databricks' Files API, version 2.0.

#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/dbfs/workspace_api.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

/// A volume's files. Their versions are told apart by the second of their last change.
class volumes_api final : public workspace_api {
 public:
  /// What the Files API takes as one request.
  static constexpr std::uint64_t most_at_once = std::uint64_t{5} << 30;

  /// Files of more than `most_whole` bytes are sent in parts.
  volumes_api(store::dbfs_settings settings, upload_plan plan,
              std::uint64_t most_whole = most_at_once)
      : workspace_api(std::move(settings), plan.retry), plan_(plan), most_whole_(most_whole) {}

  [[nodiscard]] cloud_call look(const std::string& key) const override {
    return call("HEAD", "files", key);
  }
  [[nodiscard]] MDSTREAM_INLINE object_version
  version(const net::http_response& answer) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_call get(const std::string& key,
                                               const object_version* held) const override;
  [[nodiscard]] bool tags_are_etags() const override { return false; }

  MDSTREAM_INLINE void remove(const cloud_client& client, std::string key, std::stop_token stop,
                              diagnostics& where, store_handler<> done) const override;

  [[nodiscard]] MDSTREAM_INLINE cloud_page page(const cloud_call& asked,
                                                const net::http_response& answer) const override;

  /// By Unity Catalog's API: the Files API answers alike for an empty volume and for none.
  [[nodiscard]] MDSTREAM_INLINE std::optional<cloud_call> place() const override;

  /// One PUT, or parts that go to the cloud behind the volume by signed URLs; where the directory
  /// is not there, it is made and the file sent again.
  MDSTREAM_INLINE void write(const cloud_client& client, std::string key, bytes_view bytes,
                             std::stop_token stop, diagnostics& where,
                             store_handler<> done) const override;

  [[nodiscard]] bool creates() const override { return true; }
  MDSTREAM_INLINE void create(const cloud_client& client, std::string key, bytes_view bytes,
                              std::stop_token stop, diagnostics& where,
                              store_handler<bool> done) const override;
  [[nodiscard]] bool was_there(const net::http_response& answer) const override {
    return answer.status == 409 && refusal(answer).code.ends_with("ALREADY_EXISTS");
  }

 private:
  /// One write; keeps itself until it completes.
  struct upload;

  void put(const cloud_client& client, std::string key, bytes_view bytes, bool if_absent,
           std::stop_token stop, diagnostics& where, store_handler<bool> done) const;

  [[nodiscard]] cloud_call directory(const std::string& key) const override {
    return call("GET", "directories", key);
  }
  [[nodiscard]] cloud_call call(std::string method, const char* kind, const std::string& key) const;

  /// With those above it.
  void make_directory(const cloud_client& client, const std::string& key, std::stop_token stop,
                      diagnostics& where, store_handler<> done) const;

  const upload_plan plan_;
  const std::uint64_t most_whole_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs/volumes.ipp>
#endif
