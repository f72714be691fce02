#pragma once

/// What device stagers and checkpoints ask of a GPU's runtime: streams, events, pinned memory and
/// copies. The CUDA runtime is one model (stage/cuda/runtime.hpp); tests drive the same code with a
/// scripted one.

#include <mdstream/stage/stager.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mdstream::inline v0::stage::detail {

/// Calls of one device. Every call gives an `Api::status`, whose default is success, and none
/// throws.
///
/// - `device()`, `devices()`: its number, and how many of them the process sees.
/// - `enter(scope)`, `leave(scope)`: around all others but `owns`, on the calling thread; the
///   thread's own device is current again after `leave`, and no device but the chosen one is
///   touched. What the thread does between them disturbs no capture of a graph on another stream.
/// - `owns(stream, answer)`: whether the stream is of this device; of the default stream, whether
///   the calling thread's current device is.
/// - `make_stream`, `make_event`, `free_*`: streams do not synchronise with the default stream.
/// - `record(event, stream)`, `hold(stream, event)`: later work on `stream` waits for `event`.
/// - `await(event)`, `await(stream)`: the calling thread waits.
/// - `make_pinned(memory, bytes)`, `free_pinned(memory)`: at least `collate::alignment` aligned.
/// - `upload(to, from, bytes, stream)`: from pinned memory to the device, without waiting.
/// - `download(to, from, bytes, stream)`: from the device to pinned memory, without waiting.
/// - `describe(status)`: the runtime's name of the failure and its text.
template <class Api>
concept device_api =
    std::movable<Api> && std::default_initializable<typename Api::status> &&
    std::equality_comparable<typename Api::status> &&
    std::default_initializable<typename Api::event> &&
    std::default_initializable<typename Api::scope> &&
    requires(Api& api, const Api& fixed, typename Api::event event, typename Api::status status,
             stream_handle stream, stream_handle& new_stream, typename Api::event& new_event,
             typename Api::scope& scope, std::byte* memory, std::byte*& new_memory,
             std::uint64_t bytes, bool& answer) {
      { fixed.device() } noexcept -> std::same_as<int>;
      { fixed.devices() } noexcept -> std::same_as<int>;
      { api.enter(scope) } noexcept -> std::same_as<typename Api::status>;
      { api.leave(scope) } noexcept;
      { fixed.owns(stream, answer) } noexcept -> std::same_as<typename Api::status>;
      { api.make_stream(new_stream) } noexcept -> std::same_as<typename Api::status>;
      { api.free_stream(stream) } noexcept;
      { api.make_event(new_event) } noexcept -> std::same_as<typename Api::status>;
      { api.free_event(event) } noexcept;
      { api.record(event, stream) } noexcept -> std::same_as<typename Api::status>;
      { api.hold(stream, event) } noexcept -> std::same_as<typename Api::status>;
      { api.await(event) } noexcept -> std::same_as<typename Api::status>;
      { api.await(stream) } noexcept -> std::same_as<typename Api::status>;
      { api.make_pinned(new_memory, bytes) } noexcept -> std::same_as<typename Api::status>;
      { api.free_pinned(memory) } noexcept;
      { api.upload(memory, memory, bytes, stream) } noexcept -> std::same_as<typename Api::status>;
      {
        api.download(memory, memory, bytes, stream)
      } noexcept -> std::same_as<typename Api::status>;
      { fixed.describe(status) } -> std::same_as<std::string>;
    };

template <class Memory>
concept streams_first =
    requires(Memory& memory, std::size_t bytes, std::size_t align, void* at, stream_handle stream) {
      { memory.allocate(stream, bytes, align) } -> std::same_as<void*>;
      memory.deallocate(stream, at, bytes, align);
    };

template <class Memory>
concept streams_last =
    requires(Memory& memory, std::size_t bytes, std::size_t align, void* at, stream_handle stream) {
      { memory.allocate_async(bytes, align, stream) } -> std::same_as<void*>;
      memory.deallocate_async(at, bytes, align, stream);
    };

/// Where device memory comes from, in the order of a stream: `allocate(stream, bytes, alignment)`
/// and `deallocate(stream, at, bytes, alignment)`, as `cuda::mr::resource_ref` and with it RMM's
/// references have them, or `allocate_async` and `deallocate_async` with the stream last, as in
/// their versions of 2025 and before. Throws a `std::exception` when there is none left; copies
/// share the source.
template <class Memory>
concept device_memory =
    std::copyable<Memory> && (detail::streams_first<Memory> || detail::streams_last<Memory>);

template <device_memory Memory>
[[nodiscard]] std::byte* allocate(Memory& memory, std::uint64_t bytes, std::size_t align,
                                  stream_handle stream) {
  const auto size = static_cast<std::size_t>(bytes);
  if constexpr (streams_first<Memory>)
    return static_cast<std::byte*>(memory.allocate(stream, size, align));
  else
    return static_cast<std::byte*>(memory.allocate_async(size, align, stream));
}

template <device_memory Memory>
void deallocate(Memory& memory, std::byte* at, std::uint64_t bytes, std::size_t align,
                stream_handle stream) {
  const auto size = static_cast<std::size_t>(bytes);
  if constexpr (streams_first<Memory>)
    memory.deallocate(stream, at, size, align);
  else
    memory.deallocate_async(at, size, align, stream);
}

}  // namespace mdstream::inline v0::stage::detail
