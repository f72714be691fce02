#pragma once

/// What a saver does: copies, uploads, commits, retains.

#include <mdstream/async/detail/pool.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/checkpoint/detail/file_plan.hpp>
#include <mdstream/checkpoint/detail/retention.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/detail/snapshot_memory.hpp>
#include <mdstream/checkpoint/detail/start.hpp>
#include <mdstream/checkpoint/options.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

class saving {
 public:
  explicit saving(saver_options options);

  ~saving();

  [[nodiscard]] std::optional<checkpoint> resume_point();

  /// Of this rank; empty where the world is another one.
  [[nodiscard]] std::string own_of(const checkpoint& of) const;

  void save(std::uint64_t step, const tensor_list& tensors, save_options what,
            stage::stream_handle stream);

  void wait_snapshot();
  void wait_snapshot(stage::stream_handle stream);

  /// Throws what the last save failed with, once.
  void finish();

  [[nodiscard]] std::uint64_t repeated() const { return run_->repeated(); }

 private:
  /// A file in memory.
  struct filled_block {
    snapshot_block memory{};
    std::shared_ptr<const stage::device_copies::mark> copied{};  // once it is there
  };

  struct one_save {
    save_id id{};
    std::string name{};
    save_options what{};
    tensor_list tensors{};
    std::vector<planned_file> files{};
    std::vector<filled_block> blocks{};  // of the files
    data_layout layout{};
    // Over the rest: `mutex_`.
    std::size_t copies_left = 0;
    std::size_t uploads_left = 0;  // the look before them is one
    bool has_looked = false;
    bool is_saved = false;                                       // by another process
    std::shared_ptr<const stage::device_copies::mark> copied{};  // from the device, once none left
    std::exception_ptr failure{};
    bool over = false;
  };
  using save_ptr = std::shared_ptr<one_save>;

  static saver_options checked(saver_options options);

  /// The run's stores, the nearest first.
  [[nodiscard]] std::vector<opened_store> places() const;

  [[nodiscard]] std::uint64_t file_bytes() const noexcept;

  [[nodiscard]] static std::uint64_t seed();

  void start();

  void fail(one_save& in, std::exception_ptr why);
  [[nodiscard]] bool has_failed(const one_save& in);

  /// Waits until the last save's copies are made, or enqueued on the device: then, their end.
  [[nodiscard]] std::shared_ptr<const stage::device_copies::mark> wait_copies();

  /// A file into memory. After a failure the others are only counted.
  void copy(const save_ptr& in, std::size_t number);
  void fill(const one_save& in, const planned_file& file, filled_block& block);

  void upload(one_save& in, std::size_t number);

  /// Whether another process takes the place of this one: a later start, or a rank of another
  /// launch with the same token, whose files are not to be overwritten.
  void look(one_save& in);

  /// Waits for the look. Whether the save has not failed.
  [[nodiscard]] bool may_upload(const one_save& in);

  void end_upload(one_save& in);

  /// On a thread of the uploads, when there are no more of them.
  void complete(one_save& in);

  /// So that it does not wait for this rank.
  void tell_rank_0(const one_save& in) noexcept;

  void commit(const one_save& in);

  const saver_options options_;
  runtime threads_;
  std::shared_ptr<run_store> run_;
  snapshot_memory memory_;
  std::optional<started_run> started_{};
  std::optional<save_id> parent_{};
  std::optional<retention> retention_{};
  std::optional<std::uint64_t> last_step_{};
  std::exception_ptr superseded_{};

  std::mutex mutex_;
  std::condition_variable changed_;
  save_ptr current_;
  thread_pool copies_, uploads_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/saving.ipp>
#endif
