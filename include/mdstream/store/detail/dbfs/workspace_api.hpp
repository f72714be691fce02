#pragma once

/// What the APIs of a Databricks workspace have in common. Needs libcurl: link mdstream::dbfs.

#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/dbfs/options.hpp>
#include <mdstream/store/detail/cloud/call.hpp>
#include <mdstream/version.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

/// Names, refusals and listings, which go from directory to directory.
class workspace_api : public cloud_api {
 public:
  workspace_api(store::dbfs_settings settings, retry_policy retry)
      : cloud_api(retry), settings_(std::move(settings)) {}

  [[nodiscard]] std::string name() const final { return "Databricks"; }
  [[nodiscard]] const std::string& root() const final { return settings_.root; }
  [[nodiscard]] std::string url(std::string_view key) const final { return settings_.url(key); }

  [[nodiscard]] MDSTREAM_INLINE cloud_refusal refusal(const net::http_response& answer) const final;

  /// Of the directory that the prefix lies in, then of those beneath it.
  [[nodiscard]] MDSTREAM_INLINE cloud_call list(const std::string& prefix) const final;
  [[nodiscard]] bool lists_more() const final { return true; }
  [[nodiscard]] bool lists_nothing(const net::http_response& answer) const final {
    return answer.status == 404;
  }

 protected:
  [[nodiscard]] const store::dbfs_settings& settings() const noexcept { return settings_; }

  /// The call for what lies in a directory.
  [[nodiscard]] virtual cloud_call directory(const std::string& key) const = 0;

  /// The directory `key`, as a part of the listing of `prefix`.
  [[nodiscard]] cloud_call list_directory(std::string_view key, std::string prefix) const;

  /// Whether keys beneath the directory `key` may begin with the prefix of the listing `asked`.
  [[nodiscard]] static bool leads_on(const cloud_call& asked, const std::string& key) {
    return (key + '/').starts_with(asked.key);
  }

 private:
  const store::dbfs_settings settings_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs/workspace_api.ipp>
#endif
