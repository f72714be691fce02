#pragma once

/// Lists, opens and reads the checkpoints of a run in its store.

#include <mdstream/checkpoint/box.hpp>
#include <mdstream/checkpoint/detail/checked_read.hpp>
#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/read_plan.hpp>
#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/detail/run_texts.hpp>
#include <mdstream/checkpoint/metadata.hpp>
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
///
///     for (const mds::checkpoint_info& each : mds::checkpoint::list(run))
///       if (each.on_line && !each.damaged) use(each.name, each.step, each.bytes);
struct checkpoint_info {
  std::string name{};  ///< `00000012-0123456789abcdef-000000001000`: start, nonce, step
  std::uint64_t step = 0;
  std::uint64_t ranks = 0;         ///< that saved it
  std::uint64_t bytes = 0;         ///< of its files
  std::string parent{};            ///< the one before it, if any
  checkpoint_metadata metadata{};  ///< the user's
  bool on_line = false;            ///< of the run's line: not rolled back, not of a superseded job
  bool pinned = false;
  bool damaged = false;  ///< its manifest is, or a rank found its bytes so
};

/// A part of a file that is not as it was saved.
///
///     for (const mds::checkpoint_damage& part : last.verify()) use(part.file, part.what);
struct checkpoint_damage {
  std::string file{};
  std::uint64_t begin = 0;  ///< bytes of the file
  std::uint64_t end = 0;
  std::string what{};  ///< for people; names the tensors
};

/// How checkpoints are read.
///
///     last.load(mine, {.check_all = true, .requests = 32, .cast = true});
struct read_options {
  /// Checks every block of 16 MiB that is read in part. Otherwise only blocks that are read nearly
  /// whole are checked: for a part of a tensor, not the blocks at its two ends, of which only the
  /// needed bytes are read.
  bool check_all = false;
  /// Requests at a time. Each has a buffer of up to 16 MiB.
  unsigned requests = 8;
  /// Maps the name of a listed tensor to its name in the checkpoint.
  std::function<std::string(const std::string&)> rename{};
  /// The device of the listed tensors. The default is that of the saver that gave the checkpoint,
  /// otherwise host memory.
  stage::device_copies device{};
  /// Tensors on a device are written after the work that this stream holds now; null: its default
  /// stream.
  stage::stream_handle stream = nullptr;
  /// Pinned memory on the way to a device.
  byte_size memory{std::uint64_t{512} << 20};
  /// Converts tensors of another type than listed: F16, BF16, F32 and F64 to each other, rounded to
  /// nearest, ties to even. Otherwise another type is an error.
  bool cast = false;
};

/// Options to list, open and clean the checkpoints of a run.
///
///     const auto last = mds::checkpoint::open(run, {}, {.mirrors = {copy}});
struct checkpoint_options {
  /// Other stores of the same run, as in `saver_options`. Each block is read from the first that
  /// has it undamaged. All have to answer. Not for plain files.
  std::vector<opened_store> mirrors{};
  /// How long requests that fail with transient errors are retried.
  std::chrono::milliseconds patience = default_patience;
  /// Gets warnings, from any thread: which damaged checkpoint or block is passed over, and why.
  warning_function warn = &warn_on_stderr;
};

namespace detail {

/// The places of a run, as the options say that they are reached.
[[nodiscard]] run_store reach(opened_store run, const checkpoint_options& options);

}  // namespace detail

/// Reads tensors of a complete checkpoint, or of a model in plain files: any box of any tensor into
/// the caller's memory, whatever boxes were saved.
///
/// Tensors are packed, row-major and little-endian, in the files and in memory.
/// Lifetime: copies share the store and the layout, and may outlive the saver or store that they
/// came from.
/// Thread safety: any number of threads may call const members.
/// Errors: `errc::not_found` for a tensor that the checkpoint does not have;
/// `errc::invalid_argument` for another type or shape, or a box outside the tensor;
/// `errc::corrupt`, which names file, bytes and tensors, for a wrong checksum after two downloads;
/// the store's errors.
/// Cost: to open the newest: four listings and three reads, for any number of checkpoints; its
/// layout stays in memory. To read: one request for each 16 MiB, or for each range that is more
/// than 64 KiB away from others; `read_options::requests` at a time, with 16 MiB of memory each.
/// Ranks do not share what they read.
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

  /// Opens the checkpoint of that name, or of that step if the name is a number. Without a name,
  /// the newest complete one of the run; if that is damaged, the one before, and `warn` gets the
  /// reason. Throws `errc::not_found` if there is no such checkpoint, `errc::corrupt` if it cannot
  /// be used, and the store's errors: a failure of the store is never "not found".
  [[nodiscard]] static checkpoint open(opened_store run, std::string_view name = {},
                                       checkpoint_options options = {});

  /// Opens safetensors files of other programs: a model of the Hub, also sharded, or a checkpoint
  /// of torch.distributed. `name` is the file, or its index `*.safetensors.index.json`. Without a
  /// name it is `model.safetensors`; otherwise the index, if there is one; otherwise all
  /// `*.safetensors`, no two of which may have the same tensor.
  ///
  /// Such a checkpoint has no name, step, ranks or checksums; metadata are those of the files.
  /// Throws `errc::not_found` if there are no such files, `errc::corrupt`, which names file and
  /// tensor, for malformed headers, `errc::invalid_argument` if a name is needed to choose. Cost: a
  /// listing, and two requests for each file, or more for very large headers.
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
  /// The state of the loaders of all ranks, from `save_options::loader_state`; empty if not given.
  [[nodiscard]] const std::string& loader_state() const noexcept {
    return data_->manifest.loader_state;
  }
  /// From `save_options::metadata`.
  [[nodiscard]] const checkpoint_metadata& metadata() const noexcept {
    return data_->manifest.metadata;
  }

  /// Sorted by name.
  [[nodiscard]] std::vector<tensor_info> tensors() const;

  /// What a rank gave as `save_options::own`. One request. Throws `errc::out_of_range` for a rank
  /// that did not save.
  [[nodiscard]] std::string own(std::uint64_t rank) const;

  /// Fills the memory of each tensor of the list with its box, which may differ from the boxes that
  /// were saved. Each rank reads a replicated tensor whole; docs/checkpoints.md ("Load") shows how
  /// to read shares. Tensors on a device have their values when it returns. Writes from several
  /// threads; after a failure some parts are filled. Cost: requests as above, on
  /// `read_options::requests` threads.
  void load(const tensor_list& into, const read_options& options = {}) const;

  /// Reads one box of one tensor, packed and row-major, into host memory of exactly its bytes.
  ///
  ///     std::vector<float> row(768);  // row 7 of "wte", F32 [50257, 768]
  ///     last.read("wte", {{7, 0}, {1, 768}}, std::as_writable_bytes(std::span(row)));
  void read(std::string_view name, const box& part, mutable_bytes into,
            const read_options& options = {}) const;

  /// Reads all files that have checksums and checks them. Returns the damaged and missing parts,
  /// sorted by file; throws the store's errors. `progress` is called with the bytes of each block,
  /// from several threads. Cost: a request and 16 MiB of memory for each block.
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
/// `who`, a word for its user. `name` as `checkpoint::open` has it. Throws `errc::not_found`
/// where there is no such checkpoint, or where a job removed it meanwhile.
///
///     mds::pin_checkpoint(run, "30000", "paper");
void pin_checkpoint(opened_store run, std::string_view name, std::string_view who,
                    checkpoint_options options = {});

/// Undoes `pin_checkpoint`. Takes the full name, `checkpoint::name()`. No error if it is not
/// pinned.
///
///     mds::unpin_checkpoint(run, last.name(), "paper");
void unpin_checkpoint(opened_store run, std::string_view name, std::string_view who,
                      checkpoint_options options = {});

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/checkpoint.ipp>
#endif
