#pragma once

// A device for tests of stagers: streams that run late and in any order that their events allow, on
// memory that is poisoned when it is freed. Any of its calls can be told to fail.

#include <mdstream/stage/detail/device_api.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace scripted {

using mdstream::stage::stream_handle;

/// What all handles to the device share. Thread-safe.
class machine {
 public:
  /// Seeds differ in the order of things and in how far the device lags behind its callers.
  explicit machine(std::uint32_t seed) : random_(seed), lag_(1 + seed % 12) {}
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  /// What a stager leaves to the process on purpose ends here.
  ~machine() {
    for (std::byte* const left : memory_) ::operator delete(left, std::align_val_t{256});
  }

  /// The call of this number fails, from 1; 0: none.
  std::atomic<int> fail_at{0};
  /// What that call was.
  std::string failed_call;
  /// Faults of the stager that the machine saw.
  std::vector<std::string> faults;
  int calls = 0;
  std::map<std::string, int> calls_of;
  int entered = 0;
  int host_waits = 0;
  std::set<const void*> live;
  std::map<const std::byte*, std::uint64_t> pinned;
  std::uint64_t most_pinned = 0;
  /// Of the calling threads.
  int current_device = 7;

  /// A stream of the trainer. It needs no freeing.
  stream_handle trainer_stream(int number) {
    return reinterpret_cast<stream_handle>(static_cast<std::uintptr_t>(number) * 16);
  }
  /// One of another device.
  stream_handle foreign_stream() { return reinterpret_cast<stream_handle>(std::uintptr_t{8}); }
  [[nodiscard]] bool is_foreign(stream_handle stream) { return stream == foreign_stream(); }
  /// Work that runs when the stream comes to it.
  void launch(stream_handle stream, std::function<void()> work) {
    const std::scoped_lock lock(mutex_);
    streams_[stream].push_back({.work = std::move(work)});
  }
  /// Runs everything. False if streams wait for each other for ever.
  bool finish() {
    const std::scoped_lock lock(mutex_);
    while (step()) {
    }
    return std::all_of(streams_.begin(), streams_.end(),
                       [](const auto& stream) { return stream.second.empty(); });
  }

  /// A call of the stager: 0, or 1 where it fails.
  template <class Body>
  int call(const char* name, bool needs_device, Body&& body) {
    const std::scoped_lock lock(mutex_);
    if (needs_device && entered == 0) faults.push_back(std::string(name) + " on a foreign device");
    ++calls_of[name];
    if (++calls == fail_at) {
      failed_call = name;
      return 1;
    }
    if (random_() % lag_ == 0)
      for (auto steps = random_() % 3; steps > 0; --steps) step();
    body();
    return 0;
  }

  /// A call that can not fail.
  template <class Body>
  void quietly(Body&& body) {
    const std::scoped_lock lock(mutex_);
    body();
  }

  int make_event() {
    done_.push_back(0);
    recorded_.push_back(0);
    return static_cast<int>(done_.size());
  }
  void record(int event, stream_handle stream) {
    const int turn = ++recorded_[at(event)];
    streams_[stream].push_back({.work = [this, event, turn] { done_[at(event)] = turn; }});
  }
  void hold(stream_handle stream, int event) {
    streams_[stream].push_back({.work = [] {}, .event = event, .turn = recorded_[at(event)]});
  }
  void await(int event) {
    host_waits += done_[at(event)] < recorded_[at(event)] ? 1 : 0;
    while (done_[at(event)] < recorded_[at(event)])
      if (!step()) return faults.push_back("an event that never comes is waited for");
  }
  void await(stream_handle stream) {
    while (!streams_[stream].empty())
      if (!step()) return faults.push_back("a stream that never ends is waited for");
  }
  stream_handle make_stream() {
    return reinterpret_cast<stream_handle>(++last_stream_ * 16 + (1 << 20));
  }
  std::byte* allocate(std::uint64_t bytes) {
    auto* memory = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{256}));
    std::memset(memory, 0xAA, bytes);
    live.insert(memory);
    memory_.insert(memory);
    return memory;
  }
  /// Waits for all streams, as CUDA does.
  void release_pinned(std::byte* memory) {
    while (step()) {
    }
    pinned.erase(memory);
    release(memory);
  }
  void release(std::byte* memory) {
    if (live.erase(memory) == 0) return faults.push_back("memory is freed twice");
    memory_.erase(memory);
    ::operator delete(memory, std::align_val_t{256});
  }

 private:
  struct operation {
    std::function<void()> work;
    int event = 0;  // 0: can run at once
    int turn = 0;
  };
  static std::size_t at(int event) { return static_cast<std::size_t>(event - 1); }

  /// Runs the first operation of a stream that can run. False where there is none.
  bool step() {
    std::vector<std::deque<operation>*> ready;
    for (auto& [name, queue] : streams_)
      if (!queue.empty() &&
          (queue.front().event == 0 || done_[at(queue.front().event)] >= queue.front().turn))
        ready.push_back(&queue);
    if (ready.empty()) return false;
    auto& queue = *ready[random_() % ready.size()];
    const operation next = std::move(queue.front());
    queue.pop_front();
    next.work();
    return true;
  }

  std::recursive_mutex mutex_;
  std::mt19937 random_;
  std::uint32_t lag_;
  std::map<stream_handle, std::deque<operation>> streams_;
  std::vector<int> done_, recorded_;
  std::set<std::byte*> memory_;
  std::uintptr_t last_stream_ = 0;
};

/// A model of `device_api`.
class api {
 public:
  using status = int;
  using event = int;
  using scope = int;  // how deep the thread was in

  explicit api(std::shared_ptr<machine> m) : m_(std::move(m)) {}

  [[nodiscard]] int device() const noexcept { return 7; }
  [[nodiscard]] static int devices() noexcept { return 1; }
  [[nodiscard]] int enter(scope& before) noexcept {
    return m_->call("enter", false, [&] {
      ++m_->entered;
      before = depth_of_thread()++;
    });
  }
  void leave(scope before) noexcept {
    m_->quietly([&] {
      --m_->entered;
      if (--depth_of_thread() != before) m_->faults.push_back("a thread is left in another state");
    });
  }
  [[nodiscard]] int owns(stream_handle stream, bool& answer) const noexcept {
    return m_->call("owns", false, [&] {
      if (depth_of_thread() != 0) m_->faults.push_back("the thread's own device is not current");
      answer = stream == nullptr ? m_->current_device == device() : !m_->is_foreign(stream);
    });
  }
  [[nodiscard]] int make_stream(stream_handle& out) noexcept {
    return m_->call("make_stream", true, [&] {
      out = m_->make_stream();
      m_->live.insert(out);
    });
  }
  void free_stream(stream_handle stream) noexcept {
    m_->quietly([&] { m_->live.erase(stream); });
  }
  [[nodiscard]] int make_event(int& out) noexcept {
    return m_->call("make_event", true, [&] { m_->live.insert(name(out = m_->make_event())); });
  }
  void free_event(int one) noexcept {
    m_->quietly([&] { m_->live.erase(name(one)); });
  }
  [[nodiscard]] int record(int one, stream_handle stream) noexcept {
    return m_->call("record", true, [&] { m_->record(one, stream); });
  }
  [[nodiscard]] int hold(stream_handle stream, int one) noexcept {
    return m_->call("hold", true, [&] { m_->hold(stream, one); });
  }
  [[nodiscard]] int await(int one) noexcept {
    return m_->call("await event", true, [&] { m_->await(one); });
  }
  [[nodiscard]] int await(stream_handle stream) noexcept {
    return m_->call("await stream", true, [&] { m_->await(stream); });
  }
  [[nodiscard]] int make_pinned(std::byte*& out, std::uint64_t bytes) noexcept {
    return m_->call("make_pinned", true, [&] {
      out = m_->allocate(bytes);
      m_->pinned[out] = bytes;
      std::uint64_t all = 0;
      for (const auto& [memory, size] : m_->pinned) all += size;
      m_->most_pinned = std::max(m_->most_pinned, all);
    });
  }
  void free_pinned(std::byte* memory) noexcept {
    m_->quietly([&] { m_->release_pinned(memory); });
  }
  [[nodiscard]] int upload(std::byte* to, const std::byte* from, std::uint64_t bytes,
                           stream_handle stream) noexcept {
    return m_->call("upload", true,
                    [&] { m_->launch(stream, [=] { std::memcpy(to, from, bytes); }); });
  }
  [[nodiscard]] int download(std::byte* to, const std::byte* from, std::uint64_t bytes,
                             stream_handle stream) noexcept {
    return m_->call("download", true,
                    [&] { m_->launch(stream, [=] { std::memcpy(to, from, bytes); }); });
  }
  [[nodiscard]] std::string describe(int) const { return "scriptedError: " + m_->failed_call; }

 private:
  static int& depth_of_thread() {
    thread_local int depth = 0;
    return depth;
  }
  static const void* name(int one) { return reinterpret_cast<const void*>(std::uintptr_t(one)); }
  std::shared_ptr<machine> m_;
};

static_assert(mdstream::stage::detail::device_api<api>);

/// A model of `device_memory`.
class memory {
 public:
  explicit memory(std::shared_ptr<machine> m) : m_(std::move(m)) {}

  void* allocate_async(std::size_t bytes, std::size_t, stream_handle) {
    std::byte* out = nullptr;
    if (m_->call("allocate", true, [&] { out = m_->allocate(bytes); }) != 0)
      throw std::runtime_error("scriptedError: allocate");
    return out;
  }
  void deallocate_async(void* at, std::size_t bytes, std::size_t, stream_handle stream) {
    m_->launch(stream, [m = m_.get(), at, bytes] {
      std::memset(at, 0xDD, bytes);
      m->release(static_cast<std::byte*>(at));
    });
  }

 private:
  std::shared_ptr<machine> m_;
};

static_assert(mdstream::stage::detail::device_memory<memory>);

}  // namespace scripted
