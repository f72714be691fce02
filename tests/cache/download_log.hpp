#pragma once

// What processes that may be killed at any time have asked a server for, and what of it they got:
// lines of one file, each written as a whole before the next thing happens.

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <mdstream/store/local.hpp>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cache_test {

namespace mds = mdstream;

class download_log {
 public:
  explicit download_log(const std::string& path)
      : file_(mds::detail::open_file(path, O_WRONLY | O_CREAT | O_APPEND)) {}

  void asked(std::string_view key) const {
    write("asked " + std::string(key));
    waits_ = true;
  }
  /// Whatever this process asked for before has been published.
  void has_it() const {
    if (waits_.exchange(false)) write("has it");
  }

 private:
  void write(const std::string& what) const {
    const std::string line = std::to_string(::getpid()) + ' ' + what + '\n';
    const auto put = [&] { return ::write(file_.get(), line.data(), line.size()); };
    if (mds::detail::uninterrupted(put) != static_cast<ssize_t>(line.size()))
      throw std::runtime_error("cannot write to the log of downloads");
  }

  mds::detail::unique_fd file_;
  mutable std::atomic<bool> waits_{false};
};

/// A directory that tells when an object is asked for.
class logged_store : public mds::store::local {
 public:
  logged_store(std::string root, std::shared_ptr<const download_log> log)
      : local(std::move(root)), log_(std::move(log)) {}

  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    if (offset == 0) log_->asked(key);
    return local::read(key, offset, into);
  }

 private:
  std::shared_ptr<const download_log> log_;
};

/// The log, counted.
struct download_counts {
  std::size_t downloads = 0;
  std::size_t objects = 0;    ///< distinct ones
  std::size_t cut_short = 0;  ///< processes that ended between asking for one and having it

  explicit download_counts(const std::string& path) {
    std::ifstream log(path);
    std::set<std::string> keys;
    std::map<std::string, bool> waits;  // by process
    std::string process, what, key;
    while (log >> process >> what >> key) {
      waits[process] = what == "asked";
      if (what != "asked") continue;
      ++downloads;
      keys.insert(key);
    }
    objects = keys.size();
    for (const auto& [id, waiting] : waits) cut_short += waiting ? 1 : 0;
  }
};

}  // namespace cache_test
