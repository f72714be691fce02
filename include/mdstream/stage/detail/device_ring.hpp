#pragma once

/// The buffers behind device stagers, and what has to wait for what before one is used again. Knows
/// a GPU only through `device_api`.

#include <mdstream/collate/plan.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/stage/detail/device_api.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::stage::detail {

/// A ring of buffers, each pinned host memory and, where asked for, device memory, with a stream of
/// its own. Buffers come back in the order in which they were given up, so a loop that holds one
/// batch at a time sees the same addresses in turn.
///
/// One thread at a time calls `take` and fills a buffer; any thread gives one back. `take` throws
/// `errc::device_error`; what fails while a buffer is given back is thrown by the next `take`,
/// once.
template <device_api Api, device_memory Memory>
class device_ring {
  using event = typename Api::event;
  using status = typename Api::status;

 public:
  /// Belongs to one batch from `take` to `give_back`.
  class buffer {
   public:
    /// Pinned memory.
    [[nodiscard]] std::byte* host() const noexcept { return host_; }
    /// Device memory; null where none was asked for.
    [[nodiscard]] std::byte* device() const noexcept { return device_; }

   private:
    friend class device_ring;
    /// A stream that reads the batch, and the end of what it held when the batch was given up.
    struct reader {
      stream_handle stream = nullptr;
      event done{};
    };
    /// How to learn that the ring's own work on the buffer is done.
    enum class pending : std::uint8_t { nothing, own_stream, filled };

    std::byte* host_ = nullptr;
    std::uint64_t host_bytes_ = 0;
    std::byte* device_ = nullptr;
    std::uint64_t device_bytes_ = 0;
    event filled_{};
    pending pending_ = pending::nothing;
    bool lost_ = false;  // nothing tells when its readers are done: it is not used again
    std::vector<reader> readers_{};  // the first `reading_` are in use, the others keep their event
    std::size_t reading_ = 0;
  };

  /// Makes `depth` buffers before it uses one again. Throws `errc::device_error`.
  device_ring(Api api, Memory memory, std::size_t depth)
      : api_(std::move(api)), memory_(std::move(memory)), depth_(depth) {
    const on_device current(*this);
    check(api_.make_stream(stream_), "cannot make a stream");
  }
  device_ring(const device_ring&) = delete;
  device_ring& operator=(const device_ring&) = delete;
  /// Precondition: every buffer was given back.
  ~device_ring() {
    typename Api::scope before{};
    if (api_.enter(before) != status{}) return;  // nothing can be freed without the device
    for (buffer& one : all_) {
      if (one.lost_) continue;  // may be read still: it goes with the process
      for (; one.reading_ > 0; --one.reading_) {
        const event done = one.readers_[one.reading_ - 1].done;
        if (api_.hold(stream_, done) != status{} && api_.await(done) != status{}) one.lost_ = true;
      }
      if (!one.lost_) free_device(one);
    }
    static_cast<void>(api_.await(stream_));  // what fails here was reported or concerns nobody
    for (buffer& one : all_) {
      if (one.lost_) continue;
      if (one.host_ != nullptr) api_.free_pinned(one.host_);
      if (one.filled_ != event{}) api_.free_event(one.filled_);
      for (const auto& reader : one.readers_) api_.free_event(reader.done);
    }
    api_.free_stream(stream_);
    api_.leave(before);
  }

  [[nodiscard]] int device() const noexcept { return api_.device(); }
  /// The stream that fills buffers.
  [[nodiscard]] stream_handle stream() const noexcept { return stream_; }
  /// Buffers made so far: `depth`, or as many as were held at one time if that was more.
  [[nodiscard]] std::size_t buffers() const noexcept { return all_.size(); }

  /// A buffer of at least these sizes whose pinned memory may be written at once, and whose device
  /// memory may be written by the ring's stream. Waits for the device where the copy out of its
  /// pinned memory is not done.
  [[nodiscard]] buffer& take(std::uint64_t host_bytes, std::uint64_t device_bytes) {
    throw_late_failure();
    const on_device current(*this);
    buffer& one = next_free();
    try {
      finish_own_work(one);
      finish_readers(one, device_bytes != 0);
      grow_host(one, host_bytes);
      if (device_bytes != 0) grow_device(one, device_bytes);
    } catch (...) {
      put_free(one);
      throw;
    }
    return one;
  }

  /// Copies the first `bytes` of the pinned memory to the device memory from byte `at` on.
  void upload(buffer& one, std::uint64_t bytes, std::uint64_t at = 0) {
    if (bytes == 0) return;
    const on_device current(*this);
    one.pending_ = buffer::pending::own_stream;
    check(api_.upload(one.device_ + at, one.host_, bytes, stream_),
          "cannot copy a batch to the device");
  }

  /// Runs `work(stream)`, which enqueues more on the ring's stream and returns a status.
  template <class Work>
  void enqueue(buffer& one, std::string_view what, Work&& work) {
    const on_device current(*this);
    one.pending_ = buffer::pending::own_stream;
    check(work(stream_), what);
  }

  /// The buffer holds its batch once what was enqueued so far is done.
  void filled(buffer& one) {
    const on_device current(*this);
    one.pending_ = buffer::pending::own_stream;
    if (one.filled_ == event{}) check(api_.make_event(one.filled_), "cannot make an event");
    check(api_.record(one.filled_, stream_), "cannot record the end of a copy");
    one.pending_ = buffer::pending::filled;
  }

  /// Later work on `stream` sees the batch, and the buffer is not written before what `stream`
  /// holds when it is given back is done. Throws `errc::invalid_argument` for a stream of another
  /// device, whose events could not tell that.
  void ready_on(buffer& one, stream_handle stream) {
    refuse_foreign(stream);
    const on_device current(*this);
    if (one.pending_ == buffer::pending::filled)
      check(api_.hold(stream, one.filled_), "cannot make a stream wait for its batch");
    const auto used = one.readers_.begin() + static_cast<std::ptrdiff_t>(one.reading_);
    if (std::any_of(one.readers_.begin(), used,
                    [stream](const auto& reader) { return reader.stream == stream; }))
      return;
    if (one.reading_ == one.readers_.size()) {
      one.readers_.reserve(one.reading_ + 1);
      event done{};
      check(api_.make_event(done), "cannot make an event");
      one.readers_.push_back({stream, done});
    }
    one.readers_[one.reading_++].stream = stream;
  }

  void give_back(buffer& one) noexcept {
    typename Api::scope before{};
    status failure = api_.enter(before);
    if (failure == status{}) {
      for (std::size_t i = 0; i < one.reading_ && failure == status{}; ++i)
        failure = api_.record(one.readers_[i].done, one.readers_[i].stream);
      api_.leave(before);
    }
    if (failure == status{} || one.reading_ == 0) {
      put_free(one);
    } else {
      const std::scoped_lock lock(mutex_);
      one.lost_ = true;
      late_failure_ = failure;
    }
  }

 private:
  /// The ring's device is current while this lives.
  class on_device {
   public:
    explicit on_device(device_ring& ring) : ring_(ring) {
      ring_.check(ring_.api_.enter(before_), "cannot use the device");
    }
    on_device(const on_device&) = delete;
    on_device& operator=(const on_device&) = delete;
    ~on_device() { ring_.api_.leave(before_); }

   private:
    device_ring& ring_;
    typename Api::scope before_{};
  };

  [[nodiscard]] error failed(std::string_view what, std::string cause,
                             errc code = errc::device_error) const {
    return {code,
            diagnostics{.what = std::string(what) + ", CUDA device " + std::to_string(device()),
                        .cause = std::move(cause)}};
  }
  void refuse_foreign(stream_handle stream) {
    bool is_own = false;
    check(api_.owns(stream, is_own), "cannot tell the device of a stream");
    if (!is_own)
      throw failed("a batch cannot be made ready on a stream of another device",
                   "the loader's device has to be current where its default stream is meant",
                   errc::invalid_argument);
  }
  void check(status outcome, std::string_view what) const {
    if (outcome != status{}) throw failed(what, api_.describe(outcome));
  }
  void throw_late_failure() {
    std::optional<status> failure;
    {
      const std::scoped_lock lock(mutex_);
      failure = std::exchange(late_failure_, std::nullopt);
    }
    if (failure) check(*failure, "cannot record the end of the work on a batch");
  }

  [[nodiscard]] buffer& next_free() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty() || all_.size() < depth_) {
      free_.reserve(all_.size() + 1);  // giving back must not throw
      return all_.emplace_back();
    }
    buffer& oldest = *free_.front();
    free_.erase(free_.begin());
    return oldest;
  }
  void put_free(buffer& one) noexcept {
    const std::scoped_lock lock(mutex_);
    free_.push_back(&one);
  }

  /// The host may write the pinned memory.
  void finish_own_work(buffer& one) {
    if (one.pending_ == buffer::pending::filled)
      check(api_.await(one.filled_), "waiting for a copy to the device failed");
    else if (one.pending_ == buffer::pending::own_stream)
      check(api_.await(stream_), "waiting for a copy to the device failed");
    one.pending_ = buffer::pending::nothing;
  }

  /// The next writer waits for the readers: the ring's stream, or for pinned memory the host.
  void finish_readers(buffer& one, bool on_stream) {
    for (; one.reading_ > 0; --one.reading_) {
      const event done = one.readers_[one.reading_ - 1].done;
      check(on_stream ? api_.hold(stream_, done) : api_.await(done),
            "waiting for the readers of a batch failed");
    }
  }

  void grow_host(buffer& one, std::uint64_t bytes) {
    if (one.host_ != nullptr && one.host_bytes_ >= bytes) return;
    const std::uint64_t room = with_room(bytes);
    if (one.host_ != nullptr) api_.free_pinned(std::exchange(one.host_, nullptr));
    one.host_bytes_ = 0;
    check(api_.make_pinned(one.host_, room),
          "cannot allocate " + std::to_string(room) + " bytes of pinned memory");
    one.host_bytes_ = room;
  }

  void grow_device(buffer& one, std::uint64_t bytes) {
    if (one.device_ != nullptr && one.device_bytes_ >= bytes) return;
    const std::uint64_t room = with_room(bytes);
    free_device(one);
    try {
      one.device_ = allocate(memory_, room, collate::alignment, stream_);
      one.device_bytes_ = room;
    } catch (const std::exception& e) {
      throw failed("cannot allocate " + std::to_string(room) + " bytes", e.what());
    }
  }

  void free_device(buffer& one) noexcept {
    if (one.device_ == nullptr) return;
    try {
      deallocate(memory_, std::exchange(one.device_, nullptr), std::exchange(one.device_bytes_, 0),
                 collate::alignment, stream_);
    } catch (...) {
      // The device refuses even this: its memory goes with the process.
    }
  }

  /// Some room, so that batches of samples of varying length settle on one size.
  [[nodiscard]] static std::uint64_t with_room(std::uint64_t bytes) noexcept {
    return collate::align_up(bytes + bytes / 8 + 1);
  }

  Api api_;
  Memory memory_;
  std::size_t depth_;
  stream_handle stream_ = nullptr;
  std::deque<buffer> all_;  // buffers stay where they are
  std::mutex mutex_;
  std::vector<buffer*> free_;  // given up longest ago first
  std::optional<status> late_failure_;
};

}  // namespace mdstream::inline v0::stage::detail
