#pragma once

/// A listing of a bucket, page by page. Needs libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/store/s3/client.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// One listing on its way; keeps itself until it completes. Keys are relative to the store's root,
/// sorted. Left out are the empty objects with a `/` at the end that tools make for folders: no key
/// of a store names them.
class s3_listing : public std::enable_shared_from_this<s3_listing> {
 public:
  s3_listing(s3_client client, std::string prefix, std::stop_token stop, diagnostics& where,
             store_handler<std::vector<object_info>> done)
      : client_(std::move(client)),
        prefix_(std::move(prefix)),
        root_(client_.settings().root.empty() ? "" : client_.settings().root + '/'),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {}

  void next_page() {
    constexpr std::size_t largest_page = 32 << 20;  // 1,000 keys of 1,024 bytes, all escaped twice
    s3_call call{
        .query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", root_ + prefix_}},
        .most_text = largest_page};
    if (!token_.empty()) call.query.emplace_back("continuation-token", token_);
    client_.async_send(
        std::move(call), stop_, where_,
        [self = shared_from_this()](std::error_code code, net::http_response answer) {
          // On the pool: a page is read in milliseconds, and millions of keys are sorted in
          // seconds, in which no transfer would move.
          self->client_.threads().post(
              [self, code, answer = std::move(answer)] { self->take_page(code, answer); });
        });
  }

 private:
  void take_page(std::error_code code, const net::http_response& answer) {
    bool more = false;
    if (!code) {
      try {
        more = add(parse_s3_page(answer.text, {.url = client_.url(root_ + prefix_)}));
      } catch (const error& e) {
        where_ = e.where();
        code = e.code();
      }
    }
    if (code) return done_(code, {});
    if (more) return next_page();
    std::sort(found_.begin(), found_.end(),
              [](const object_info& a, const object_info& b) { return a.key < b.key; });
    done_({}, std::move(found_));
  }

  /// Takes a page in; whether there is another. A listing that does not come forward has no end.
  bool add(s3_page page) {
    const auto fail = [&](const char* what) {
      throw error(errc::corrupt, {.what = what, .url = client_.url(root_ + prefix_)});
    };
    for (object_info& each : page.objects) {
      if (!each.key.starts_with(root_ + prefix_))
        fail("the listing has a key that was not asked for");
      each.key.erase(0, root_.size());
      const bool folder = each.key.empty() || (each.bytes == 0 && each.key.ends_with('/'));
      if (!folder) found_.push_back(std::move(each));
    }
    if (page.next.empty()) return false;
    empty_pages_ = page.objects.empty() ? empty_pages_ + 1 : 0;
    token_ = std::move(page.next);
    if (token_ == landmark_ || empty_pages_ > 1000) fail("the listing goes round in circles");
    if (++pages_ >= next_landmark_) {
      landmark_ = token_;
      next_landmark_ *= 2;
    }
    return true;
  }

  const s3_client client_;
  const std::string prefix_, root_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<std::vector<object_info>> done_;
  std::vector<object_info> found_{};
  std::string token_{};
  std::size_t empty_pages_ = 0;
  // Brent's way to find a circle of any length without keeping all tokens: they are held against
  // one that moves on with the powers of two.
  std::string landmark_{};
  std::size_t pages_ = 0, next_landmark_ = 1;
};

}  // namespace mdstream::inline v0::store
