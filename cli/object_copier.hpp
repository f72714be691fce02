#pragma once

/// Copies objects, each whole or not at all.

#include <mdstream/async/detail/pool.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/store/store.hpp>

#include "comparison.hpp"
#include "copy_plan.hpp"
#include "leftovers.hpp"
#include "patient_store.hpp"
#include "progress_bar.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace cli {

struct copy_options {
  compare_by compared = compare_by::hash;
  bool verify = false;   ///< whether each object is compared again when it was copied
  unsigned at_once = 1;  ///< copies that may be under way without waiting for each other
  store_patience patience{};
};

/// A failure of one object that keeps no other from being copied.
class object_failure : public mds::error {
 public:
  using mds::error::error;
  explicit object_failure(const mds::error& failure) : mds::error(failure) {}
};

/// An object that may be another than it was when its copy was begun.
class changed_object : public object_failure {
 public:
  using object_failure::object_failure;
};

/// What lies at the destination already is left as it is. After a stop, copies fail with
/// `errc::canceled`. Thread-safe. The runtime outlives it, and it all its copies.
class object_copier {
 public:
  using handler = mds::detail::unique_function<void(std::exception_ptr failure)>;

  /// Asks for what lies at the destination where the plan is so long that this is less than to ask
  /// for each object, and listing is allowed.
  object_copier(mds::runtime& threads, const copy_plan& plan, copy_options options,
                std::stop_token stop, copy_progress& progress);

  /// Calls `done` when the copy has ended or failed, perhaps within this call. What is streamed
  /// into a file is copied by the threads of the network alone; all else takes a thread meanwhile.
  /// An object that changes at its source meanwhile is begun anew, twice at most; then it fails
  /// with a `changed_object`.
  void async_copy(const copy_item& item, handler done);

 private:
  struct job;
  struct streaming;
  using job_ptr = std::shared_ptr<job>;

  void begin(const job_ptr& one);
  void end(const job_ptr& one, const std::exception_ptr& failure);
  void look_again(const job_ptr& one, const changed_object& failure);
  void stream(const job_ptr& one, const std::shared_ptr<streaming>& copy);
  [[nodiscard]] bool finish(job& one, streaming& copy, const mds::object_version& found);
  void on_a_thread(const job_ptr& one, mds::detail::unique_function<void()> work);
  void copy(job& one, comparison seen);
  [[nodiscard]] std::shared_ptr<const patient_store> source(const std::string& url);
  void require_keys(const copy_item& item) const;
  [[nodiscard]] comparison first_look(const copy_item& item) const;
  [[nodiscard]] std::optional<copy_end> looked_at(const copy_item& item) const;
  [[nodiscard]] std::optional<copy_end> target(const copy_item& item) const;
  [[nodiscard]] comparison last_look(const job& one, const std::optional<copy_end>& target) const;
  void leave(job& one, comparison seen);
  void copied(const job& one);
  [[nodiscard]] std::string path_of(const copy_item& item) const;
  [[nodiscard]] std::string written_path_of(const copy_item& item);
  void copy_beyond(job& one);
  void copy_mapped(job& one);
  void copy_small(job& one);
  void copy_large(job& one);

  mds::runtime& threads_;
  const std::string destination_url_;
  const bool into_files_;
  const copy_options options_;
  const std::stop_token stop_;
  patient_store destination_;
  copy_progress& progress_;
  std::optional<std::map<std::string, copy_end>> there_;  // by keys, where that was listed
  cleaned_directories cleaned_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const patient_store>> sources_;
  mds::detail::thread_pool blocking_;
};

}  // namespace cli
