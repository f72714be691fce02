#pragma once

/// What the APIs of a Databricks workspace have in common. Needs libcurl: link mdstream::dbfs.

#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/cloud/call.hpp>
#include <mdstream/store/cloud/json_refusal.hpp>
#include <mdstream/store/dbfs/options.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::store {

/// Names, refusals and listings, which go from directory to directory.
class workspace_api : public cloud_api {
 public:
  workspace_api(dbfs_settings settings, retry_policy retry)
      : cloud_api(retry), settings_(std::move(settings)) {}

  [[nodiscard]] std::string name() const final { return "Databricks"; }
  [[nodiscard]] const std::string& root() const final { return settings_.root; }
  [[nodiscard]] std::string url(std::string_view key) const final { return settings_.url(key); }

  [[nodiscard]] cloud_refusal refusal(const net::http_response& answer) const final {
    cloud_refusal out = json_refusal(answer, "error_code");
    // Tokens that were revoked are answered by 403, as what is not allowed.
    out.keys_expired = out.message.find("access token") != std::string::npos;
    return out;
  }

  /// Of the directory that the prefix lies in, then of those beneath it.
  [[nodiscard]] cloud_call list(const std::string& prefix) const final {
    return list_directory(prefix.substr(0, prefix.rfind('/') + 1), prefix);
  }
  [[nodiscard]] bool lists_more() const final { return true; }
  [[nodiscard]] bool lists_nothing(const net::http_response& answer) const final {
    return answer.status == 404;
  }

 protected:
  [[nodiscard]] const dbfs_settings& settings() const noexcept { return settings_; }

  /// The call for what lies in a directory.
  [[nodiscard]] virtual cloud_call directory(const std::string& key) const = 0;

  /// The directory `key`, as a part of the listing of `prefix`.
  [[nodiscard]] cloud_call list_directory(std::string_view key, std::string prefix) const {
    cloud_call out = directory(cloud_detail::without_slashes(key));
    out.key = std::move(prefix);
    return out;
  }

  /// Whether keys beneath the directory `key` may begin with the prefix of the listing `asked`.
  [[nodiscard]] static bool leads_on(const cloud_call& asked, const std::string& key) {
    return (key + '/').starts_with(asked.key);
  }

 private:
  const dbfs_settings settings_;
};

}  // namespace mdstream::inline v0::store
