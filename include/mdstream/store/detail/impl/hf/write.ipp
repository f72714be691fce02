#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/store/detail/hf/write.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE hub_write::hub_write(const hub_places& places, std::shared_ptr<hub_commits> commits,
                                     cloud_client client, upload_plan plan, std::string key,
                                     bytes_view bytes, std::stop_token stop, diagnostics& where,
                                     store_handler<> done)
    : places_(places),
      commits_(std::move(commits)),
      client_(std::move(client)),
      plan_(plan),
      key_(std::move(key)),
      bytes_(bytes),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void hub_write::begin() {
  guarded([&] {
    post(places_.mode_url, detail::hf::mode_question(key_, bytes_), "application/json",
         [](hub_write& self, const net::http_response& answer) {
           const bool large = detail::hf::goes_to_lfs(answer.text, self.key_);
           // The store of large files takes no empty ones.
           self.on_pool(large && !self.bytes_.empty() ? &hub_write::ask_place
                                                      : &hub_write::commit_file);
         });
  });
}

MDSTREAM_INLINE void hub_write::on_pool(void (hub_write::*work)()) {
  client_.threads().post(
      [self = shared_from_this(), work] { self->guarded([&] { ((*self).*work)(); }); });
}

MDSTREAM_INLINE void hub_write::post(const std::string& url, std::string text, const char* kind,
                                     step then, bool keyless) {
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

MDSTREAM_INLINE void hub_write::commit_file() {
  std::string line = detail::hf::file_line(key_, bytes_);
  client_.body_was_read(bytes_);
  commit(std::move(line));
}

MDSTREAM_INLINE void hub_write::ask_place() {
  sha256_ =
      to_hex(net::sha256(bytes_, [&](bytes_view block) { client_.block_was_read(block, stop_); }));
  post(places_.batch_url, detail::hf::place_question(sha256_, bytes_.size(), places_.revision),
       lfs_kind, [](hub_write& self, const net::http_response& answer) {
         self.place_ = detail::hf::parse_place(answer.text, self.sha256_, self.bytes_.size(),
                                               self.places_.endpoint);
         self.place_.has_it ? self.commit_large() : self.upload();
       });
}

MDSTREAM_INLINE void hub_write::upload() {
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

MDSTREAM_INLINE void hub_write::uploaded() {
  if (place_.parts.empty()) return verify();
  post(
      place_.href, detail::hf::parts_list(sha256_, tags_), lfs_kind,
      [](hub_write& self, const net::http_response&) { self.verify(); }, true);
}

MDSTREAM_INLINE void hub_write::verify() {
  if (place_.verify.empty()) return commit_large();
  const auto there = net::parse_http_url(place_.verify);
  post(
      place_.verify, json::dump(detail::hf::lfs_object(sha256_, bytes_.size())), "application/json",
      [](hub_write& self, const net::http_response&) { self.commit_large(); },
      !net::same_origin(*there, places_.endpoint));
}

MDSTREAM_INLINE void hub_write::commit(std::string line, bool removes) {
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

MDSTREAM_INLINE void hub_write::fail(std::error_code code, diagnostics about) {
  if (over_.exchange(true)) return;
  if (stop_.stop_requested()) code = errc::canceled;  // whatever failed meanwhile
  if (about.url.empty()) about.url = client_.api().url(key_);
  where_ = std::move(about);
  where_.is_final = true;  // what may pass was repeated, step by step
  finish(code);
}

MDSTREAM_INLINE void hub_write::finish(std::error_code code) {
  {
    const std::lock_guard lock(mutex_);
    give_up_.reset();
  }
  done_(code);
}

}  // namespace mdstream::inline v0::detail
