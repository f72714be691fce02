#pragma once

/// Checkpoints of a run, as they lie in its store: list, open, read.

#include <mdstream/checkpoint/box.hpp>
#include <mdstream/checkpoint/detail/checked_read.hpp>
#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/read_plan.hpp>
#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/detail/run_texts.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/sizes.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/stage/device_copies.hpp>
#include <mdstream/store/opened_store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Name, type and shape of a tensor of a checkpoint; the shape is in elements, outermost first.
struct tensor_info {
  std::string name{};
  tensor_type type{};
  tensor_shape shape{};

  friend bool operator==(const tensor_info&, const tensor_info&) = default;
};

/// One checkpoint of a run, as a listing shows it.
struct checkpoint_info {
  std::string name{};  ///< `00000012-0123456789abcdef-000000001000`: start, nonce, step
  std::uint64_t step = 0;
  std::uint64_t ranks = 0;                                      ///< that saved it
  std::uint64_t bytes = 0;                                      ///< of its files
  std::string parent{};                                         ///< the one before it, if any
  std::vector<std::pair<std::string, std::string>> metadata{};  ///< the user's
  bool on_line = false;  ///< of the run's line: not rolled back, not of a superseded job
  bool pinned = false;
  bool damaged = false;  ///< its manifest is, or a rank found its bytes so
};

/// A part of a file that is not as it was saved.
struct checkpoint_damage {
  std::string file{};
  std::uint64_t begin = 0;  ///< bytes of the file
  std::uint64_t end = 0;
  std::string what{};  ///< for people; names the tensors
};

/// How checkpoints are read.
struct read_options {
  /// Check all that is read, in blocks of 16 MiB. Else only blocks that are read nearly whole are:
  /// of a tensor that is cut elsewhere than it was saved, the blocks at both ends are not, and cost
  /// no more than their bytes.
  bool check_all = false;
  /// Requests at a time. Each has a buffer of up to 16 MiB.
  unsigned requests = 8;
  /// From the name of a listed tensor to that in the checkpoint.
  std::function<std::string(const std::string&)> rename{};
  /// Where the listed tensors are. By default where those of the saver are that gave the
  /// checkpoint, else in host memory.
  stage::device_copies device{};
  /// Tensors on a device are written after what this stream holds now; null: its default stream.
  stage::stream_handle stream = nullptr;
  /// Pinned memory on the way to a device.
  byte_size memory{std::uint64_t{512} << 20};
  /// Convert tensors of another type than listed: F16, BF16, F32 and F64 to each other, rounded to
  /// nearest, ties to even. Else they are refused.
  bool cast = false;
};

/// How the checkpoints of a run are reached.
struct checkpoint_options {
  /// Other places of the same run, as in `saver_options`: what any of them has is there, and is
  /// read from the first that has it whole. All have to answer. Plain files have none.
  std::vector<opened_store> mirrors{};
  /// How long requests are repeated that fail with transient errors.
  std::chrono::milliseconds patience = default_patience;
  /// Gets what is passed over, and why. Called from any thread.
  warning_function warn = &warn_on_stderr;
};

namespace detail {

/// The places of a run, as the options say that they are reached.
[[nodiscard]] run_store reach(opened_store run, const checkpoint_options& options);

}  // namespace detail

/// Reads tensors of a complete checkpoint, or of a model in plain files: any box of any tensor into
/// memory of the caller, however the tensors were cut when they were saved.
///
/// Tensors are packed, row-major and little-endian, in the files and in memory.
/// Lifetime: copies share the store and the layout, and may outlive what opened them.
/// Thread safety: any number of threads may call const members.
/// Errors: `errc::not_found` for a tensor that the checkpoint does not have;
/// `errc::invalid_argument` for another type or shape, or a box outside; `errc::corrupt`, naming
/// file, bytes and tensors, for bytes that do not have their checksum, fetched twice; what the
/// store fails with.
/// Cost: to open the newest: four listings and three reads, however many checkpoints there are; its
/// layout stays in memory. To read: one request for each 16 MiB, or for each run of bytes that is
/// more than 64 KiB away from others; `read_options::requests` at a time, with 16 MiB of memory
/// each. Ranks do not share what they read.
///
///     auto last = mds::checkpoint::open(mds::full_store::open("s3://bucket/7b"));
///     mds::tensor_list mine;
///     mine.add("h.0.w", mds::tensor_type::bf16, {rows, columns}, w.data());
///     last.load(mine);
class checkpoint {
 public:
  /// All checkpoints of a run, sorted by start and step; none for a new run. A damaged one is in
  /// the list, and `warn` gets why. Costs two requests for each and six more.
  [[nodiscard]] static std::vector<checkpoint_info> list(opened_store run,
                                                         checkpoint_options options = {});

  /// The one of that name, or of that step where the name is a number. Without a name the newest
  /// complete one of the run's line; if that is damaged, the one before, and `warn` gets why.
  /// Throws `errc::not_found` where there is no such checkpoint, `errc::corrupt` where it cannot be
  /// used, and what the store fails with: a failure of the store is never "not found".
  [[nodiscard]] static checkpoint open(opened_store run, std::string_view name = {},
                                       checkpoint_options options = {});

  /// Safetensors files that were written elsewhere: a model of the Hub, also sharded, or a
  /// checkpoint of torch.distributed. `name` is the file, or its index `*.safetensors.index.json`.
  /// Without a name it is `model.safetensors`; else the index, if there is one; else all
  /// `*.safetensors` that lie there, no two of which may have the same tensor.
  ///
  /// Such a checkpoint has no name, step, ranks or checksums; metadata are those of the files.
  /// Throws `errc::not_found` where there is none, `errc::corrupt`, naming file and tensor, for
  /// heads that cannot be right, `errc::invalid_argument` where a name is needed to choose. Cost:
  /// a listing; two requests for each file, of which the second has most heads whole.
  ///
  ///     auto model = mds::checkpoint::open_files(mds::full_store::open("hf://org/name"));
  ///     model.load(mine, {.cast = true});
  [[nodiscard]] static checkpoint open_files(opened_store files, std::string_view name = {},
                                             checkpoint_options options = {});

  [[nodiscard]] std::string name() const {
    return is_run() ? data_->manifest.id.text() : std::string();
  }
  [[nodiscard]] std::uint64_t step() const noexcept { return data_->manifest.id.step; }
  [[nodiscard]] std::uint64_t ranks() const noexcept { return data_->manifest.ranks; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return data_->manifest.data_bytes; }
  /// Of the loaders of all ranks, as it was given when it was saved; empty: none.
  [[nodiscard]] const std::string& loader_state() const noexcept {
    return data_->manifest.loader_state;
  }
  /// The user's own.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& metadata() const noexcept {
    return data_->manifest.metadata;
  }

  /// Sorted by name.
  [[nodiscard]] std::vector<tensor_info> tensors() const;

  /// What a rank gave as `save_options::own`. One request. Throws `errc::out_of_range` for a rank
  /// that there was not.
  [[nodiscard]] std::string own(std::uint64_t rank) const;

  /// Fills the memory of each tensor of the list with its part. Other tensors of the checkpoint are
  /// left alone. A list may be any cut, and another one than was saved. What is listed as
  /// replicated is read whole by each rank: for shares see docs/checkpoints.md. Tensors on a device
  /// have their values when it returns. Writes from several threads; after a failure some parts are
  /// filled. Cost: requests as above, on `read_options::requests` threads.
  void load(const tensor_list& into, const read_options& options = {}) const;

  /// One box of one tensor, packed and row-major, into host memory of exactly its bytes.
  ///
  ///     std::vector<float> row(768);  // row 7 of "wte", F32 [50257, 768]
  ///     last.read("wte", {{7, 0}, {1, 768}}, std::as_writable_bytes(std::span(row)));
  void read(std::string_view name, const box& part, mutable_bytes into,
            const read_options& options = {}) const;

  /// Reads all files that have checksums and compares them. Returns what is damaged or missing,
  /// sorted by file; throws what the store fails with. `progress` is called with the bytes of each
  /// block, from several threads. Cost: a request and 16 MiB of memory for each block.
  [[nodiscard]] std::vector<checkpoint_damage> verify(
      unsigned requests = 8, const std::function<void(std::uint64_t)>& progress = {}) const;

  /// Not part of the interface for users. `reader`: the rank that notes damage for the next start.
  checkpoint(std::shared_ptr<detail::run_store> store, detail::checkpoint_manifest manifest,
             detail::data_layout layout, std::optional<std::uint64_t> reader = std::nullopt,
             stage::device_copies device = {});

 private:
  struct load_target {
    std::byte* data = nullptr;
    detail::element_cast cast{};
  };

  struct contents {
    contents(std::shared_ptr<detail::run_store> s, detail::checkpoint_manifest m,
             detail::data_layout l, std::optional<std::uint64_t> r, stage::device_copies d);
    std::shared_ptr<detail::run_store> store;
    detail::checkpoint_manifest manifest;
    detail::data_layout layout;
    std::optional<std::uint64_t> reader;
    stage::device_copies device;  // of the reader's tensors
  };

  /// Memory for blocks, as many as there are requests at a time.
  class buffers {
   public:
    using block = std::unique_ptr<std::byte[]>;
    [[nodiscard]] block take();
    void give_back(block back);

   private:
    std::mutex mutex_;
    std::vector<block> free_;
  };

  void load_to_host(const tensor_list& into, const read_options& options) const;
  void load_to_device(const tensor_list& into, const stage::device_copies& device,
                      const read_options& options) const;
  /// Not plain files.
  [[nodiscard]] bool is_run() const noexcept { return data_->manifest.ranks > 0; }
  [[nodiscard]] std::string key_of(const detail::data_file& file) const {
    return is_run() ? data_->manifest.id.directory() + file.name : file.name;
  }

  static std::string text_of(tensor_type type, const tensor_shape& shape);

  static std::vector<checkpoint_info> list(detail::run_store& store,
                                           const checkpoint_options& options);

  /// The checkpoints of the newest start's line.
  static std::set<detail::save_id> line(detail::run_store& store,
                                        const std::set<detail::save_id>& manifests,
                                        const warning_function& warn);

  static detail::save_id find(detail::run_store& store, std::string_view name,
                              const checkpoint_options& options);

  void fetch(const detail::read_plan& plan, const std::vector<load_target>& targets,
             const read_options& options) const;

  /// Fetches, checks, and fetches once more what does not have its checksum: it may have been
  /// damaged on the way.
  template <class Take>
  void fetch_checked(const detail::planned_fetch& one, buffers& memory, const Take& take) const {
    const std::string key = key_of(data_->layout.files[one.file]);
    buffers::block block = memory.take();
    const mutable_bytes bytes(block.get(),
                              static_cast<std::size_t>(one.end + one.tail - one.begin));
    const auto right = [&] { return !one.crc || mdstream::detail::crc32c(bytes) == *one.crc; };
    if (!data_->store->read_right(key, one.begin, bytes, right)) refuse(one, key);
    take(bytes);
    memory.give_back(std::move(block));
  }

  [[noreturn]] void refuse(const detail::planned_fetch& one, const std::string& key) const;

  std::shared_ptr<const contents> data_;
};

/// Keeps a checkpoint from being removed by `keep_rules` until `unpin_checkpoint` with the same
/// `who`, a word for who needs it. `name` as `checkpoint::open` has it. Throws `errc::not_found`
/// where there is no such checkpoint, or where a job removed it meanwhile.
///
///     mds::pin_checkpoint(run, "30000", "paper");
void pin_checkpoint(opened_store run, std::string_view name, std::string_view who,
                    checkpoint_options options = {});

/// Undoes `pin_checkpoint`. Takes the full name, `checkpoint::name()`. No error if it is not
/// pinned.
void unpin_checkpoint(opened_store run, std::string_view name, std::string_view who,
                      checkpoint_options options = {});

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/checkpoint.ipp>
#endif
