#pragma once

/// Kernels that turn collated columns into what models want: the twins of collate/convert.hpp.

#include <mdstream/collate/convert.hpp>
#include <mdstream/core/detail/divisor.hpp>
#include <mdstream/cuda/execution.cuh>
#include <mdstream/cuda/word.cuh>

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mdstream::inline v0::kernels {

/// How elements are made. A thread of a device makes a word of the output, from loads that it
/// shares with its neighbours; one of a processor makes a stretch that is long enough for vector
/// units.
enum class grain : std::uint8_t { word, stretch };
inline constexpr grain default_grain = on_device ? grain::word : grain::stretch;

/// Makes a stretch of `out`: by `Work::run(begin, end, out)` where it has a better loop than one of
/// `Work::operator()(i)`, which gives element `i`.
template <class Work, class Out>
struct stretch_of {
  static constexpr std::uint64_t elements = on_device ? 1 : 4096;
  Work work;
  std::uint64_t count;
  Out* out;

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const {
    const std::uint64_t begin = static_cast<std::uint64_t>(number) * elements;
    const std::uint64_t end = count - begin < elements ? count : begin + elements;
    if constexpr (!on_device && requires { work.run(begin, end, out); })
      work.run(begin, end, out);
    else
      for (std::uint64_t i = begin; i < end; ++i) out[i] = work(i);
  }
};

/// Makes 16 bytes of `out`, which is aligned to 16.
template <class Work, class Out>
struct word_of {
  static constexpr std::uint64_t elements = sizeof(word) / sizeof(Out);
  Work work;
  std::uint64_t count;
  Out* out;

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const {
    const std::uint64_t begin = static_cast<std::uint64_t>(number) * elements;
    const std::uint64_t made = count - begin < elements ? count - begin : elements;
    Out values[elements] = {};
    for (std::uint64_t j = 0; j < elements; ++j)
      if (j < made) values[j] = work(begin + j);
    word x;
    __builtin_memcpy(&x, values, sizeof x);
    store_word(reinterpret_cast<std::byte*>(out + begin), x,
               static_cast<unsigned>(made * sizeof(Out)));
  }
};

/// Whether `memory` lies at a multiple of `alignment`.
[[nodiscard]] inline bool is_aligned(const void* memory, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
}

/// Makes `count` elements of `out`. One kernel.
template <grain Grain, class Work, class Out>
void for_each_element(stage::stream_handle stream, std::uint64_t count, const Work& work,
                      Out* out) {
  const auto launch = [&](const auto& made) {
    const std::uint64_t each = made.elements;
    for_each_index(stream, count / each + (count % each != 0 ? 1 : 0), made);
  };
  if (Grain == grain::word && is_aligned(out, sizeof(word)))
    launch(word_of<Work, Out>{work, count, out});
  else
    launch(stretch_of<Work, Out>{work, count, out});
}

template <class In, class Out>
struct widened {
  const In* in;
  Out offset;

  MDSTREAM_HOST_DEVICE Out operator()(std::uint64_t i) const noexcept {
    return collate::detail::widened(in[i], offset);
  }
};

/// See `collate::widen`.
template <class In, class Out, grain Grain = default_grain>
void widen(const In* in, std::uint64_t count, Out* out, Out offset = 0,
           stage::stream_handle stream = nullptr) {
  for_each_element<Grain>(stream, count, widened<In, Out>{in, offset}, out);
}

template <class Token>
class label {
 public:
  label(const Token* tokens, const collate::label_rows& about) noexcept
      : tokens_(tokens), about_(about), by_row_(about.row_elements) {}

  MDSTREAM_HOST_DEVICE std::int64_t operator()(std::uint64_t i) const noexcept {
    return by_row_(i + 1).remainder == 0 ? about_.ignored : within_row(i);
  }

  /// Divides once for each row.
  void run(std::uint64_t begin, std::uint64_t end, std::int64_t* out) const noexcept {
    while (begin < end) {
      const std::uint64_t last = begin - by_row_(begin).remainder + about_.row_elements - 1;
      for (const std::uint64_t stop = last < end ? last : end; begin < stop; ++begin)
        out[begin] = within_row(begin);
      if (begin < end) out[begin++] = about_.ignored;
    }
  }

 private:
  [[nodiscard]] MDSTREAM_HOST_DEVICE std::int64_t within_row(std::uint64_t i) const noexcept {
    return collate::detail::has_label(about_, i) ? static_cast<std::int64_t>(tokens_[i + 1])
                                                 : about_.ignored;
  }

  const Token* tokens_;
  collate::label_rows about_;
  mdstream::detail::divisor by_row_;
};

/// See `collate::shift_labels`.
template <class Token, grain Grain = default_grain>
void shift_labels(const Token* tokens, const collate::label_rows& about, std::int64_t* labels,
                  stage::stream_handle stream = nullptr) {
  const std::uint64_t count = about.rows * about.row_elements;
  if (count != 0) for_each_element<Grain>(stream, count, label<Token>(tokens, about), labels);
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

/// What kernels need of `image_rows`, without std::array, whose operator is no device code.
struct image_geometry {
  std::uint64_t channels = 0;
  std::uint64_t pixels = 0;
  bool channels_first = false;
  mdstream::detail::divisor by_channels{}, by_pixels{};
  float mean[collate::image_rows::most_channels] = {};
  float scale[collate::image_rows::most_channels] = {};

  explicit image_geometry(const collate::image_rows& about) noexcept
      : channels(about.channels),
        pixels(about.pixels),
        channels_first(about.to == collate::channel_order::first),
        by_channels(about.channels),
        by_pixels(about.pixels) {
    for (std::size_t c = 0; c < collate::image_rows::most_channels; ++c) {
      mean[c] = about.mean[c];
      scale[c] = about.scale[c];
    }
  }

  [[nodiscard]] MDSTREAM_HOST_DEVICE float normalised(std::uint8_t value,
                                                      std::uint64_t channel) const noexcept {
    return (static_cast<float>(value) - mean[channel]) * scale[channel];
  }
};

/// Element by element of the output.
template <class Out>
class normalised {
 public:
  normalised(const std::uint8_t* in, const collate::image_rows& about) noexcept
      : in_(in), about_(about) {}

  MDSTREAM_HOST_DEVICE Out operator()(std::uint64_t i) const noexcept {
    if (!about_.channels_first) return value(i, about_.by_channels(i).remainder);
    const auto [plane, pixel] = about_.by_pixels(i);
    const auto [image, c] = about_.by_channels(plane);
    return value((image * about_.pixels + pixel) * about_.channels + c, c);
  }

  /// Divides once for each plane, or never, instead of for each element.
  void run(std::uint64_t begin, std::uint64_t end, Out* out) const noexcept {
    if (!about_.channels_first) return run_channels_last(begin, end, out);
    while (begin < end) {
      const auto [plane, pixel] = about_.by_pixels(begin);
      const auto [image, c] = about_.by_channels(plane);
      const std::uint64_t next = begin - pixel + about_.pixels, stop = next < end ? next : end;
      std::uint64_t from = (image * about_.pixels + pixel) * about_.channels + c;
      for (; begin < stop; ++begin, from += about_.channels) out[begin] = value(from, c);
    }
  }

 private:
  void run_channels_last(std::uint64_t begin, std::uint64_t end, Out* out) const noexcept {
    for (std::uint64_t c = begin % about_.channels; begin < end; ++begin) {
      out[begin] = value(begin, c);
      c = c + 1 == about_.channels ? 0 : c + 1;
    }
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE Out value(std::uint64_t from, std::uint64_t c) const noexcept {
    return rounded<Out>(about_.normalised(in_[from], c));
  }

  const std::uint8_t* in_;
  image_geometry about_;
};

/// A word of each channel's plane from the pixels that it shows, which are read once.
/// Precondition: words begin at words of the output and end within an image; see `fits`.
template <class Out, unsigned Channels>
class planes_of_pixels {
 public:
  static constexpr std::uint64_t pixels = sizeof(word) / sizeof(Out);

  planes_of_pixels(const std::uint8_t* in, const collate::image_rows& about, Out* out) noexcept
      : in_(in), about_(about), by_image_(about.pixels / pixels), out_(out) {}

  [[nodiscard]] static bool fits(const std::uint8_t* in, const collate::image_rows& about,
                                 const Out* out) noexcept {
    return about.to == collate::channel_order::first && about.channels == Channels &&
           about.pixels % pixels == 0 && is_aligned(out, sizeof(word)) &&
           is_aligned(in, sizeof(std::uint32_t));
  }

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const noexcept {
    constexpr unsigned loads = pixels * Channels / sizeof(std::uint32_t);
    const auto n = static_cast<std::uint64_t>(number);
    const void* const from =
        __builtin_assume_aligned(in_ + n * pixels * Channels, sizeof(std::uint32_t));
    std::uint32_t loaded[loads];
    __builtin_memcpy(loaded, from, sizeof loaded);
    const auto [image, group] = by_image_(n);
    for (unsigned c = 0; c < Channels; ++c) {
      Out values[pixels];
      for (unsigned pixel = 0; pixel < pixels; ++pixel) {
        const unsigned byte = pixel * Channels + c;
        values[pixel] = rounded<Out>(
            about_.normalised(static_cast<std::uint8_t>(loaded[byte / 4] >> (8 * (byte % 4))), c));
      }
      word x;
      __builtin_memcpy(&x, values, sizeof x);
      store_word(reinterpret_cast<std::byte*>(out_ + (image * Channels + c) * about_.pixels +
                                              group * pixels),
                 x, sizeof x);
    }
  }

 private:
  const std::uint8_t* in_;
  image_geometry about_;
  mdstream::detail::divisor by_image_;
  Out* out_;
};

/// See `collate::normalise`. Fastest where the pixels of an image are a multiple of 16 bytes of the
/// output, `in` is aligned to 4 and `out` to 16, as columns of batches are.
template <class Out, grain Grain = default_grain>
  requires(sizeof(Out) <= sizeof(float))
void normalise(const std::uint8_t* in, const collate::image_rows& about, Out* out,
               stage::stream_handle stream = nullptr) {
  const std::uint64_t pixels = about.images * about.pixels;
  if (pixels == 0 || about.channels == 0) return;
  const auto by_planes = [&]<unsigned Channels>(std::integral_constant<unsigned, Channels>) {
    using planes = planes_of_pixels<Out, Channels>;
    if (Grain != grain::word || !planes::fits(in, about, out)) return false;
    for_each_index(stream, pixels / planes::pixels, planes(in, about, out));
    return true;
  };
  if (by_planes(std::integral_constant<unsigned, 3>{}) ||
      by_planes(std::integral_constant<unsigned, 1>{}) ||
      by_planes(std::integral_constant<unsigned, 4>{}))
    return;
  for_each_element<Grain>(stream, pixels * about.channels, normalised<Out>(in, about), out);
}

}  // namespace mdstream::inline v0::kernels
