#pragma once

#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/detail/stops.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// One such read, which keeps itself alive until it has called `done`.
class ranged_read : public std::enable_shared_from_this<ranged_read> {
 public:
  ranged_read(runtime& threads, any_async_store store, std::string key, object_version held,
              ranged_target into, ranged_read_options options, std::stop_token stop,
              diagnostics& where, store_handler<> done)
      : threads_(threads),
        store_(std::move(store)),
        key_(std::move(key)),
        held_(std::move(held)),
        into_(std::move(into)),
        options_(std::move(options)),
        where_(where),
        done_(std::move(done)),
        outer_(std::move(stop), passes_stop{stop_}) {
    options_.range_bytes = std::max<std::size_t>(options_.range_bytes, 1);
    ranges_ =
        static_cast<std::size_t>((into_.bytes + options_.range_bytes - 1) / options_.range_bytes);
    const bool is_whole = options_.from == 0 && into_.bytes == held_.bytes;
    wanted_ = is_whole ? digest_by("crc32c", held_.digest) : std::string_view();
    if (!wanted_.empty()) checksums_.resize(ranges_);
  }

  void begin() {
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;  // this call itself: nothing ends before all is started
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(options_.at_once, 1); ++i) read_next();
    end_one();
  }

 private:
  /// A range on its way; each has diagnostics of its own, because several fail side by side.
  struct piece {
    std::size_t number = 0;
    std::uint64_t offset = 0;  // of what is still missing
    std::size_t left = 0;
    std::size_t came = 0;                       // in this attempt, of a stream
    std::uint32_t checksum = 0, with_came = 0;  // of what landed, and of what came behind it
    call_attempts made;
    diagnostics where{};
  };

  void read_next() {
    std::shared_ptr<piece> next;
    try {
      next = std::make_shared<piece>(piece{.made = call_attempts(options_.retry, options_.budget)});
    } catch (const std::bad_alloc&) {
      return fail(errc::out_of_memory, {});
    }
    {
      const std::lock_guard lock(mutex_);
      while (next_ < ranges_ && options_.is_there && options_.is_there(next_)) ++next_;
      if (next_ == ranges_ || failure_ || stop_.stop_requested()) return;
      next->number = next_++;
      ++under_way_;
    }
    next->offset = std::uint64_t{next->number} * options_.range_bytes;
    next->left = static_cast<std::size_t>(
        std::min<std::uint64_t>(options_.range_bytes, into_.bytes - next->offset));
    read(next);
  }

  void read(const std::shared_ptr<piece>& p) {
    p->where = {};
    std::string key;
    object_version held;
    try {
      key = key_;
      held = held_;
    } catch (const std::bad_alloc&) {
      return give_up(errc::out_of_memory, {});
    }
    if (into_.put) return stream(p, std::move(key), std::move(held));
    store_.async_read_version(
        std::move(key), std::move(held), options_.from + p->offset,
        into_.into.subspan(static_cast<std::size_t>(p->offset), p->left), stop_.get_token(),
        p->where, [self = shared_from_this(), p](std::error_code code, std::size_t got) {
          self->ended(p, code, got);
        });
  }

  void stream(const std::shared_ptr<piece>& p, std::string key, object_version held) {
    p->came = 0;
    p->with_came = p->checksum;
    store_.async_stream(
        std::move(key), std::move(held), options_.from + p->offset, p->left,
        [self = shared_from_this(), p](const object_version&, bytes_view bytes) {
          self->into_.put(p->offset + p->came, bytes);
          p->came += bytes.size();
          if (!self->wanted_.empty()) p->with_came = crc32c(bytes, p->with_came);
        },
        stop_.get_token(), p->where,
        [self = shared_from_this(), p](std::error_code code, const object_version&) {
          self->ended(p, code, p->came);
        });
  }

  void ended(const std::shared_ptr<piece>& p, std::error_code code, std::size_t got) {
    got = std::min(got, p->left);
    if (!code && got < p->left) {
      // Not final: a store that holds versions has told of a change itself, and one that was not
      // given all there is may be given it the next time.
      code = errc::corrupt;
      p->where = {.what = "the object became shorter while it was read", .url = store_.url(key_)};
    } else if (!code) {
      look_at(*p, got);
      return landed(*p);
    }
    if (code == errc::unavailable && got > 0) {
      look_at(*p, got);
      p->offset += got;
      p->left -= got;
      p->made.led_on();
      if (p->left == 0) return landed(*p);
    }
    again(p, code);
  }

  /// At what landed, before anybody lets go of it.
  void look_at(piece& p, std::size_t got) const {
    if (wanted_.empty()) return;
    p.checksum =
        into_.put ? p.with_came
                  : crc32c(into_.into.subspan(static_cast<std::size_t>(p.offset), got), p.checksum);
  }

  void landed(piece& p) {
    p.made.succeeded();
    {
      const std::lock_guard lock(mutex_);
      ++landed_;
      if (!wanted_.empty()) checksums_[p.number] = p.checksum;
      if (options_.on_range) options_.on_range(p.number);
    }
    // Through the pool: a store that completes at once would nest the ranges.
    threads_.post([self = shared_from_this()] {
      self->read_next();
      self->end_one();
    });
  }

  /// Tries again after a pause, or gives all ranges up.
  void again(const std::shared_ptr<piece>& p, std::error_code code) {
    if (stop_.stop_requested()) code = errc::canceled;  // whatever failed meanwhile
    const auto pause = p->made.pause_after(code, p->where);
    if (!pause) return give_up(code, std::move(p->where));
    threads_.after(*pause, stop_.get_token(),
                   [self = shared_from_this(), p](std::error_code) { self->read(p); });
  }

  void give_up(std::error_code code, diagnostics why) {
    fail(code, std::move(why));
    end_one();
  }

  void fail(std::error_code code, diagnostics why) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) {
        first = true;
        failure_ = code;
        where_ = std::move(why);
      }
    }
    if (first) stop_.request_stop();
  }

  void end_one() {
    {
      const std::lock_guard lock(mutex_);
      if (--under_way_ > 0) return;
      if (!failure_ && stop_.stop_requested()) {
        failure_ = errc::canceled;
        where_ = {.what = "the read was cancelled", .url = store_.url(key_)};
      }
      if (!failure_ && is_other()) {
        failure_ = errc::corrupt;
        where_ = {.what = "the bytes that came have another CRC32C than the object",
                  .url = store_.url(key_)};
      }
    }
    store_handler<> done = std::move(done_);
    done(failure_);
  }

  /// Whether all was read, and is not what the store said that it would be.
  [[nodiscard]] bool is_other() const {
    if (wanted_.empty() || landed_ != ranges_) return false;
    std::uint32_t all = 0;
    for (std::size_t i = 0; i < ranges_; ++i) {
      const std::uint64_t begin = std::uint64_t{i} * options_.range_bytes;
      all = crc32c_joined(all, checksums_[i],
                          std::min<std::uint64_t>(options_.range_bytes, into_.bytes - begin));
    }
    return digest_of_crc32c(all) != wanted_;
  }

  runtime& threads_;
  const any_async_store store_;
  const std::string key_;
  const object_version held_;
  const ranged_target into_;
  ranged_read_options options_;
  diagnostics& where_;
  store_handler<> done_;
  std::size_t ranges_ = 0;
  std::string wanted_{};  // the CRC32C of the whole; empty where it is not known, or not to be had

  std::mutex mutex_;
  std::vector<std::uint32_t> checksums_{};  // of each range
  std::size_t landed_ = 0;
  std::size_t next_ = 0;
  std::size_t under_way_ = 0;
  std::error_code failure_;
  std::stop_source stop_;
  std::stop_callback<passes_stop> outer_;  // after what it stops
};

MDSTREAM_INLINE void async_read_ranges(runtime& threads, any_async_store store, std::string key,
                                       object_version held, ranged_target into,
                                       ranged_read_options options, std::stop_token stop,
                                       diagnostics& where, store_handler<> done) {
  std::make_shared<ranged_read>(threads, std::move(store), std::move(key), std::move(held),
                                std::move(into), std::move(options), std::move(stop), where,
                                std::move(done))
      ->begin();
}

MDSTREAM_INLINE void async_read_ranges(runtime& threads, any_async_store store, std::string key,
                                       object_version held, mutable_bytes into,
                                       ranged_read_options options, std::stop_token stop,
                                       diagnostics& where, store_handler<> done) {
  async_read_ranges(threads, std::move(store), std::move(key), std::move(held),
                    ranged_target::memory(into), std::move(options), std::move(stop), where,
                    std::move(done));
}

}  // namespace mdstream::inline v0::detail
