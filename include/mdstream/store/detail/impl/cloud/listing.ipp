#pragma once

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/cloud/listing.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cloud_listing::cloud_listing(cloud_client client, std::string prefix,
                                             std::stop_token stop, diagnostics& where,
                                             store_handler<std::vector<object_info>> done)
    : client_(std::move(client)),
      root_(client_.api().root().empty() ? "" : client_.api().root() + '/'),
      prefix_(root_ + std::move(prefix)),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void cloud_listing::begin() {
  left_.push_back(client_.api().list(prefix_));
  made_.emplace(client_.api().part_retry(), client_.budget());
  next_call();
}

MDSTREAM_INLINE void cloud_listing::next_call() {
  cloud_call call = std::move(left_.back());
  left_.pop_back();
  call.most_text = 64 << 20;
  send(call);
}

MDSTREAM_INLINE void cloud_listing::send(const cloud_call& call) {
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

MDSTREAM_INLINE void cloud_listing::take_answer(const cloud_call& call, std::error_code code,
                                                const net::http_response& answer) {
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

MDSTREAM_INLINE void cloud_listing::failed(const cloud_call& call, std::error_code code) {
  if (stop_.stop_requested()) {
    code = errc::canceled;  // whatever failed meanwhile
  } else if (!is_first_) {
    if (const auto pause = made_->pause_after(code, where_)) {
      return client_.threads().after(
          *pause, stop_, [self = shared_from_this(), call](std::error_code) { self->send(call); });
    }
    where_.is_final = true;
  }
  done_(code, {});
}

MDSTREAM_INLINE void cloud_listing::ask_for_place(cloud_call call) {
  where_ = {};
  client_.async_send(std::move(call), stop_, where_,
                     [self = shared_from_this()](std::error_code code, const net::http_response&) {
                       const bool tells =
                           code == errc::not_found || code == errc::canceled || is_retryable(code);
                       if (code && !tells) self->where_ = {};
                       self->done_(code && tells ? code : std::error_code(), {});
                     });
}

MDSTREAM_INLINE void cloud_listing::add(cloud_page page) {
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

}  // namespace mdstream::inline v0::detail
