#pragma once

// A store whose reads go wrong where a script says so.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mdstream/store/memory.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace fault_store {

namespace mds = mdstream;

enum class fault { none, error, refuse, throw_other, short_read, wrong_byte, longer };

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
    if (what == fault::short_read) return got / 2;
    if (what == fault::wrong_byte && got > 0) into[got / 2] ^= std::byte{1};
    if (what == fault::longer) return into.size();
    return got;
  }

  std::shared_ptr<shared> shared_ = std::make_shared<shared>();
};

}  // namespace fault_store
