#pragma once

/// One object written to the Hugging Face Hub, or removed from it. Needs libcurl and OpenSSL: link
/// mdstream::hf.

#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/hf/commits.hpp>
#include <mdstream/store/detail/hf/messages.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::detail {

/// Where a repository of datasets takes what is written to it.
struct hub_places {
  net::uri endpoint{};
  std::string mode_url{}, batch_url{};
  std::string revision{};
};

/// A write or a removal on its way; keeps itself until it completes. The Hub says whether the bytes
/// go into the commit itself or, by their SHA-256, into its store of large files before.
class hub_write : public std::enable_shared_from_this<hub_write> {
 public:
  /// `places` stay as long as the client does.
  hub_write(const hub_places& places, std::shared_ptr<hub_commits> commits, cloud_client client,
            upload_plan plan, std::string key, bytes_view bytes, std::stop_token stop,
            diagnostics& where, store_handler<> done);

  /// In place of a write.
  void begin_removal() { commit(detail::hf::deletion_line(key_), true); }

  void begin();

 private:
  using step = std::function<void(hub_write&, const net::http_response&)>;

  template <class F>
  void guarded(F f) {
    try {
      f();
    } catch (const error& e) {
      fail(e.code(), e.where());
    }
  }

  /// What takes as long as reading the bytes.
  void on_pool(void (hub_write::*work)());

  void post(const std::string& url, std::string text, const char* kind, step then,
            bool keyless = false);

  void commit_file();

  void ask_place();

  /// To where no token goes: the URLs let in by themselves.
  void upload();

  void uploaded();

  void verify();

  void commit_large() { commit(detail::hf::lfs_line(key_, sha256_, bytes_.size())); }

  /// A stop ends the waiting alone: others' changes may be in the commit.
  void commit(std::string line, bool removes = false);

  void fail(std::error_code code, diagnostics about);
  void complete() {
    if (!over_.exchange(true)) finish({});
  }
  void finish(std::error_code code);

  static constexpr const char* lfs_kind = "application/vnd.git-lfs+json";

  const hub_places& places_;
  const std::shared_ptr<hub_commits> commits_;
  const cloud_client client_;
  const upload_plan plan_;
  const std::string key_;
  const bytes_view bytes_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<> done_;
  std::string sha256_{};
  detail::hf::lfs_place place_{};
  std::mutex mutex_;                 // over what follows
  std::vector<std::string> tags_{};  // which parts bring at the same time
  std::optional<std::stop_callback<std::function<void()>>> give_up_;
  std::atomic<bool> over_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/hf/write.ipp>
#endif
