#pragma once

/// Copies objects, each whole or not at all.

#include <mdstream/async/pool.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/store/full.hpp>
#include <mdstream/store/retrying.hpp>

#include "copy_plan.hpp"
#include "progress_bar.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
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

/// What lies at the destination with the size of its source is left as it is. Thread-safe. The
/// runtime outlives it, and it all its copies.
class object_copier {
 public:
  using handler = mds::unique_function<void(std::exception_ptr failure)>;

  /// `at_once` is how many copies may be under way without waiting for each other.
  object_copier(mds::runtime& threads, const std::string& destination, unsigned at_once,
                copy_progress& progress);

  /// Calls `done` when the copy has ended or failed, perhaps within this call. What is streamed
  /// into a file is copied by the threads of the network alone; all else takes a thread meanwhile.
  /// `item` stays until then.
  void async_copy(const copy_item& item, handler done);

 private:
  struct streaming;

  void stream(const std::shared_ptr<streaming>& copy);
  [[nodiscard]] bool finish(streaming& copy, const mds::object_version& found);
  void on_a_thread(mds::unique_function<void()> work, handler done);
  void copy(const copy_item& item, const patient_store& from);
  [[nodiscard]] std::shared_ptr<const patient_store> source(const std::string& url);
  [[nodiscard]] bool is_there(const copy_item& item, const patient_store& from) const;
  [[nodiscard]] std::string path_of(const copy_item& item) const;
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
  mds::thread_pool blocking_;
};

}  // namespace cli
