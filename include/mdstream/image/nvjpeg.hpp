#pragma once

/// Batches of JPEG files decoded into a device's memory by the JPEG engines of NVIDIA's GPUs. For
/// the host's compiler; needs mdstream::nvjpeg.

#if !__has_include(<nvjpeg.h>)
#error "mdstream/image/nvjpeg.hpp needs <nvjpeg.h>: install nvJPEG and link mdstream::nvjpeg"
#endif

#include <mdstream/image/jpeg_batch.hpp>
#include <mdstream/stage/detail/cuda/runtime.hpp>

#include <nvjpeg.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {
namespace detail {

[[nodiscard]] constexpr const char* name_of(nvjpegStatus_t status) noexcept {
  switch (status) {
    case NVJPEG_STATUS_SUCCESS: return "NVJPEG_STATUS_SUCCESS";
    case NVJPEG_STATUS_NOT_INITIALIZED: return "NVJPEG_STATUS_NOT_INITIALIZED";
    case NVJPEG_STATUS_INVALID_PARAMETER: return "NVJPEG_STATUS_INVALID_PARAMETER";
    case NVJPEG_STATUS_BAD_JPEG: return "NVJPEG_STATUS_BAD_JPEG";
    case NVJPEG_STATUS_JPEG_NOT_SUPPORTED: return "NVJPEG_STATUS_JPEG_NOT_SUPPORTED";
    case NVJPEG_STATUS_ALLOCATOR_FAILURE: return "NVJPEG_STATUS_ALLOCATOR_FAILURE";
    case NVJPEG_STATUS_EXECUTION_FAILED: return "NVJPEG_STATUS_EXECUTION_FAILED";
    case NVJPEG_STATUS_ARCH_MISMATCH: return "NVJPEG_STATUS_ARCH_MISMATCH";
    case NVJPEG_STATUS_INTERNAL_ERROR: return "NVJPEG_STATUS_INTERNAL_ERROR";
    case NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED:
      return "NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED";
    case NVJPEG_STATUS_INCOMPLETE_BITSTREAM: return "NVJPEG_STATUS_INCOMPLETE_BITSTREAM";
  }
  return "an unknown status of nvJPEG";
}

/// Whether a status speaks of the files rather than of the device.
[[nodiscard]] constexpr bool blames_files(nvjpegStatus_t status) noexcept {
  return status == NVJPEG_STATUS_BAD_JPEG || status == NVJPEG_STATUS_JPEG_NOT_SUPPORTED ||
         status == NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
}

inline void check_nvjpeg(nvjpegStatus_t status, const char* what) {
  if (status != NVJPEG_STATUS_SUCCESS)
    throw error(errc::device_error, diagnostics{.what = what, .cause = name_of(status)});
}

inline void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw error(errc::device_error,
              diagnostics{.what = what, .cause = stage::detail::describe_cuda(status)});
}

/// Gives a handle of a C interface back.
template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* handle) const noexcept {
    static_cast<void>(Free(handle));
  }
};

/// The runtime's device is current while this lives.
class on_cuda_device {
 public:
  explicit on_cuda_device(stage::detail::cuda_runtime& runtime) : runtime_(runtime) {
    check_cuda(runtime_.enter(before_), "cannot use the CUDA device");
  }
  on_cuda_device(const on_cuda_device&) = delete;
  on_cuda_device& operator=(const on_cuda_device&) = delete;
  ~on_cuda_device() { runtime_.leave(before_); }

 private:
  stage::detail::cuda_runtime& runtime_;
  stage::detail::cuda_runtime::scope before_{};
};

/// A device's JPEG engines: nvJPEG's handle, and what it keeps of two calls under way. Made, used
/// and destroyed while the device is current.
class jpeg_engines {
 public:
  jpeg_engines() {
    nvjpegHandle_t handle = nullptr;
    // With interpolation: the pixels of libjpeg, where the other way is off by up to 13.
    const auto status = nvjpegCreateEx(NVJPEG_BACKEND_HARDWARE, nullptr, nullptr,
                                       NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, &handle);
    if (status == NVJPEG_STATUS_ARCH_MISMATCH ||
        status == NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED)
      throw error(errc::unsupported,
                  diagnostics{.what = "the CUDA device has no JPEG engines: decode on the host",
                              .cause = name_of(status)});
    check_nvjpeg(status, "cannot use the device's JPEG engines");
    handle_.reset(handle);
    nvjpegJpegStream_t header = nullptr;
    check_nvjpeg(nvjpegJpegStreamCreate(handle, &header), "cannot make a parser of JPEG headers");
    header_.reset(header);
    for (call& one : calls_) {
      cudaEvent_t done = nullptr;
      check_cuda(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "cannot make an event");
      one.done.reset(done);
    }
  }
  jpeg_engines(const jpeg_engines&) = delete;
  jpeg_engines& operator=(const jpeg_engines&) = delete;
  /// Waits for the calls under way.
  ~jpeg_engines() {
    for (const call& one : calls_)
      if (one.done) static_cast<void>(cudaEventSynchronize(one.done.get()));
  }

  void decode(std::span<const bytes_view> files, const rgb_layout& layout, std::byte* block,
              stage::stream_handle stream) {
    call& now = calls_[turn_];
    turn_ = 1 - turn_;
    check_cuda(cudaEventSynchronize(now.done.get()), "JPEG files were not decoded");
    deal(files, layout, block);
    try {
      run(now, files, layout, block, stream);
    } catch (...) {
      static_cast<void>(cudaEventRecord(now.done.get(), stream));  // for what was begun
      throw;
    }
    check_cuda(cudaEventRecord(now.done.get(), stream), "cannot record an event");
  }

 private:
  struct call {
    std::unique_ptr<nvjpegJpegState, freed_by<nvjpegJpegStateDestroy>> state{};
    std::size_t batch = 0;  ///< what the state is prepared for
    std::unique_ptr<std::byte, freed_by<cudaFreeHost>> pinned{};
    std::uint64_t pinned_bytes = 0;
    std::unique_ptr<CUevent_st, freed_by<cudaEventDestroy>> done{};
  };

  void run(call& now, std::span<const bytes_view> files, const rgb_layout& layout, std::byte* block,
           stage::stream_handle stream) {
    if (!files_.empty() && !run_engines(now, stream)) {
      on_host_.resize(files.size());
      std::iota(on_host_.begin(), on_host_.end(), std::size_t{0});
    }
    run_host(now, files, layout, block, stream);
  }

  /// Gives each file to the engines or to the host.
  void deal(std::span<const bytes_view> files, const rgb_layout& layout, std::byte* block) {
    files_.clear();
    sizes_.clear();
    images_.clear();
    on_host_.clear();
    for (std::size_t i = 0; i < files.size(); ++i) {
      const rgb_image& place = layout.images[i];
      const auto* data = reinterpret_cast<const unsigned char*>(files[i].data());
      if (!place.plain || !is_for_engines(data, files[i].size(), place)) {
        on_host_.push_back(i);
        continue;
      }
      files_.push_back(data);
      sizes_.push_back(files[i].size());
      nvjpegImage_t& image = images_.emplace_back();
      image.channel[0] = reinterpret_cast<unsigned char*>(block + place.at);
      image.pitch[0] = std::size_t{3} * place.width;
    }
  }

  /// Whether nvJPEG takes the file, and reads the same size in it as libjpeg, for which memory is
  /// there.
  [[nodiscard]] bool is_for_engines(const unsigned char* data, std::size_t size,
                                    const rgb_image& place) {
    constexpr std::uint32_t smallest = 64;  // the host is done with less before a batch has begun
    unsigned width = 0, height = 0;
    int refused = 1;
    return place.width >= smallest && place.height >= smallest &&
           nvjpegJpegStreamParseHeader(handle_.get(), data, size, header_.get()) ==
               NVJPEG_STATUS_SUCCESS &&
           nvjpegJpegStreamGetFrameDimensions(header_.get(), &width, &height) ==
               NVJPEG_STATUS_SUCCESS &&
           width == place.width && height == place.height &&
           nvjpegDecodeBatchedSupported(handle_.get(), header_.get(), &refused) ==
               NVJPEG_STATUS_SUCCESS &&
           refused == 0;
  }

  /// False where one of the files is not to be decoded so: nvJPEG does not say which.
  [[nodiscard]] bool run_engines(call& now, stage::stream_handle stream) {
    if (!now.state) {
      nvjpegJpegState_t state = nullptr;
      check_nvjpeg(nvjpegJpegStateCreate(handle_.get(), &state), "cannot decode JPEG files");
      now.state.reset(state);
      now.batch = 0;
    }
    if (now.batch != files_.size()) {
      check_nvjpeg(
          nvjpegDecodeBatchedInitialize(handle_.get(), now.state.get(),
                                        static_cast<int>(files_.size()), 1, NVJPEG_OUTPUT_RGBI),
          "cannot decode JPEG files");
      now.batch = files_.size();
    }
    const auto status = nvjpegDecodeBatched(handle_.get(), now.state.get(), files_.data(),
                                            sizes_.data(), images_.data(), stream);
    if (status == NVJPEG_STATUS_SUCCESS) return true;
    check_cuda(cudaStreamSynchronize(stream), "JPEG files were not decoded");
    now.state.reset();  // is of no use after a failure
    if (!blames_files(status)) check_nvjpeg(status, "JPEG files were not decoded");
    return false;
  }

  void run_host(call& now, std::span<const bytes_view> files, const rgb_layout& layout,
                std::byte* block, stage::stream_handle stream) {
    std::uint64_t bytes = 0;
    for (const std::size_t i : on_host_) bytes += layout.images[i].bytes();
    if (bytes > now.pinned_bytes) {
      void* memory = nullptr;
      now.pinned.reset();
      now.pinned_bytes = 0;
      check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable),
                 "no pinned memory for images");
      now.pinned.reset(static_cast<std::byte*>(memory));
      now.pinned_bytes = bytes;
    }
    std::byte* pixels = now.pinned.get();
    for (const std::size_t i : on_host_) {
      const rgb_image& place = layout.images[i];
      for_image(i, [&] { decode_jpeg_rgb(files[i], place, pixels); });
      check_cuda(
          cudaMemcpyAsync(block + place.at, pixels, place.bytes(), cudaMemcpyHostToDevice, stream),
          "cannot copy an image to the device");
      pixels += place.bytes();
    }
  }

  std::unique_ptr<nvjpegHandle, freed_by<nvjpegDestroy>> handle_{};
  std::unique_ptr<nvjpegJpegStream, freed_by<nvjpegJpegStreamDestroy>> header_{};
  std::array<call, 2> calls_{};
  std::size_t turn_ = 0;
  std::vector<const unsigned char*> files_{};
  std::vector<std::size_t> sizes_{};
  std::vector<nvjpegImage_t> images_{};
  std::vector<std::size_t> on_host_{};
};

}  // namespace detail

/// Decodes batches of JPEG files into device memory, as RGB images.
///
///     mds::nvjpeg_decoder decoder;
///     const auto layout = mds::lay_out_jpegs(files);      // the host reads the headers
///     cudaMallocAsync(&block, layout.bytes, stream);      // or memory of the program's own
///     decoder.decode(files, layout, block, stream);       // work on stream sees the pixels
///
/// Plain files (sequential, gray or YCbCr) go to the device's engines. The others, images with a
/// side below 64 pixels and files that do not end as JPEG files do are decoded by libjpeg on the
/// calling thread and copied. The pixels are libjpeg's but for an occasional 1 of 255. Engines give
/// no word of damage within an image: the shards' hashes do.
///
/// Neither movable nor copyable. One thread at a time; any stream of the device.
class nvjpeg_decoder {
 public:
  /// Throws `errc::unsupported` where the device has no JPEG engines (A100 was the first to have
  /// them), `errc::device_error` where there is no such device.
  explicit nvjpeg_decoder(int device = stage::detail::current_device) : runtime_(device) {
    const detail::on_cuda_device current(runtime_);
    engines_ = std::make_unique<detail::jpeg_engines>();
  }
  nvjpeg_decoder(const nvjpeg_decoder&) = delete;
  nvjpeg_decoder& operator=(const nvjpeg_decoder&) = delete;
  /// Waits for what is under way.
  ~nvjpeg_decoder() {
    stage::detail::cuda_runtime::scope before{};
    if (runtime_.enter(before) != cudaSuccess) {
      static_cast<void>(engines_.release());  // nothing can be freed without the device
      return;
    }
    engines_.reset();
    runtime_.leave(before);
  }

  /// Decodes `files`, for which `layout` was made, into the `layout.bytes` at `block`, in the order
  /// of `stream`. The files have to stay until that work of the stream is done. Most of it is
  /// waited for here: call it from another thread than the one that feeds the trainer's stream. No
  /// pinned memory is allocated once batches no longer grow.
  ///
  /// Throws `errc::corrupt`, naming the image, for a file that libjpeg refuses, and
  /// `errc::device_error` with the name of nvJPEG's or CUDA's status; the block's content is
  /// unspecified then, work on `stream` may still write it, and the decoder can be used again.
  void decode(std::span<const bytes_view> files, const rgb_layout& layout, std::byte* block,
              stage::stream_handle stream) {
    if (files.size() != layout.images.size())
      throw error(errc::invalid_argument, "the layout is of other files");
    const detail::on_cuda_device current(runtime_);
    engines_->decode(files, layout, block, stream);
  }

 private:
  stage::detail::cuda_runtime runtime_;
  std::unique_ptr<detail::jpeg_engines> engines_{};
};

}  // namespace mdstream::inline v0
