#pragma once

/// Kernels that turn collated columns into what models want: the twins of collate/convert.hpp.

#include <mdstream/collate/convert.hpp>
#include <mdstream/cuda/execution.cuh>

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

#include <cstdint>
#include <utility>

namespace mdstream::inline v0::kernels {

/// Calls `Work` for each element of a stretch, or its `run(begin, end)` where it has a better loop.
/// One element a thread on a device, where neighbours share their loads; on a processor enough of
/// them for its vector units.
template <class Work>
class each_of_stretch {
 public:
  static constexpr std::uint64_t stretch = on_device ? 1 : 4096;

  each_of_stretch(const Work& work, std::uint64_t count) noexcept : work_(work), count_(count) {}

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const {
    const std::uint64_t begin = static_cast<std::uint64_t>(number) * stretch;
    const std::uint64_t end = count_ - begin < stretch ? count_ : begin + stretch;
    if constexpr (!on_device && requires { work_.run(begin, end); })
      work_.run(begin, end);
    else
      for (std::uint64_t i = begin; i < end; ++i) work_(i);
  }

 private:
  Work work_;
  std::uint64_t count_;
};

template <class Work>
void for_each_element(stage::stream_handle stream, std::uint64_t count, const Work& work) {
  constexpr std::uint64_t stretch = each_of_stretch<Work>::stretch;
  for_each_index(stream, count / stretch + (count % stretch != 0 ? 1 : 0),
                 each_of_stretch<Work>(work, count));
}

template <class In, class Out>
struct widen_element {
  const In* in;
  Out* out;
  Out offset;

  MDSTREAM_HOST_DEVICE void operator()(std::uint64_t i) const noexcept {
    out[i] = static_cast<Out>(static_cast<Out>(in[i]) + offset);
  }
};

/// See `collate::widen`.
template <class In, class Out>
void widen(const In* in, std::uint64_t count, Out* out, Out offset = 0,
           stage::stream_handle stream = nullptr) {
  for_each_element(stream, count, widen_element<In, Out>{in, out, offset});
}

template <class Token>
struct label_element {
  const Token* tokens;
  collate::label_rows about;
  std::int64_t* labels;

  MDSTREAM_HOST_DEVICE void operator()(std::uint64_t i) const noexcept {
    labels[i] = collate::detail::has_label(about, i) ? static_cast<std::int64_t>(tokens[i + 1])
                                                     : about.ignored;
  }
};

/// See `collate::shift_labels`.
template <class Token>
void shift_labels(const Token* tokens, const collate::label_rows& about, std::int64_t* labels,
                  stage::stream_handle stream = nullptr) {
  for_each_element(stream, about.rows * about.row_elements,
                   label_element<Token>{tokens, about, labels});
}

/// A float as an element of the output, rounded to nearest, ties to even.
template <class Out>
[[nodiscard]] MDSTREAM_HOST_DEVICE Out rounded(float value) noexcept {
#if defined(__CUDA_ARCH__)
  if constexpr (dtype_of<Out> == dtype::float16)
    return float16::from_bits(__half_as_ushort(__float2half_rn(value)));
#endif
  return static_cast<Out>(value);
}

/// What the loop over elements of the output needs of `image_rows`, without std::array, whose
/// operator is no device code.
struct image_geometry {
  std::uint64_t pixels = 0;
  std::uint64_t channels = 0;
  bool channels_first = false;
  float mean[collate::image_rows::most_channels] = {};
  float scale[collate::image_rows::most_channels] = {};

  explicit image_geometry(const collate::image_rows& about) noexcept
      : pixels(about.pixels),
        channels(about.channels),
        channels_first(about.to == collate::channel_order::first) {
    for (std::size_t c = 0; c < collate::image_rows::most_channels; ++c) {
      mean[c] = about.mean[c];
      scale[c] = about.scale[c];
    }
  }
};

template <class Out>
class normalise_element {
 public:
  normalise_element(const std::uint8_t* in, const collate::image_rows& about, Out* out) noexcept
      : in_(in), about_(about), out_(out) {}

  MDSTREAM_HOST_DEVICE void operator()(std::uint64_t i) const noexcept {
    std::uint64_t c = i % about_.channels, from = i;
    if (about_.channels_first) {
      const std::uint64_t plane = i / about_.pixels, image = plane / about_.channels;
      c = plane % about_.channels;
      from = (image * about_.pixels + i % about_.pixels) * about_.channels + c;
    }
    out_[i] = value(from, c);
  }

  /// Divides once for each plane, or never, instead of for each element.
  void run(std::uint64_t begin, std::uint64_t end) const noexcept {
    if (!about_.channels_first) return run_channels_last(begin, end);
    while (begin < end) {
      const std::uint64_t plane = begin / about_.pixels, c = plane % about_.channels;
      const std::uint64_t next = (plane + 1) * about_.pixels, stop = next < end ? next : end;
      std::uint64_t from =
          (plane / about_.channels * about_.pixels + begin % about_.pixels) * about_.channels + c;
      for (; begin < stop; ++begin, from += about_.channels) out_[begin] = value(from, c);
    }
  }

 private:
  void run_channels_last(std::uint64_t begin, std::uint64_t end) const noexcept {
    for (std::uint64_t c = begin % about_.channels; begin < end; ++begin) {
      out_[begin] = value(begin, c);
      c = c + 1 == about_.channels ? 0 : c + 1;
    }
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE Out value(std::uint64_t from, std::uint64_t c) const noexcept {
    return rounded<Out>((static_cast<float>(in_[from]) - about_.mean[c]) * about_.scale[c]);
  }

  const std::uint8_t* in_;
  image_geometry about_;
  Out* out_;
};

/// See `collate::normalise`.
template <class Out>
void normalise(const std::uint8_t* in, const collate::image_rows& about, Out* out,
               stage::stream_handle stream = nullptr) {
  for_each_element(stream, about.images * about.pixels * about.channels,
                   normalise_element<Out>(in, about, out));
}

}  // namespace mdstream::inline v0::kernels
