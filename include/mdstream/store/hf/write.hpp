#pragma once

/// One object written to the Hugging Face Hub, or removed from it. Needs libcurl and OpenSSL: link
/// mdstream::hf.

#include <mdstream/core/hex.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/store/cloud/client.hpp>
#include <mdstream/store/cloud/upload.hpp>
#include <mdstream/store/hf/commits.hpp>
#include <mdstream/store/hf/messages.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

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
            diagnostics& where, store_handler<> done)
      : places_(places),
        commits_(std::move(commits)),
        client_(std::move(client)),
        plan_(plan),
        key_(std::move(key)),
        bytes_(bytes),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {}

  /// In place of a write.
  void begin_removal() { commit(hf_detail::deletion_line(key_), true); }

  void begin() {
    guarded([&] {
      post(places_.mode_url, hf_detail::mode_question(key_, bytes_), "application/json",
           [](hub_write& self, const net::http_response& answer) {
             const bool large = hf_detail::goes_to_lfs(answer.text, self.key_);
             // The store of large files takes no empty ones.
             self.on_pool(large && !self.bytes_.empty() ? &hub_write::ask_place
                                                        : &hub_write::commit_file);
           });
    });
  }

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
  void on_pool(void (hub_write::*work)()) {
    client_.threads().post(
        [self = shared_from_this(), work] { self->guarded([&] { ((*self).*work)(); }); });
  }

  void post(const std::string& url, std::string text, const char* kind, step then,
            bool keyless = false) {
    const cloud_call call{.method = "POST",
                          .url = url,
                          .key = key_,
                          .headers = {{"Accept", kind}, {"Content-Type", kind}},
                          .text = std::make_shared<const std::string>(std::move(text)),
                          .keyless = keyless};
    std::make_shared<repeated_call>(
        client_, plan_.retry, [call] { return call; }, stop_,
        [self = shared_from_this(), then = std::move(then)](
            std::error_code code, const net::http_response& answer, const diagnostics& about) {
          if (code) return self->fail(code, about);
          self->guarded([&] { then(*self, answer); });
        })
        ->send();
  }

  void commit_file() {
    std::string line = hf_detail::file_line(key_, bytes_);
    client_.body_was_read(bytes_);
    commit(std::move(line));
  }

  void ask_place() {
    sha256_ = to_hex(
        net::sha256(bytes_, [&](bytes_view block) { client_.block_was_read(block, stop_); }));
    post(places_.batch_url, hf_detail::place_question(sha256_, bytes_.size(), places_.revision),
         lfs_kind, [](hub_write& self, const net::http_response& answer) {
           self.place_ = hf_detail::parse_place(answer.text, self.sha256_, self.bytes_.size(),
                                                self.places_.endpoint);
           self.place_.has_it ? self.commit_large() : self.upload();
         });
  }

  /// To where no token goes: the URLs let in by themselves.
  void upload() {
    const bool whole = place_.parts.empty();
    upload_plan plan = plan_;
    plan.part_bytes = whole ? bytes_.size() : place_.part_bytes;
    plan.most_parts = std::numeric_limits<std::uint32_t>::max();
    tags_.resize(place_.parts.size());
    upload_steps steps;
    steps.part = [self = shared_from_this(), whole](std::size_t number, std::uint64_t,
                                                    bytes_view part) {
      return cloud_call{.method = "PUT",
                        .url = whole ? self->place_.href : self->place_.parts[number],
                        .key = self->key_,
                        .body = part,
                        .keyless = true};
    };
    steps.took = [self = shared_from_this(), whole](std::size_t number, std::uint64_t, bytes_view,
                                                    const net::http_response& answer) {
      if (whole) return;
      const auto tag = answer.headers.find("ETag");
      if (!tag || tag->empty()) throw error(errc::corrupt, "the answer has no ETag of the part");
      const std::lock_guard lock(self->mutex_);
      self->tags_[number] = *tag;
    };
    std::make_shared<part_upload>(client_, plan, std::move(steps), bytes_, stop_, where_,
                                  [self = shared_from_this()](std::error_code code) {
                                    if (code) return self->fail(code, self->where_);
                                    self->guarded([&] { self->uploaded(); });
                                  })
        ->begin();
  }

  void uploaded() {
    if (place_.parts.empty()) return verify();
    post(
        place_.href, hf_detail::parts_list(sha256_, tags_), lfs_kind,
        [](hub_write& self, const net::http_response&) { self.verify(); }, true);
  }

  void verify() {
    if (place_.verify.empty()) return commit_large();
    const auto there = net::parse_http_url(place_.verify);
    post(
        place_.verify, json::dump(hf_detail::lfs_object(sha256_, bytes_.size())),
        "application/json", [](hub_write& self, const net::http_response&) { self.commit_large(); },
        !net::same_origin(*there, places_.endpoint));
  }

  void commit_large() { commit(hf_detail::lfs_line(key_, sha256_, bytes_.size())); }

  /// A stop ends the waiting alone: others' changes may be in the commit.
  void commit(std::string line, bool removes = false) {
    {
      const std::lock_guard lock(mutex_);  // it may be over before there is a callback
      give_up_.emplace(stop_, [weak = weak_from_this()] {
        if (const auto self = weak.lock())
          self->client_.threads().post([self] { self->fail(errc::canceled, {}); });
      });
    }
    commits_->add(client_,
                  {.key = key_,
                   .line = std::move(line),
                   .stop = stop_,
                   .done =
                       [self = shared_from_this()](std::error_code code, const diagnostics& about) {
                         code ? self->fail(code, about) : self->complete();
                       },
                   .removes = removes});
  }

  void fail(std::error_code code, diagnostics about) {
    if (over_.exchange(true)) return;
    if (stop_.stop_requested()) code = errc::canceled;  // whatever failed meanwhile
    if (about.url.empty()) about.url = client_.api().url(key_);
    where_ = std::move(about);
    where_.is_final = true;  // what may pass was repeated, step by step
    finish(code);
  }
  void complete() {
    if (!over_.exchange(true)) finish({});
  }
  void finish(std::error_code code) {
    {
      const std::lock_guard lock(mutex_);
      give_up_.reset();
    }
    done_(code);
  }

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
  hf_detail::lfs_place place_{};
  std::mutex mutex_;                 // over what follows
  std::vector<std::string> tags_{};  // which parts bring at the same time
  std::optional<std::stop_callback<std::function<void()>>> give_up_;
  std::atomic<bool> over_ = false;
};

}  // namespace mdstream::inline v0::store
