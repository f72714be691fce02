#pragma once

/// Copies objects one at a time, each whole or not at all.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/full.hpp>
#include <mdstream/store/retrying.hpp>

#include "copy_plan.hpp"
#include "progress_bar.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace cli {

/// A store whose failures that pass are waited out. Local paths need no such patience and are used
/// as they are, on the calling thread. Thread-safe.
class patient_store {
 public:
  patient_store(mds::runtime& threads, const std::string& url);

  [[nodiscard]] std::uint64_t size(const std::string& key) const;
  std::size_t read(const std::string& key, std::uint64_t offset, mds::mutable_bytes into) const;
  void write(const std::string& key, mds::bytes_view bytes) const;
  [[nodiscard]] std::string url(const std::string& key) const { return store_.url(key); }
  /// The asynchronous face, which does not try again by itself.
  [[nodiscard]] const mds::any_async_store& async() const { return async_; }

 private:
  mds::runtime& threads_;
  mds::full_store store_;
  mds::any_async_store async_;
  std::optional<mds::retrying<mds::any_async_store>> remote_;
};

/// What lies at the destination with the size of its source is left as it is. Thread-safe; the
/// runtime outlives it.
class object_copier {
 public:
  object_copier(mds::runtime& threads, const std::string& destination, copy_progress& progress);

  /// Throws mds::error.
  void copy(const copy_item& item);

 private:
  [[nodiscard]] std::shared_ptr<const patient_store> source(const std::string& url);
  [[nodiscard]] bool is_there(const copy_item& item, const patient_store& from) const;
  [[nodiscard]] std::string path_of(const copy_item& item) const;
  void copy_streamed(const copy_item& item, const patient_store& from);
  void copy_mapped(const copy_item& item, const patient_store& from);
  void copy_small(const copy_item& item, const patient_store& from);
  void copy_large(const copy_item& item, const patient_store& from);
  void expect(std::uint64_t bytes) { progress_.bytes_expected += bytes; }

  mds::runtime& threads_;
  std::string destination_url_;
  patient_store destination_;
  copy_progress& progress_;
  std::map<std::string, std::uint64_t> there_;  // keys at the destination, and their sizes
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const patient_store>> sources_;
};

}  // namespace cli
