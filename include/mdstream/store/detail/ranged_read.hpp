#pragma once

/// Reads one large object in parallel ranges that land in their place, in memory or elsewhere.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/detail/stops.hpp>
#include <mdstream/store/detail/versions.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Where ranges land: memory, or what a function does with bytes and their place. `put` is called
/// from several threads at a time, as they come, and may do what a `byte_taker` may; what it throws
/// fails the range. It may be given the same bytes again where a range is repeated.
struct ranged_target {
  mutable_bytes into{};
  std::function<void(std::uint64_t offset, bytes_view bytes)> put{};  ///< in place of `into`
  std::uint64_t bytes = 0;

  [[nodiscard]] static ranged_target memory(mutable_bytes into) {
    return {.into = into, .bytes = into.size()};
  }
};

struct ranged_read_options {
  std::uint64_t from = 0;  ///< where in the object the bytes begin
  std::size_t range_bytes = std::size_t{8} << 20;
  std::size_t at_once = 8;  ///< ranges under way
  /// For each range. An attempt that brought bytes counts as the first again, and the next one
  /// goes on behind them.
  retry_policy retry{
      .attempts = 4, .pause = std::chrono::milliseconds(200), .jitter = retry_jitter::decorrelated};
  /// For all ranges together, and for what else shares it. To go on behind bytes that came repeats
  /// nothing and costs nothing of it.
  shared_retry_budget budget{};
  /// Called after each range, from any thread, one at a time: number of the range.
  unique_function<void(std::size_t)> on_range{};
  /// Ranges that need not be read; none where it is empty.
  unique_function<bool(std::size_t)> is_there{};
};

/// One such read. It holds `held` over all ranges, so that what lands is one state of the object.
/// An object of which all ranges are read is held against the CRC32C of `held`, where it has one:
/// other bytes are `errc::corrupt`. Made by `start`, it keeps itself alive until it has called
/// `done`, with the first failure after which no range could go on; by then nothing is written any
/// more.
template <async_store S>
class ranged_read : public std::enable_shared_from_this<ranged_read<S>> {
  struct access {};

 public:
  ranged_read(access, runtime& threads, S store, std::string key, object_version held,
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
        outer_(std::move(stop), detail::passes_stop{stop_}) {
    options_.range_bytes = std::max<std::size_t>(options_.range_bytes, 1);
    ranges_ =
        static_cast<std::size_t>((into_.bytes + options_.range_bytes - 1) / options_.range_bytes);
    const bool is_whole = options_.from == 0 && into_.bytes == held_.bytes;
    wanted_ = is_whole ? digest_by("crc32c", held_.digest) : std::string_view();
    if (!wanted_.empty()) checksums_.resize(ranges_);
  }

  /// Reads `into.bytes` of the object that is `held`, from `options.from` on. The memory and
  /// `where` stay until `done`; the runtime outlives it.
  static void start(runtime& threads, S store, std::string key, object_version held,
                    ranged_target into, ranged_read_options options, std::stop_token stop,
                    diagnostics& where, store_handler<> done) {
    auto read = std::make_shared<ranged_read>(access{}, threads, std::move(store), std::move(key),
                                              std::move(held), std::move(into), std::move(options),
                                              std::move(stop), where, std::move(done));
    read->begin();
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

  void begin() {
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;  // this call itself: nothing ends before all is started
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(options_.at_once, 1); ++i) read_next();
    end_one();
  }

  void read_next() {
    auto next =
        std::make_shared<piece>(piece{.made = call_attempts(options_.retry, options_.budget)});
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
    if constexpr (streaming_store<S>) {
      if (into_.put) return stream(p);
    }
    async_read_version_of(store_, key_, held_, options_.from + p->offset,
                          into_.into.subspan(static_cast<std::size_t>(p->offset), p->left),
                          stop_.get_token(), p->where,
                          store_handler<std::size_t>([self = this->shared_from_this(), p](
                                                         std::error_code code, std::size_t got) {
                            self->ended(p, code, got);
                          }));
  }

  void stream(const std::shared_ptr<piece>& p) {
    p->came = 0;
    p->with_came = p->checksum;
    store_.async_stream(
        key_, held_, options_.from + p->offset, p->left,
        [self = this->shared_from_this(), p](const object_version&, bytes_view bytes) {
          self->into_.put(p->offset + p->came, bytes);
          p->came += bytes.size();
          if (!self->wanted_.empty()) p->with_came = crc32c(bytes, p->with_came);
        },
        stop_.get_token(), p->where,
        [self = this->shared_from_this(), p](std::error_code code, const object_version&) {
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
    threads_.post([self = this->shared_from_this()] {
      self->read_next();
      self->end_one();
    });
  }

  /// Tries again after a pause, or gives all ranges up.
  void again(const std::shared_ptr<piece>& p, std::error_code code) {
    const auto pause = stop_.stop_requested() ? std::optional<std::chrono::nanoseconds>()
                                              : p->made.pause_after(code, p->where);
    if (!pause) return give_up(code, p->where);
    threads_.after(*pause, stop_.get_token(),
                   [self = this->shared_from_this(), p](std::error_code) { self->read(p); });
  }

  void give_up(std::error_code code, const diagnostics& why) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) {
        first = true;
        failure_ = code;
        where_ = why;
      }
    }
    if (first) stop_.request_stop();
    end_one();
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
  const S store_;
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
  std::stop_callback<detail::passes_stop> outer_;  // after what it stops
};

/// `ranged_read::start` for a store of any type; `into.put` only for those that stream.
template <async_store S>
void async_read_ranges(runtime& threads, S store, std::string key, object_version held,
                       ranged_target into, ranged_read_options options, std::stop_token stop,
                       diagnostics& where, store_handler<> done) {
  ranged_read<S>::start(threads, std::move(store), std::move(key), std::move(held), std::move(into),
                        std::move(options), std::move(stop), where, std::move(done));
}
template <async_store S>
void async_read_ranges(runtime& threads, S store, std::string key, object_version held,
                       mutable_bytes into, ranged_read_options options, std::stop_token stop,
                       diagnostics& where, store_handler<> done) {
  async_read_ranges(threads, std::move(store), std::move(key), std::move(held),
                    ranged_target::memory(into), std::move(options), std::move(stop), where,
                    std::move(done));
}

}  // namespace mdstream::inline v0::detail
