#pragma once

/// A store of a cloud, whatever its API is. Needs libcurl: link mdstream::curl.

#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/call.hpp>
#include <mdstream/store/detail/cloud/client.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

/// Objects beneath the root of a `cloud_api`. Thread-safe. The runtime has to outlive the calls.
class cloud_store : public store_interface {
 public:
  explicit cloud_store(cloud_client client) : client_(std::move(client)) {}

  /// A write that is `create_only` is not repeated: where its answer is lost, a caller that has
  /// to know reads what is there.
  MDSTREAM_INLINE void start(store_call call, std::stop_token stop, diagnostics& where,
                             answer_handler done) const override;
  [[nodiscard]] std::string url(std::string_view key) const override {
    return client_.api().url(whole(key));
  }
  [[nodiscard]] store_abilities abilities() const override {
    return {.streams = true, .creates = client_.api().creates()};
  }
  [[nodiscard]] std::string credentials() const override { return client_.credentials(); }

  [[nodiscard]] const cloud_client& client() const noexcept { return client_; }
  [[nodiscard]] bool refused(std::string_view key, diagnostics& where) const;
  [[nodiscard]] std::string whole(std::string_view key) const {
    return join_key(client_.api().root(), key);
  }

 private:
  void stat(std::string_view key, std::stop_token stop, diagnostics& where,
            answer_handler done) const;
  void read(store_call call, std::stop_token stop, diagnostics& where, answer_handler done) const;

  cloud_client client_;
};

/// One for users.
[[nodiscard]] any_async_store make_cloud_store(cloud_client client);
[[nodiscard]] any_async_store make_cloud_store(runtime& threads,
                                               std::shared_ptr<const cloud_api> api,
                                               net::http_client_options http, net::any_access keys);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/store.ipp>
#endif
