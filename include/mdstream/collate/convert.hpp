#pragma once

/// What models want of collated columns, on the host: the twins of cuda/convert.cuh, equal to the
/// bit but for NaN.

#include <mdstream/core/detail/host_device.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/dtype.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace mdstream::inline v0::collate {

namespace detail {

/// One number of `widen`.
template <class In, class Out>
[[nodiscard]] MDSTREAM_HOST_DEVICE constexpr Out widened(In in, Out offset) noexcept {
  const auto value = static_cast<Out>(in);
  if constexpr (std::is_integral_v<Out>) {
    using unsigned_type = std::make_unsigned_t<Out>;  // only those wrap
    return static_cast<Out>(static_cast<unsigned_type>(value) + static_cast<unsigned_type>(offset));
  } else {
    return static_cast<Out>(value + offset);
  }
}

}  // namespace detail

/// Writes `out[i] = in[i] + offset` for `count` numbers: uint16 tokens to int64 ids, or the bytes
/// of texts to ids behind `offset` special ones. An integer that does not fit into an integral
/// `Out` wraps, and so does the sum.
template <class In, class Out>
void widen(const In* in, std::uint64_t count, Out* out, Out offset = 0) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) out[i] = detail::widened(in[i], offset);
}

/// What marks a label that is not learned; PyTorch's cross entropy ignores it by default.
inline constexpr std::int64_t ignore_index = -100;

/// Rows of tokens whose labels are the tokens that follow.
struct label_rows {
  std::uint64_t rows = 0;
  std::uint64_t row_elements = 0;
  /// Padded batches: uint8[rows][row_elements], 0 for padding, which is no label. May be null.
  const std::uint8_t* mask = nullptr;
  /// Packed batches: int32[rows][row_elements], the segment of each token; a token of another
  /// segment is no label, nor is padding (-1). May be null.
  const std::int32_t* segment_ids = nullptr;
  std::int64_t ignored = ignore_index;
};

namespace detail {

/// Whether element `i`, which is not the last of its row, has the next one for its label.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline bool has_label(const label_rows& about,
                                                         std::uint64_t i) noexcept {
  if (about.mask != nullptr && (about.mask[i] == 0 || about.mask[i + 1] == 0)) return false;
  return about.segment_ids == nullptr ||
         (about.segment_ids[i] >= 0 && about.segment_ids[i] == about.segment_ids[i + 1]);
}

}  // namespace detail

/// Writes each token's label, int64[rows][row_elements]: the next token of its row and segment, or
/// `ignored`.
template <class Token>
void shift_labels(const Token* tokens, const label_rows& about, std::int64_t* labels) noexcept {
  for (std::uint64_t row = 0; row < about.rows; ++row) {
    const std::uint64_t begin = row * about.row_elements, end = begin + about.row_elements;
    for (std::uint64_t i = begin; i < end; ++i)
      labels[i] = i + 1 < end && detail::has_label(about, i)
                      ? static_cast<std::int64_t>(tokens[i + 1])
                      : about.ignored;
  }
}

/// Where the channels of images lie in memory.
enum class channel_order : std::uint8_t { last, first };  ///< NHWC, NCHW

/// Images uint8[images][pixels][channels], channels last, and what becomes of them.
struct image_rows {
  static constexpr std::uint64_t most_channels = 4;

  std::uint64_t images = 0;
  std::uint64_t pixels = 0;    ///< height times width
  std::uint64_t channels = 3;  ///< at most `most_channels`
  channel_order to = channel_order::first;
  /// By channel, in units of 0 to 255: `(value - mean) * scale`.
  std::array<float, most_channels> mean{};
  std::array<float, most_channels> scale{1, 1, 1, 1};

  /// `mean` and `deviation` of pixels between 0 and 1, as ImageNet's {0.485, 0.456, 0.406} and
  /// {0.229, 0.224, 0.225} are; those behind `channels` are not looked at. Throws
  /// `errc::invalid_argument`, naming the channel, for a deviation of 0, and for what is not finite
  /// or leaves the range of float: of a pixel it would make an infinity, or a NaN, whose bits
  /// differ between host and device.
  [[nodiscard]] image_rows normalised_by(const std::array<float, most_channels>& means,
                                         const std::array<float, most_channels>& deviations) const {
    image_rows out = *this;
    for (std::size_t c = 0; c < most_channels && c < channels; ++c) {
      const double new_mean = 255.0 * static_cast<double>(means[c]);
      const double new_scale = 1.0 / (255.0 * static_cast<double>(deviations[c]));
      require(is_finite(new_mean), "mean", means[c], c);
      require(new_scale != 0 && is_finite(new_scale), "deviation", deviations[c], c);
      out.mean[c] = static_cast<float>(new_mean);
      out.scale[c] = static_cast<float>(new_scale);
    }
    return out;
  }

 private:
  /// False for a NaN, too.
  [[nodiscard]] static bool is_finite(double value) noexcept {
    return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
  }
  static void require(bool holds, const char* what, float given, std::size_t channel) {
    if (!holds)
      throw error(errc::invalid_argument, "images can not be normalised by a " + std::string(what) +
                                              " of " + std::to_string(given) + " in channel " +
                                              std::to_string(channel));
  }
};

/// Writes `(in - mean) * scale` by channel, as float or float16 in the order that `about` says. A
/// difference and a product, which no compiler contracts: host and device agree to the bit where
/// mean and scale are finite.
template <class Out>
void normalise(const std::uint8_t* in, const image_rows& about, Out* out) noexcept {
  for (std::uint64_t image = 0; image < about.images; ++image) {
    for (std::uint64_t pixel = 0; pixel < about.pixels; ++pixel) {
      for (std::uint64_t c = 0; c < about.channels; ++c) {
        const float value = (static_cast<float>(*in++) - about.mean[c]) * about.scale[c];
        const std::uint64_t at = about.to == channel_order::last
                                     ? (image * about.pixels + pixel) * about.channels + c
                                     : (image * about.channels + c) * about.pixels + pixel;
        out[at] = static_cast<Out>(value);
      }
    }
  }
}

}  // namespace mdstream::inline v0::collate
