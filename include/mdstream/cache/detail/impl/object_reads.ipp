#pragma once

#include <mdstream/cache/detail/object_reads.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE object_reads::object_reads(access, runtime& threads, bounded_calls calls,
                                           const shard_making& making,
                                           std::vector<object_range> ranges, object_read_rules how,
                                           const std::stop_token& stop, diagnostics& where,
                                           handler done)
    : threads_(threads),
      calls_(std::move(calls)),
      making_(making),
      ranges_(std::move(ranges)),
      how_(std::move(how)),
      where_(where),
      done_(std::move(done)),
      bytes_(ranges_.size()),
      each_where_(ranges_.size()),
      outer_(stop, passes_stop{stop_}) {}

MDSTREAM_INLINE void object_reads::start(runtime& threads, bounded_calls calls,
                                         const shard_making& making,
                                         std::vector<object_range> ranges, object_read_rules how,
                                         const std::stop_token& stop, diagnostics& where,
                                         handler done) {
  std::make_shared<object_reads>(access{}, threads, std::move(calls), making, std::move(ranges),
                                 std::move(how), stop, where, std::move(done))
      ->begin();
}

MDSTREAM_INLINE void object_reads::share_pages() {
  std::size_t all = 0;
  for (const object_range& each : ranges_)
    if (each.bytes < own_pages_from) all += static_cast<std::size_t>(each.bytes);
  if (all == 0) return;
  const auto shared = std::make_shared<const pages>(all);
  std::size_t at = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].bytes >= own_pages_from) continue;
    const auto bytes = static_cast<std::size_t>(ranges_[i].bytes);
    bytes_[i] = {shared, at, bytes};
    at += bytes;
  }
}

MDSTREAM_INLINE void object_reads::begin() {
  share_pages();
  going_ = std::clamp<std::size_t>(ranges_.size(), 1, most_at_once);
  for (std::size_t i = going_; i > 0; --i) go_on();
}

MDSTREAM_INLINE void object_reads::go_on() {
  std::size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_++;
    if (failure_ || stop_.stop_requested()) number = ranges_.size();
  }
  if (number >= ranges_.size()) return end_one();
  try {
    read(number);
  } catch (...) {
    const std::error_code code =
        describe_failure(std::current_exception(), each_where_[number], ranges_[number].key);
    fail(code, each_where_[number]);
    end_one();
  }
}

MDSTREAM_INLINE void object_reads::read(std::size_t number) {
  const object_range& range = ranges_[number];
  if (range.bytes >= own_pages_from)
    bytes_[number] = room_for_object(range.bytes, calls_.url(range.key));
  async_read_ranges(threads_, calls_, range.key, range.version,
                    mutable_bytes(bytes_[number].data(), bytes_[number].size()),
                    {.from = range.offset,
                     .range_bytes = how_.range_bytes,
                     .retry = how_.requests,
                     .budget = how_.budget},
                    stop_.get_token(), each_where_[number],
                    [self = shared_from_this(), number](std::error_code code) {
                      // Through the pool: a store that completes at once would nest the reads.
                      self->threads_.post([self, number, code] {
                        if (code == errc::corrupt) return self->ask(number);
                        if (code) self->fail(code, self->each_where_[number]);
                        self->go_on();
                      });
                    });
}

MDSTREAM_INLINE void object_reads::ask(std::size_t number) {
  auto where = std::make_shared<diagnostics>();
  retrying(threads_, calls_, how_.requests, how_.budget)
      .async_version(
          ranges_[number].key, stop_.get_token(), *where,
          [self = shared_from_this(), number, where](std::error_code code, object_version now) {
            diagnostics why = self->each_where_[number];
            if (code) {
              why = *where;
            } else {
              code = errc::corrupt;
              try {
                self->making_.check(self->ranges_[number], now);
              } catch (const error& e) {
                why = e.where();
                why.url = self->calls_.url(self->ranges_[number].key);
              }
            }
            self->fail(code, why);
            self->end_one();
          });
}

MDSTREAM_INLINE void object_reads::fail(std::error_code code, const diagnostics& why) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = code;
    where_ = why;
  }
  stop_.request_stop();
}

MDSTREAM_INLINE void object_reads::end_one() {
  {
    const std::lock_guard lock(mutex_);
    if (--going_ > 0) return;
    if (!failure_ && stop_.stop_requested()) {
      failure_ = errc::canceled;
      where_ = {.what = "the fetch was cancelled"};
    }
  }
  handler done = std::move(done_);
  done(failure_, std::move(bytes_));
}

}  // namespace mdstream::inline v0::detail
