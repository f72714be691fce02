#pragma once

/// The memory of files that are uploaded from where they are mapped.

#include <mdstream/core/bytes.hpp>

#include "let_go.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace cli {

namespace mds = mdstream;

/// Lets go of the pages of mapped files as soon as they were hashed or sent, so that of each upload
/// few are in memory, whatever its size. Thread-safe.
class mapped_uploads {
 public:
  /// The upload of a whole mapping.
  class upload {
   public:
    upload(mapped_uploads& all, mds::bytes_view mapping, std::function<void()> check = {})
        : all_(all), mapping_(mapping) {
      const std::lock_guard lock(all_.mutex_);
      all_.mappings_[mapping_.data()] = {mapping_.size(), std::move(check)};
    }
    upload(const upload&) = delete;
    upload& operator=(const upload&) = delete;
    ~upload() {
      const std::lock_guard lock(all_.mutex_);
      all_.mappings_.erase(mapping_.data());
    }

   private:
    mapped_uploads& all_;
    mds::bytes_view mapping_;
  };

  /// For any bytes that a store has read; those of no mapping stay. Throws what the check of their
  /// upload throws.
  void was_read(mds::bytes_view some) {
    const std::lock_guard lock(mutex_);
    auto at = mappings_.upper_bound(some.data());
    if (at == mappings_.begin()) return;
    --at;
    const mds::bytes_view mapping(at->first, at->second.bytes);
    const auto begin = static_cast<std::size_t>(some.data() - mapping.data());
    if (begin + some.size() > mapping.size()) return;
    const std::size_t first = begin / at_once * at_once,
                      last = std::min((begin + some.size() + at_once - 1) / at_once * at_once,
                                      mapping.size());
    let_go(mapping.subspan(first, last - first));
    if (at->second.check) at->second.check();
  }

 private:
  /// A read brings in up to so much around it.
  static constexpr std::size_t at_once = 64 << 10;

  struct mapped {
    std::size_t bytes = 0;
    std::function<void()> check{};
  };

  std::mutex mutex_;
  std::map<const std::byte*, mapped> mappings_;
};

}  // namespace cli
