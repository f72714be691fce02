#pragma once

// A store whose reads go wrong where a script says so.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mdstream/async/runtime.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/memory.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/forwarding.hpp"

namespace fault_store {

namespace mds = mdstream;

enum class fault { none, error, refuse, throw_other, short_read, wrong_byte, longer, broken_off };

/// A connection that broke when so many bytes had come.
struct broken_connection {
  std::size_t got;
};

/// A memory store that counts its reads and spoils those of the script; copies share both. Number
/// `k` is the k-th read of all, from 0.
class store : public mds::store::memory {
 public:
  struct shared {
    std::mutex mutex;
    std::map<std::uint64_t, fault> script;
    std::function<void(std::string_view)> before{};
    std::map<std::string, std::uint64_t, std::less<>> reads_of;
    std::uint64_t reads = 0;
    std::chrono::milliseconds delay{0};
  };

  [[nodiscard]] shared& control() const { return *shared_; }
  [[nodiscard]] std::uint64_t reads() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->reads;
  }
  [[nodiscard]] std::uint64_t reads_of(std::string_view key) const {
    const std::lock_guard lock(shared_->mutex);
    const auto at = shared_->reads_of.find(key);
    return at == shared_->reads_of.end() ? 0 : at->second;
  }
  void script(std::uint64_t read, fault what) const {
    const std::lock_guard lock(shared_->mutex);
    shared_->script[read] = what;
  }

  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    fault what = fault::none;
    std::function<void(std::string_view)> before;
    std::chrono::milliseconds delay{0};
    {
      const std::lock_guard lock(shared_->mutex);
      if (const auto at = shared_->script.find(shared_->reads); at != shared_->script.end()) {
        what = at->second;
      }
      ++shared_->reads;
      ++shared_->reads_of[std::string(key)];
      before = shared_->before;
      delay = shared_->delay;
    }
    if (before) before(key);
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    return spoil(what, key, offset, into);
  }

 private:
  std::size_t spoil(fault what, std::string_view key, std::uint64_t offset,
                    mds::mutable_bytes into) const {
    if (what == fault::error) {
      throw mds::error(mds::errc::unavailable, {.what = "503 slow down", .url = url(key)});
    }
    if (what == fault::refuse) {
      throw mds::error(mds::errc::permission_denied, {.what = "403 forbidden", .url = url(key)});
    }
    if (what == fault::throw_other) throw std::runtime_error("reset by peer");
    const std::size_t got = memory::read(key, offset, into);
    if (what == fault::broken_off) throw broken_connection{got / 2};
    if (what == fault::short_read) return got / 2;
    if (what == fault::wrong_byte && got > 0) into[got / 2] ^= std::byte{1};
    if (what == fault::longer) return into.size();
    return got;
  }

  std::shared_ptr<shared> shared_ = std::make_shared<shared>();
};

/// The same as one that hands bytes out as they come, a few at a time.
class streaming : public store_test::forwarding<mds::blocking<store>> {
 public:
  streaming(mds::runtime& threads, store from)
      : forwarding{{threads, from}}, threads_(&threads), from_(std::move(from)) {}

  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    inner.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  void async_stream(std::string key, const std::optional<mds::object_version>&,
                    std::uint64_t offset, std::uint64_t count, mds::byte_taker take,
                    std::stop_token stop, mds::diagnostics& where,
                    mds::store_handler<mds::object_version> done) const {
    threads_->post([from = from_, key = std::move(key), offset, count, take = std::move(take),
                    stop = std::move(stop), &where, done = std::move(done)]() mutable {
      std::error_code code;
      try {
        if (stop.stop_requested()) throw mds::error(mds::errc::canceled, "the call was cancelled");
        code = stream(from, key, offset, count, take, where);
      } catch (...) {
        code = mds::detail::describe_failure(std::current_exception(), where, from.url(key));
      }
      done(code, {});
    });
  }

 private:
  static std::error_code stream(const store& from, const std::string& key, std::uint64_t offset,
                                std::uint64_t count, const mds::byte_taker& take,
                                mds::diagnostics& where) {
    std::vector<std::byte> all(static_cast<std::size_t>(count));
    std::error_code code;
    std::size_t got = 0;
    try {
      got = from.read(key, offset, all);
    } catch (const broken_connection& broken) {
      got = broken.got;
      code = mds::errc::unavailable;
      where = {.what = "the connection broke", .url = from.url(key)};
    }
    constexpr std::size_t piece = 1000;
    for (std::size_t at = 0; at < got; at += piece)
      take({}, mds::bytes_view(all).subspan(at, std::min(piece, got - at)));
    return code;
  }

  mds::runtime* threads_;
  store from_;
};

/// The same as one that sends more than it is asked for: a MiB behind each part.
class generous : public streaming {
 public:
  using streaming::streaming;

  void async_stream(std::string key, const std::optional<mds::object_version>& held,
                    std::uint64_t offset, std::uint64_t count, mds::byte_taker take,
                    std::stop_token stop, mds::diagnostics& where,
                    mds::store_handler<mds::object_version> done) const {
    streaming::async_stream(
        std::move(key), held, offset, count,
        [take = std::move(take)](const mds::object_version& found, mds::bytes_view bytes) {
          take(found, bytes);
          take(found, std::vector<std::byte>(std::size_t{1} << 20));
        },
        std::move(stop), where, std::move(done));
  }
};

}  // namespace fault_store
