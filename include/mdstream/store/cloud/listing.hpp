#pragma once

/// A listing, page by page and directory by directory. Needs libcurl: link mdstream::curl.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/cloud/client.hpp>
#include <mdstream/store/shared_retry_budget.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// A service of the runtime: how many objects the listings of its clouds' stores have found so far,
/// for who shows how far one is.
struct listing_progress {
  explicit listing_progress(asio::io_context&) {}
  std::atomic<std::uint64_t> found{0};
};

/// One listing on its way; keeps itself until it completes. Keys are relative to the store's root,
/// sorted. Left out are the empty objects with a `/` at the end that tools make for folders: no key
/// of a store names them.
class cloud_listing : public std::enable_shared_from_this<cloud_listing> {
 public:
  cloud_listing(cloud_client client, std::string prefix, std::stop_token stop, diagnostics& where,
                store_handler<std::vector<object_info>> done)
      : client_(std::move(client)),
        root_(client_.api().root().empty() ? "" : client_.api().root() + '/'),
        prefix_(root_ + std::move(prefix)),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {}

  void begin() {
    left_.push_back(client_.api().list(prefix_));
    made_.emplace(client_.api().part_retry(), client_.budget());
    next_call();
  }

 private:
  void next_call() {
    cloud_call call = std::move(left_.back());
    left_.pop_back();
    call.most_text = 64 << 20;
    send(call);
  }

  void send(const cloud_call& call) {
    where_ = {};
    client_.async_send(
        call, stop_, where_,
        [self = shared_from_this(), call](std::error_code code, net::http_response answer) {
          // On the pool: millions of keys are sorted in seconds, in which no transfer would move.
          self->client_.threads().post([self, call, code, answer = std::move(answer)] {
            self->take_answer(call, code, answer);
          });
        });
  }

  void take_answer(const cloud_call& call, std::error_code code, const net::http_response& answer) {
    if (code && !client_.api().lists_nothing(answer)) return failed(call, code);
    if (code && is_first_) {
      if (auto place = client_.api().place()) return ask_for_place(*std::move(place));
    }
    try {
      if (!code) {
        add(client_.api().page(call, answer));
      } else {
        where_ = {};
        code = {};
      }
    } catch (const error& e) {
      where_ = e.where();
      if (where_.url.empty()) where_.url = client_.api().url(prefix_);
      code = e.code();
    }
    if (code) return done_(code, {});
    made_->succeeded();
    made_.emplace(client_.api().part_retry(), client_.budget());
    is_first_ = false;
    if (!left_.empty()) return next_call();
    std::sort(found_.begin(), found_.end(),
              [](const object_info& a, const object_info& b) { return a.key < b.key; });
    done_({}, std::move(found_));
  }

  /// What was found stays: a page is asked for again by itself. The first one is not, for whoever
  /// repeats the store's calls does that.
  void failed(const cloud_call& call, std::error_code code) {
    if (!is_first_ && !stop_.stop_requested()) {
      if (const auto pause = made_->pause_after(code, where_)) {
        return client_.threads().after(
            *pause, stop_,
            [self = shared_from_this(), call](std::error_code) { self->send(call); });
      }
      where_.is_final = true;
    }
    done_(code, {});
  }

  /// What may not be asked for may be there, with nothing in it.
  void ask_for_place(cloud_call call) {
    where_ = {};
    client_.async_send(
        std::move(call), stop_, where_,
        [self = shared_from_this()](std::error_code code, const net::http_response&) {
          const bool tells = code == errc::not_found || code == errc::canceled || may_pass(code);
          if (code && !tells) self->where_ = {};
          self->done_(code && tells ? code : std::error_code(), {});
        });
  }

  void add(cloud_page page) {
    const auto fail = [&](const char* what) {
      throw error(errc::corrupt, {.what = what, .url = client_.api().url(prefix_)});
    };
    if (!page.objects.empty() && !began_with_.insert(page.objects.front().key).second)
      fail("the listing goes round in circles");
    for (object_info& each : page.objects) {
      if (!each.key.starts_with(prefix_)) {
        if (client_.api().lists_more()) continue;
        fail("the listing has a key that was not asked for");
      }
      each.key.erase(0, root_.size());
      const bool folder = each.key.empty() || (each.bytes == 0 && each.key.ends_with('/'));
      if (!folder) found_.push_back(std::move(each));
    }
    client_.threads().service<listing_progress>().found += page.objects.size();
    const bool brings = !page.objects.empty() || page.more.empty();
    const std::size_t more = page.more.size();
    for (cloud_call& each : page.more) {
      if (!asked_.insert(each.url).second) fail("the listing goes round in circles");
      left_.push_back(std::move(each));
    }
    // Pages that follow each other, and directories: of these there may be many without an object.
    pages_in_vain_ = brings || more > 1 ? 0 : pages_in_vain_ + 1;
    empty_pages_ = brings ? 0 : empty_pages_ + 1;
    if (pages_in_vain_ > 1'000 || empty_pages_ > 100'000) fail("the listing goes round in circles");
  }

  const cloud_client client_;
  const std::string root_, prefix_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<std::vector<object_info>> done_;
  std::vector<object_info> found_{};
  std::vector<cloud_call> left_{};
  std::unordered_set<std::string> asked_{};       // URLs of pages
  std::unordered_set<std::string> began_with_{};  // first keys of pages
  std::optional<call_attempts> made_{};           // of this page
  bool is_first_ = true;
  std::size_t pages_in_vain_ = 0, empty_pages_ = 0;
};

}  // namespace mdstream::inline v0::store
